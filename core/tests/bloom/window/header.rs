//! Version 2 of the header: round trips, fields out of range, and forged generations.

use bloomline_core::Error;
use bloomline_core::bloom::bloomline::header::HEADER_BYTES;
use bloomline_core::bloom::window::{MAX_GENERATIONS, MAX_WINDOW_MILLIS, Window, WindowedFilter};
use bloomline_core::chunk::Bits;
use bloomline_core::error::HeaderError;
use bloomline_core::host::{AnyFilter, Demand, Growth};

use super::{TIME, assert_equal, copied, kinds, lived, spec};

/// Bytes before the generations, and bytes of a generation.
const FIXED_BYTES: usize = 80;
const GENERATION_BYTES: usize = 32;

/// The length of a header is a multiple of this.
const UNIT: usize = 64;

fn decode(header: &[u8]) -> Result<WindowedFilter, Error> {
    WindowedFilter::decode_header(header, &mut |_| true)
}

/// The error of a header that is refused before the permit is called.
fn refusal(header: &[u8]) -> Error {
    let uncalled = &mut |_| unreachable!("the permit is called for an invalid header");
    WindowedFilter::decode_header(header, uncalled).expect_err("an invalid header")
}

/// A filter with a window of time, all of its generations, overflow layers and dropped ones.
fn filter() -> WindowedFilter {
    lived(spec(80, 0.01, TIME, 4, Growth::Scaling { expansion: 2 }, true))
}

/// The header of [`filter`] with other bytes at an offset.
fn changed<const N: usize>(offset: usize, bytes: [u8; N]) -> Vec<u8> {
    let mut header = filter().encode_header();
    header[offset..][..N].copy_from_slice(&bytes);
    header
}

/// The offset of a field of a generation.
fn at(generation: usize, field: usize) -> usize {
    FIXED_BYTES + GENERATION_BYTES * generation + field
}

#[test]
fn header_and_chunks_give_an_equal_filter() {
    for spec in kinds() {
        let filter = lived(spec);
        let copy = copied(&filter);
        assert_equal(&copy, &filter);
        assert_eq!((copy.spec(), copy.seed()), (spec, filter.seed()));
        assert_eq!(copy.fp_rate().to_bits(), filter.fp_rate().to_bits());
        assert_equal(&filter.try_clone(&mut |_| true).unwrap(), &filter);
    }
}

#[test]
fn copies_forget_and_insert_as_the_original_does() {
    for spec in kinds() {
        let (mut filter, mut copy) = (lived(spec), copied(&lived(spec)));
        for step in 0..40u64 {
            for filter in [&mut filter, &mut copy] {
                let now = filter.newest().opened() + step * 700;
                filter.advance(now, &mut |_| true).unwrap();
                for item in step * 20..step * 20 + 30 {
                    let result = filter.insert(&item.to_le_bytes(), 0, &mut |_| true);
                    assert!(matches!(result, Ok(_) | Err(Error::Full(_))), "{result:?}");
                }
            }
        }
        assert_equal(&copy, &filter);
    }
}

#[test]
fn lengths_are_multiples_of_64_and_never_those_of_others() {
    for generations in 2..=MAX_GENERATIONS {
        let spec = spec(1_000, 0.01, Window::Manual, generations, Growth::Fixed, true);
        let mut filter = WindowedFilter::new(spec, 7, 0, &mut |_| true).unwrap();
        for present in 1..=generations as usize + 1 {
            let len = filter.encode_header().len();
            let expected = FIXED_BYTES + GENERATION_BYTES * present;
            assert_eq!(len, expected.next_multiple_of(UNIT));
            assert!(len > HEADER_BYTES && !(len - 20).is_multiple_of(53));
            filter.rotate(0, &mut |_| true).unwrap();
        }
    }
}

