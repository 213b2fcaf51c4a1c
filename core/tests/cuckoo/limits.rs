//! What a filter may be, and what happens at its limits.

use bloomline_core::Error;
use bloomline_core::cuckoo::bloomline::MIN_ERROR_RATE;
use bloomline_core::cuckoo::redisbloom::{CuckooNumbers, MAX_TABLES};
use bloomline_core::error::{ChunkError, CuckooError};
use bloomline_core::host::MAX_CHUNK_BYTES;
use bloomline_core::host::cuckoo::{AnyCuckoo, Compaction, CuckooSpec};
use bloomline_reference::calls::CuckooCalls;
use bloomline_reference::cuckoo_header::Header;

use super::{Layout, classic, granted, item, options, with_numbers};

const NUMBERS: CuckooNumbers = CuckooNumbers {
    items: 0,
    buckets: 4,
    deletes: 0,
    tables: 2,
    bucket_size: 2,
    max_iterations: 20,
    expansion: 2,
};

#[test]
fn refuses_to_create_what_is_out_of_range() {
    let create = |capacity, error_rate| {
        let spec = CuckooSpec { capacity, error_rate, options: options(2, 20, 1) };
        AnyCuckoo::bloomline(spec, 7, &mut |demand| demand.new_bytes < 1 << 20)
    };
    for rate in [0.0, -0.0, -0.5, 1.0, 2.0, MIN_ERROR_RATE / 1.001, f64::INFINITY, f64::MIN] {
        assert_eq!(create(10, rate).unwrap_err(), Error::CuckooErrorRate(rate));
    }
    assert!(matches!(create(10, f64::NAN), Err(Error::CuckooErrorRate(_))));
    for capacity in [0, (1 << 40) + 1, u64::MAX] {
        assert_eq!(create(capacity, 0.01).unwrap_err(), Error::Capacity(capacity));
    }
    for (capacity, rate) in [(1, MIN_ERROR_RATE), (1, 1.0 - f64::EPSILON), (1_000, 0.5)] {
        let filter = create(capacity, rate).unwrap();
        assert_eq!(filter.error_rate(), Some(rate));
        assert!(filter.capacity() >= capacity && filter.is_empty());
        filter.check().unwrap();
    }
    for capacity in [1 << 30, 1 << 40] {
        assert!(matches!(create(capacity, 0.01), Err(Error::Refused(_))));
    }
    let classic = |capacity, options| AnyCuckoo::redisbloom(capacity, options, &mut granted);
    for capacity in [0, u64::MAX] {
        let error = classic(capacity, options(2, 20, 1)).unwrap_err();
        assert_eq!(error, Error::Capacity(capacity));
    }
    for (options, error) in [
        (options(0, 20, 1), CuckooError::BucketSize(0)),
        (options(2, 0, 1), CuckooError::MaxIterations(0)),
        (options(2, 20, 3), CuckooError::Expansion(3)),
    ] {
        let spec = CuckooSpec { capacity: 10, error_rate: 0.01, options };
        let own = AnyCuckoo::bloomline(spec, 7, &mut granted);
        for result in [own, classic(8, options)] {
            assert_eq!(result.unwrap_err(), Error::Cuckoo(error));
        }
    }
    for (capacity, bucket_size, buckets) in [(100, 2, 64), (50, 3, 16), (1000, 255, 4), (1, 2, 1)] {
        assert_eq!(classic(capacity, options(bucket_size, 20, 1)).unwrap().buckets(), buckets);
    }
}

/// At the least rate, a filter that grows takes at least four more tables after the first.
#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn the_least_rate_leaves_room_for_four_more_tables() {
    for capacity in [1, 10, 100] {
        let spec = CuckooSpec { capacity, error_rate: MIN_ERROR_RATE, options: options(2, 20, 1) };
        let mut filter = AnyCuckoo::bloomline(spec, 7, &mut granted).unwrap();
        let (mut number, mut grown) = (0, 0);
        while grown < 4 {
            let newest = Header::of(&filter).tables.pop().unwrap();
            filter.insert(&item(number), &mut granted).unwrap();
            number += 1;
            let last = Header::of(&filter).tables.pop().unwrap();
            // A table that is not a doubled one.
            grown += u32::from(last.start != newest.start && last.bits >= newest.bits);
        }
        assert!(matches!(filter.check(), Ok(())));
    }
}

