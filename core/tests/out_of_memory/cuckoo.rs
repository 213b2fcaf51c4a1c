//! Cuckoo filters.

use std::collections::HashSet;

use bloomline_core::Error;
use bloomline_core::cuckoo::redisbloom::{CuckooNumbers, RedisBloomCuckoo};
use bloomline_core::host::cuckoo::{AnyCuckoo, CuckooOptions, CuckooSpec};

use super::{granted, item, live_allocations, retried, until_success};

const OPTIONS: CuckooOptions = CuckooOptions { bucket_size: 2, max_iterations: 3, expansion: 2 };

#[test]
fn cuckoo_filters_are_created_decoded_and_copied() {
    let create = || RedisBloomCuckoo::new(100_000, OPTIONS, &mut granted);
    // The table, and the list of tables.
    let (filter, failures) = until_success(create);
    assert_eq!(failures, 2);
    let numbers = CuckooNumbers { tables: 5, ..filter.numbers() };
    let (grown, failures) =
        until_success(|| RedisBloomCuckoo::with_numbers(&numbers, &mut granted));
    assert_eq!(failures, 6);
    let (copy, failures) = until_success(|| grown.try_clone(&mut granted));
    assert_eq!(failures, 6);
    assert!(copy == grown);
}

fn bloomline(capacity: u64, error_rate: f64) -> Result<AnyCuckoo, Error> {
    AnyCuckoo::bloomline(CuckooSpec { capacity, error_rate, options: OPTIONS }, 7, &mut granted)
}

#[test]
fn own_cuckoo_filters_are_created_decoded_and_copied() {
    let (_, failures) = until_success(|| bloomline(100_000, 0.01));
    assert!(failures > 0);
    let mut filter = bloomline(3, 0.01).expect("a filter");
    let mut tables = Vec::new();
    for number in 0..300 {
        filter.insert(&item(number), &mut granted).expect("memory");
        // Lists too.
        for _ in 0..if number % 7 == 0 { 6 } else { 0 } {
            filter.insert(&item(number), &mut granted).expect("memory");
        }
        if tables.contains(&filter.table_count()) {
            continue;
        }
        tables.push(filter.table_count());
        let header = filter.encode_header();
        let (mut copy, failures) =
            until_success(|| AnyCuckoo::decode_header(&header, &mut granted));
        assert!(failures > u64::from(filter.table_count()));
        let mut iterator = 1;
        while let Some((next, chunk)) = filter.scan_dump(iterator) {
            copy.load_chunk(next, chunk).expect("it fits");
            iterator = next;
        }
        assert!(copy == filter);
        let (copy, failures) = until_success(|| filter.try_clone(&mut granted));
        assert!(failures > u64::from(filter.table_count()));
        assert!(copy == filter);
    }
    assert!(tables.len() > 2, "{tables:?}");
}

#[test]
fn a_cuckoo_filter_that_cannot_grow_is_unchanged() {
    let mut filter = AnyCuckoo::redisbloom(4, OPTIONS, &mut granted).expect("a filter");
    let failures = fill(&mut filter, 0);
    // Each growth needs a table and a longer list of tables.
    assert_eq!(failures, 2 * u64::from(filter.table_count() - 1));
    for (capacity, error_rate) in [(1, 0.25), (1, 0.01), (10, 0.01), (30, 1e-5)] {
        for copies in [0, 4] {
            let mut filter = bloomline(capacity, error_rate).expect("a filter");
            let failures = fill(&mut filter, copies);
            assert!(failures >= 2 * u64::from(filter.table_count() - 1));
        }
    }
}

fn clone(filter: &AnyCuckoo) -> AnyCuckoo {
    filter.try_clone(&mut granted).expect("a copy")
}

/// Inserts 200 items, each with some more copies, and lets each allocation fail once. Returns the
/// number of failures.
fn fill(filter: &mut AnyCuckoo, copies: u64) -> u64 {
    let mut failures = 0;
    for number in (0..200).flat_map(|number| (0..=copies).map(move |_| number)) {
        failures += retried(filter, clone, |it| it.insert(&item(number), &mut granted)).1;
    }
    assert!((0..200).all(|number| filter.contains(&item(number))));
    failures
}