#[test]
fn each_field_out_of_range_is_refused_with_its_own_error() {
    let header = filter().encode_header();
    assert_eq!(header.len(), (FIXED_BYTES + 5 * GENERATION_BYTES).next_multiple_of(UNIT));
    let u32_of = |offset: usize| u32::from_le_bytes(header[offset..][..4].try_into().unwrap());
    assert_eq!((u32_of(16), u32_of(20)), (2, 5), "expansion, generations");
    assert_eq!(header[13..16], [1, 1, 4], "a window of time, refreshing, four older generations");
    let cases: Vec<(Vec<u8>, Error)> = vec![
        (changed(0, *b"B"), HeaderError::Magic.into()),
        (changed(8, 1u16.to_le_bytes()), HeaderError::Version(1).into()),
        (changed(8, 3u16.to_le_bytes()), HeaderError::Version(3).into()),
        (changed(10, 1u16.to_le_bytes()), HeaderError::Sizing(1).into()),
        (changed(12, [2]), HeaderError::Growth(2).into()),
        (changed(12, [0]), Error::Expansion(2)),
        (changed(13, [0]), HeaderError::Window(0).into()),
        (changed(13, [4]), HeaderError::Window(4).into()),
        // Other windows have no time.
        (changed(13, [2]), Error::Window(10_000)),
        (changed(13, [3]), Error::Window(10_000)),
        (changed(14, [2]), HeaderError::Reserved.into()),
        (changed(15, [0]), Error::Generations(0)),
        (changed(15, [1]), Error::Generations(1)),
        (changed(15, [65]), Error::Generations(65)),
        (changed(15, [255]), Error::Generations(255)),
        (changed(15, [3]), HeaderError::Generations(5).into()),
        (changed(16, 0u32.to_le_bytes()), Error::Expansion(0)),
        (changed(16, 32_769u32.to_le_bytes()), Error::Expansion(32_769)),
        (changed(20, 0u32.to_le_bytes()), HeaderError::Generations(0).into()),
        (changed(20, 6u32.to_le_bytes()), HeaderError::Generations(6).into()),
        (changed(20, u32::MAX.to_le_bytes()), HeaderError::Generations(u32::MAX).into()),
        // The third generation is no padding.
        (changed(20, 4u32.to_le_bytes()), HeaderError::Reserved.into()),
        (changed(20, 2u32.to_le_bytes()), HeaderError::Length(header.len()).into()),
        (changed(24, 3u64.to_le_bytes()), Error::TooFewItems { capacity: 3, generations: 4 }),
        (changed(24, ((1u64 << 40) + 1).to_le_bytes()), Error::Capacity((1 << 40) + 1)),
        (changed(32, 0.0f64.to_le_bytes()), Error::ErrorRate(0.0)),
        (changed(32, 0.250_001f64.to_le_bytes()), Error::ErrorRate(0.250_001)),
        (changed(32, f64::INFINITY.to_le_bytes()), Error::ErrorRate(f64::INFINITY)),
        (changed(48, 0u64.to_le_bytes()), Error::Window(0)),
        (changed(48, (MAX_WINDOW_MILLIS + 1).to_le_bytes()), Error::Window(MAX_WINDOW_MILLIS + 1)),
    ];
    for (header, reason) in cases {
        assert_eq!(refusal(&header), reason);
    }
    assert!(matches!(refusal(&changed(32, 1e-15f64.to_le_bytes())), Error::ErrorRateTooSmall(_)));
    assert!(matches!(
        refusal(&changed(32, f64::NAN.to_le_bytes())),
        Error::ErrorRate(rate) if rate.is_nan()
    ));
}

#[test]
fn impossible_generations_are_refused() {
    let filter = filter();
    let opened: Vec<u64> = filter.generations().map(|(_, it)| it.opened()).collect();
    let overflow = filter.generations().position(|(_, it)| it.layer_count() > 1).expect("a burst");
    let full = filter.generations().position(|(_, it)| it.layer_count() == 1).expect("no burst");
    let len = filter.generations().nth(full).unwrap().1.len();
    let generation = |index: usize| Error::from(HeaderError::Generation(index as u32));
    let cases: Vec<(Vec<u8>, Error)> = vec![
        // Opened before the one before it, or at the end of time.
        (changed(at(2, 0), (opened[1] - 1).to_le_bytes()), generation(2)),
        (changed(at(4, 0), u64::MAX.to_le_bytes()), generation(4)),
        (changed(at(4, 0), ((1u64 << 62) + 1).to_le_bytes()), generation(4)),
        // More items than the newest layer has room for.
        (changed(at(full, 8), 21u64.to_le_bytes()), generation(full)),
        (changed(at(overflow, 8), u64::MAX.to_le_bytes()), generation(overflow)),
        // More live items than items.
        (changed(at(full, 16), (len + 1).to_le_bytes()), generation(full)),
        (changed(at(overflow, 16), u64::MAX.to_le_bytes()), generation(overflow)),
        (changed(at(0, 24), 65u32.to_le_bytes()), HeaderError::Layers(65).into()),
        (changed(at(0, 24), u32::MAX.to_le_bytes()), HeaderError::Layers(u32::MAX).into()),
        (changed(at(0, 28), [1]), HeaderError::Reserved.into()),
        // A byte after the last generation.
        (changed(at(5, 0), [200]), HeaderError::Reserved.into()),
    ];
    for (header, reason) in cases {
        assert_eq!(refusal(&header), reason);
    }
}

#[test]
fn overflow_layers_without_growth_are_refused() {
    for (spec, kind) in [
        (spec(80, 0.01, TIME, 4, Growth::Fixed, true), "fixed"),
        (spec(80, 0.01, Window::Last, 4, Growth::Scaling { expansion: 2 }, false), "counted once"),
    ] {
        let mut header = lived(spec).encode_header();
        header[at(0, 24)..][..4].copy_from_slice(&1u32.to_le_bytes());
        assert_eq!(refusal(&header), HeaderError::Layers(1).into(), "{kind}");
    }
}