#[test]
fn the_number_of_tables_is_limited() {
    let numbers = CuckooNumbers {
        tables: MAX_TABLES.into(),
        expansion: 1,
        buckets: 1,
        bucket_size: 1,
        max_iterations: 1,
        ..NUMBERS
    };
    let mut filter = with_numbers(&numbers, &mut granted).unwrap();
    for index in 0..MAX_TABLES {
        // A position is that behind the chunk, plus one.
        filter.load_chunk(u64::from(index) + 2, &[1]).unwrap();
    }
    assert_eq!(filter.insert(b"a", &mut granted), Err(Error::TooManyTables(MAX_TABLES)));
    // 2^55 buckets cannot be doubled either.
    let numbers =
        CuckooNumbers { tables: 1, buckets: 1 << 33, bucket_size: 1, expansion: 32_768, ..NUMBERS };
    let Ok(mut filter) = with_numbers(&numbers, &mut granted) else { return };
    let mut outcome = Ok(());
    // All copies have the same two buckets, so the third finds no room, and nothing is kicked.
    for _ in 0..3 {
        outcome = filter.insert(b"a", &mut |demand| demand.new_bytes < 1 << 40);
    }
    assert!(matches!(outcome, Err(Error::Refused(_))), "{outcome:?}");
    assert_eq!(filter.len(), 2);
}

/// Chunks of a table of more than 16 MiB are parts of it.
#[test]
#[cfg_attr(miri, ignore = "takes 48 MiB")]
fn large_tables_have_several_chunks() {
    let classic = Layout::RedisBloom { bucket_size: 3, max_iterations: 20, expansion: 1 };
    let own = Layout::Bloomline { error_rate: 0.01, is_fixed: true };
    for (layout, capacity) in [(classic, 48 << 20), (own, 40_000_000)] {
        let mut filter = layout.create(capacity);
        let items: Vec<[u8; 4]> = (0..10_000u32).map(u32::to_le_bytes).collect();
        filter.insert_each(
            &mut items.iter().map(AsRef::as_ref),
            false,
            &mut granted,
            &mut |answer| assert_eq!(answer, Ok(true)),
        );
        let mut copy = AnyCuckoo::decode_header(&filter.encode_header(), &mut granted).unwrap();
        let (mut iterator, mut lengths) = (1, Vec::new());
        while let Some((next, chunk)) = filter.scan_dump(iterator) {
            assert_eq!(next, iterator + chunk.len() as u64);
            copy.load_chunk(next, chunk).unwrap();
            (iterator, _) = (next, lengths.push(chunk.len()));
        }
        assert_eq!(lengths.len(), 3);
        assert_eq!(lengths[..2], [MAX_CHUNK_BYTES; 2]);
        assert!(lengths[2] <= MAX_CHUNK_BYTES);
        assert!(copy == filter);
        assert_eq!(filter.scan_dump(0), None);
        assert_eq!(filter.scan_dump(u64::MAX), None);
        // From the middle of a large table on, a chunk begins there.
        assert_eq!(filter.scan_dump(2).unwrap().0, 2 + MAX_CHUNK_BYTES as u64);
    }
}

#[test]
fn refuses_chunks_that_do_not_fit() {
    let mut filter = with_numbers(&NUMBERS, &mut granted).unwrap();
    let refused = |error: ChunkError| Err(Error::Chunk(error));
    assert_eq!(filter.load_chunk(9, &[]), refused(ChunkError::Empty));
    assert_eq!(filter.load_chunk(0, &[1]), refused(ChunkError::Offset(0)));
    assert_eq!(filter.load_chunk(1, &[1]), refused(ChunkError::Offset(1)));
    // RedisBloom wraps an offset past the end.
    assert_eq!(filter.load_chunk(26, &[1]), refused(ChunkError::Offset(26)));
    assert_eq!(filter.load_chunk(u64::MAX, &[1]), refused(ChunkError::Offset(u64::MAX)));
    assert_eq!(filter.load_chunk(10, &[1, 1]), refused(ChunkError::TooLong(2)));
    assert!(classic(&filter).tables().all(|table| table.iter().all(|slot| *slot == 0)));
    filter.load_chunk(25, &[7]).unwrap();
    assert_eq!(classic(&filter).tables().last().unwrap().last(), Some(&7));
    // From any byte of a small table on, the table is one chunk.
    assert_eq!(filter.scan_dump(3), Some((11, [0; 8].as_slice())));
    assert_eq!(filter.scan_dump(24).map(|(next, chunk)| (next, chunk.len())), Some((40, 16)));
    assert_eq!(filter.scan_dump(25), None);
}

