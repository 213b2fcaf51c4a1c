//! Cuckoo filters.

use bloomline_core::Error;
use bloomline_core::host::cuckoo::{AnyCuckoo, CuckooNumbers, CuckooOptions};

use super::{failing_after, granted, item, live_allocations, until_success};

const OPTIONS: CuckooOptions = CuckooOptions { bucket_size: 2, max_iterations: 3, expansion: 2 };

#[test]
fn cuckoo_filters_are_created_decoded_and_copied() {
    let create = || AnyCuckoo::redisbloom(100_000, OPTIONS, &mut granted);
    // The table, and the list of tables.
    let (filter, failures) = until_success(create);
    assert_eq!(failures, 2);
    let numbers = CuckooNumbers { tables: 5, ..filter.numbers() };
    let (grown, failures) = until_success(|| AnyCuckoo::with_numbers(&numbers, &mut granted));
    assert_eq!(failures, 6);
    let (copy, failures) = until_success(|| grown.try_clone(&mut granted));
    assert_eq!(failures, 6);
    assert!(copy == grown);
}

#[test]
fn a_cuckoo_filter_that_cannot_grow_is_unchanged() {
    let mut filter = AnyCuckoo::redisbloom(4, OPTIONS, &mut granted).expect("a filter");
    let mut failures = 0;
    for number in 0..200 {
        for allocations in 0.. {
            let before = filter.try_clone(&mut granted).expect("a copy");
            let live = live_allocations();
            let insert = || filter.insert(&item(number), &mut granted);
            let (result, has_failed) = failing_after(allocations, insert);
            if result.is_ok() {
                assert!(!has_failed);
                break;
            }
            assert!(matches!(result, Err(Error::OutOfMemory(_))) && has_failed);
            assert!(filter == before);
            assert_eq!(live_allocations(), live);
            failures += 1;
        }
    }
    // Each growth needs a table and a longer list of tables.
    assert_eq!(failures, 2 * (filter.table_count() - 1));
    assert!((0..200).all(|number| filter.contains(&item(number))));
}