#[test]
fn offsets_that_cannot_follow_from_rotations_are_refused() {
    let filter = filter();
    let (number, first) = (filter.number(), filter.first_byte());
    assert!(number > 4 && first > 0);
    let offset = |bytes: u64| (changed(64, bytes.to_le_bytes()), HeaderError::Offset(bytes));
    let cases = [
        // Fewer rotations than generations.
        (changed(56, 3u64.to_le_bytes()), HeaderError::Generations(5)),
        (changed(56, 0u64.to_le_bytes()), HeaderError::Generations(5)),
        // Each dropped generation had at least a sector.
        (changed(56, u64::MAX.to_le_bytes()), HeaderError::Offset(first)),
        (changed(56, (4 + first / 8 + 1).to_le_bytes()), HeaderError::Offset(first)),
        offset(0),
        offset(first + 4),
        offset(1 << 62),
        offset(u64::MAX - 7),
    ];
    for (header, reason) in cases {
        assert_eq!(refusal(&header), reason.into());
    }
}

#[test]
fn items_that_nothing_writes_again_are_all_live() {
    let lived = |window, refreshes| {
        lived(spec(60, 0.05, window, 6, Growth::Scaling { expansion: 2 }, refreshes))
    };
    let with_dead_item = |filter: WindowedFilter| {
        let mut header = filter.encode_header();
        let live = filter.generations().next().expect("a generation").1.live();
        header[at(0, 16)..][..8].copy_from_slice(&(live - 1).to_le_bytes());
        header
    };
    assert_eq!(
        refusal(&with_dead_item(lived(Window::Last, false))),
        HeaderError::Generation(0).into()
    );
    decode(&with_dead_item(lived(Window::Last, true))).unwrap();
    decode(&with_dead_item(lived(TIME, false))).unwrap();
}

#[test]
fn forged_offset_near_the_end_stops_rotations_but_not_saving() {
    let bits = filter().layers().map(|layer| layer.words().bytes()).sum::<u64>();
    let mut filter = decode(&changed(64, ((1u64 << 62) - bits).to_le_bytes())).unwrap();
    let before = filter.encode_header();
    let now = filter.newest().opened() + 1_000_000;
    for _ in 0..3 {
        assert!(matches!(filter.advance(now, &mut |_| true), Err(Error::Refused(_))));
        assert!(matches!(filter.rotate(now, &mut |_| true), Err(Error::Refused(_))));
        assert_eq!(filter.encode_header(), before);
    }
    decode(&filter.encode_header()).unwrap();
}

#[test]
fn truncated_and_longer_headers_are_refused() {
    for spec in kinds() {
        let header = lived(spec).encode_header();
        for len in 0..header.len() {
            refusal(&header[..len]);
            let uncalled = &mut |_| unreachable!("the permit is called for an invalid header");
            assert!(AnyFilter::decode_header(&header[..len], uncalled).is_err(), "{len} bytes");
        }
        let mut longer = header.clone();
        for _ in 0..UNIT {
            longer.push(0);
            assert_eq!(refusal(&longer), HeaderError::Length(longer.len()).into());
        }
    }
}

#[test]
fn one_demand_names_all_memory_before_it_is_allocated() {
    for spec in kinds() {
        let filter = lived(spec);
        let layers: Vec<u64> = filter.layers().map(|layer| layer.words().bytes()).collect();
        let mut demands = Vec::new();
        let decoded = WindowedFilter::decode_header(&filter.encode_header(), &mut |demand| {
            demands.push(demand);
            true
        });
        let size = decoded.unwrap().size_bytes();
        assert_eq!(size, filter.size_bytes());
        let &[Demand { new_bytes, largest_layer, filter_bytes, .. }] = &demands[..] else {
            panic!("{} demands", demands.len())
        };
        assert_eq!((new_bytes, filter_bytes), (layers.iter().sum(), size));
        assert_eq!(largest_layer, *layers.iter().max().unwrap());
        let refused = WindowedFilter::decode_header(&filter.encode_header(), &mut |_| false).err();
        assert_eq!(refused, Some(Error::Refused(size)));
    }
}

#[test]
fn terabytes_are_refused_by_the_permit_alone() {
    let mut header = changed(24, (1u64 << 40).to_le_bytes());
    header[64..72].copy_from_slice(&(1u64 << 50).to_le_bytes());
    let mut demanded = 0;
    let refused = WindowedFilter::decode_header(&header, &mut |demand| {
        demanded = demand.filter_bytes;
        false
    });
    assert_eq!(refused.err(), Some(Error::Refused(demanded)));
    assert!(demanded > 1 << 40, "{demanded}");
}