/// Buckets of a table of 4 GiB and more share bytes, so nothing is moved in it, out of it or into
/// it. The memory is hardly touched.
#[test]
#[cfg_attr(miri, ignore = "maps 10 GiB")]
fn tables_of_4_gib_keep_their_items() {
    const BUCKETS: u64 = 1 << 29;
    for (buckets, expansion) in [(BUCKETS >> 15, 32_768), (BUCKETS, 1)] {
        for bucket_size in [8, 9] {
            let numbers = CuckooNumbers { bucket_size, buckets, expansion, ..NUMBERS };
            // Not every machine grants so much.
            let Ok(mut filter) = with_numbers(&numbers, &mut granted) else { return };
            let item = |number: u32| number.to_le_bytes();
            for number in 0..1_000 {
                filter.insert(&item(number), &mut granted).unwrap();
            }
            let before = filter.encode_header();
            assert_eq!(filter.compact(), Ok(Compaction::default()));
            assert!((0..1_000).all(|number| filter.contains(&item(number))));
            // The last of these deletions is followed by a compaction.
            for number in 0..100 {
                assert!(filter.remove(&item(number)));
            }
            assert!(filter.deletes() < 100 && filter.encode_header() != before);
            assert!((100..1_000).all(|number| filter.contains(&item(number))));
            for number in 100..1_000 {
                assert!(filter.remove(&item(number)));
            }
            filter.compact().unwrap();
            assert!(filter.is_empty());
            assert_eq!(filter.table_count(), 1);
        }
    }
}

/// One byte less than 4 GiB: entries are moved.
#[test]
#[cfg_attr(miri, ignore = "maps 4 GiB")]
fn tables_below_4_gib_are_emptied() {
    let numbers = CuckooNumbers { bucket_size: 7, buckets: 1 << 14, expansion: 32_768, ..NUMBERS };
    let Ok(mut filter) = with_numbers(&numbers, &mut granted) else { return };
    for number in 0..1_000u32 {
        filter.insert(&number.to_le_bytes(), &mut granted).unwrap();
    }
    assert!(filter.compact().unwrap().freed > 7 << 29);
    assert!((0..1_000u32).all(|number| filter.contains(&number.to_le_bytes())));
    assert_eq!((filter.table_count(), filter.len()), (1, 1_000));
}

/// A filter that was only reserved is dumped, compared and compacted without touching its pages.
#[test]
#[cfg_attr(miri, ignore = "maps 2 GiB")]
fn untouched_filters_stay_untouched() {
    let spec = CuckooSpec { capacity: 1 << 30, error_rate: 0.001, options: options(2, 20, 1) };
    let Ok(mut filter) = AnyCuckoo::bloomline(spec, 7, &mut granted) else { return };
    filter.insert(b"one", &mut granted).unwrap();
    let resident = resident_bytes();
    let mut chunks = Vec::new();
    filter.each_touched_chunk(|iterator, chunk| chunks.push((iterator, chunk.len())));
    assert!((1..=2).contains(&chunks.len()), "{chunks:?}");
    let compaction = filter.compact().unwrap();
    assert!(compaction.freed > 1 << 30 && filter.contains(b"one"));
    // A chunk was searched for the item.
    let touched = resident_bytes().saturating_sub(resident);
    assert!(touched < 64 << 20, "{touched} bytes were touched");
}

/// The memory of this process that is backed by pages; 0 where the system does not report it.
fn resident_bytes() -> u64 {
    let Ok(status) = std::fs::read_to_string("/proc/self/statm") else { return 0 };
    let pages = status.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}
