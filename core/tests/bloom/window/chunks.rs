//! The bits as chunks, whose offsets are counted over the life of a filter.

use bloomline_core::Error;
use bloomline_core::bloom::window::Window;
use bloomline_core::chunk::Bits;
use bloomline_core::error::ChunkError;
use bloomline_core::host::{AnyFilter, Growth};

use super::{TIME, assert_equal, copied, kinds, lived, spec};

#[test]
fn chunks_are_consecutive_from_the_first_byte_on() {
    for spec in kinds() {
        let filter = lived(spec);
        let first = filter.first_byte();
        assert!(first > 0, "nothing was dropped: {spec:?}");
        for (from, max_bytes) in [(0, 4096), (first, 64), (first / 2, 100), (first, usize::MAX)] {
            let (mut end, mut bits) = (first, Vec::<u8>::new());
            let max_bytes = max_bytes.min(1 << 20);
            for chunk in filter.chunks(from, max_bytes) {
                assert_eq!(chunk.offset, end);
                assert!((1..=max_bytes).contains(&chunk.len()));
                bits.extend(chunk.bytes());
                end = chunk.end();
            }
            assert_eq!(bits, super::bits(&filter).concat());
        }
    }
}

#[test]
fn offset_of_a_byte_does_not_change_until_it_is_dropped() {
    let spec = spec(80, 0.01, Window::Manual, 4, Growth::Scaling { expansion: 2 }, true);
    let mut filter = lived(spec);
    let last = filter.layers().last().unwrap().words().bytes();
    let end = filter.chunks(0, 64).last().unwrap().end();
    let offset = end - last;
    let bytes = filter.chunk(offset).unwrap().to_vec();
    for rotation in 0..5 {
        assert_eq!(filter.chunk(offset), Some(&bytes[..]), "after {rotation} rotations");
        assert!(filter.first_byte() <= offset);
        filter.rotate(0, &mut |_| true).unwrap();
    }
    assert!(filter.first_byte() > offset);
    // Iteration goes on with the oldest generation.
    let chunk = filter.chunks(offset, 1 << 20).next().unwrap();
    assert_eq!(chunk.offset, filter.first_byte());
}

#[test]
fn dropped_offset_is_refused_and_nothing_is_written() {
    for spec in kinds() {
        let mut filter = AnyFilter::from(lived(spec));
        let (first, before) = (filter.first_byte(), filter.try_clone(&mut |_| true).unwrap());
        let end = filter.windowed().unwrap().chunks(0, 64).last().unwrap().end();
        for offset in [0, 1, first / 2, first - 64, first - 1, end, end + 1, u64::MAX] {
            let refused = filter.write_chunk(offset, &[0xff; 8]).err();
            assert_eq!(refused, Some(Error::Chunk(ChunkError::Offset(offset))));
        }
        let layer = filter.windowed().unwrap().layers().next().unwrap().words().bytes();
        for (offset, len) in [(first, layer + 1), (first + layer - 8, 9)] {
            let refused = filter.write_chunk(offset, &vec![0xff; len as usize]).err();
            assert_eq!(refused, Some(Error::Chunk(ChunkError::TooLong(len))));
        }
        assert_equal(filter.windowed().unwrap(), before.windowed().unwrap());
        for offset in [first, first + layer - 8, end - 8] {
            filter.write_chunk(offset, &[0xff; 8]).unwrap();
        }
    }
}

#[test]
fn chunks_of_a_ring_that_rotated_meanwhile_do_not_mix() {
    let mut filter = lived(spec(80, 0.01, TIME, 4, Growth::Scaling { expansion: 2 }, true));
    // A client has the header when a generation is dropped.
    let first = filter.first_byte();
    let now = filter.newest().opened() + 2_500;
    filter.advance(now, &mut |_| true).unwrap();
    assert!(filter.first_byte() > first);
    // The host sees that the next chunk does not begin where the client is.
    assert!(filter.chunks(first, 64).next().unwrap().offset > first);
    assert_equal(&copied(&filter), &filter);
}