/// Compaction allocates all memory before it changes anything: it does all or nothing.
#[test]
fn compaction_without_memory_changes_nothing() {
    for (capacity, error_rate) in [(1, 0.25), (20, 0.01), (300, 1e-4)] {
        for deleted in [0, 1_000, 1_400] {
            let mut filter = bloomline(capacity, error_rate).expect("a filter");
            for number in 0..2_000 {
                filter.insert(&item(number % 1_500), &mut granted).expect("memory");
            }
            for number in 0..deleted {
                assert!(filter.remove(&item(number)));
            }
            let (mut compacted, mut copy) = (clone(&filter), clone(&filter));
            let expected = compacted.compact().expect("memory");
            let (compaction, failures) = retried(&mut copy, clone, AnyCuckoo::compact);
            copy.check().expect("valid");
            assert!(compaction == expected && copy == compacted);
            assert!(deleted == 0 || compaction.freed > 0 && failures > 0);
        }
    }
}

/// Filters of each layout with several tables; those in the own layout have lists, and one of them
/// is being doubled. Then one of one table with a long list.
fn grown() -> Vec<AnyCuckoo> {
    let mut filters = vec![AnyCuckoo::redisbloom(4, OPTIONS, &mut granted).expect("a filter")];
    for error_rate in [0.25, 0.01] {
        filters.push(bloomline(3, error_rate).expect("a filter"));
    }
    for filter in &mut filters {
        let is_own = filter.error_rate().is_some();
        for number in 0..300 {
            for _ in 0..if is_own && number % 9 == 0 { 6 } else { 1 } {
                filter.insert(&item(number), &mut granted).expect("memory");
            }
        }
    }
    // A list of several blocks.
    let mut filter = bloomline(20_000, 1e-5).expect("a filter");
    for number in (0..5).flat_map(|_| 0..3_000) {
        filter.insert(&item(number), &mut granted).expect("memory");
    }
    filters.push(filter);
    filters
}

#[test]
fn cuckoo_filters_list_each_of_their_allocations_once() {
    for filter in grown() {
        let before = live_allocations();
        let mut blocks = HashSet::new();
        filter.each_allocation(|block| assert!(blocks.insert(block), "a block is listed twice"));
        let count = blocks.len() as i64;
        drop(blocks);
        let with_blocks = live_allocations();
        drop(filter);
        assert_eq!(with_blocks - live_allocations(), count);
        assert!(before >= with_blocks);
    }
}

/// The ledger of the audit knows no block from elsewhere.
#[test]
#[cfg(all(target_os = "linux", not(miri), not(feature = "audit")))]
fn relocated_cuckoo_filters_equal_the_original() {
    use std::ptr::NonNull;

    use bloomline_core::host::Mover;

    for mut filter in grown() {
        let before = filter.try_clone(&mut granted).expect("a copy");
        let mut blocks = 0;
        filter.each_allocation(|_| blocks += 1);
        let mut moved = 0;
        let mut move_block = |from: NonNull<u8>| {
            moved += 1;
            // SAFETY: the system's allocator allocated and frees all blocks with `malloc` and
            // `free`, since none is aligned to more than 16 bytes. The copy has all of its bytes.
            unsafe {
                let size = libc::malloc_usable_size(from.as_ptr().cast());
                let to = NonNull::new(libc::malloc(size).cast::<u8>());
                let to = to.expect("memory");
                to.copy_from_nonoverlapping(from, size);
                from.write_bytes(0xaa, size);
                libc::free(from.as_ptr().cast());
                Some(to)
            }
        };
        // SAFETY: see above.
        let mut mover = unsafe { Mover::new(&mut move_block) };
        // In several steps, as hosts do.
        let (mut from, mut steps) = (Some(0), 0);
        while let Some(index) = from {
            let mut budget = 2;
            from = filter.relocate(index, &mut mover, || {
                budget -= 1;
                budget < 0
            });
            steps += 1;
        }
        assert!(steps > 1 && filter == before);
        assert_eq!(moved, blocks);
        for number in 300..400 {
            filter.insert(&item(number), &mut granted).expect("memory");
        }
        filter.compact().expect("memory");
        assert!((0..400).all(|number| filter.contains(&item(number))));
    }
}
