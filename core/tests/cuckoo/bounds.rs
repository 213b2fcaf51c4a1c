//! What a filter costs at most, and that a refused operation changes nothing.

use bloomline_core::Error;
use bloomline_core::host::Demand;
use bloomline_reference::random::Random;

use super::{Layout, bytes, granted, item};

#[test]
fn copies_of_one_item_cost_a_few_bytes() {
    for capacity in [1, 8, 1_000] {
        for error_rate in [0.25, 0.01, 1e-5] {
            let mut filter = Layout::Bloomline { error_rate, is_fixed: false }.create(capacity);
            for number in 0..capacity / 2 {
                filter.insert(&item(number), &mut granted).unwrap();
            }
            let (size, before) = (filter.size_bytes(), filter.len());
            for copies in 1..=1_000 {
                filter.insert(b"again", &mut granted).unwrap();
                assert_eq!(filter.count(b"again"), copies, "{filter:?}");
            }
            assert_eq!(filter.len(), before + 1_000);
            // The smallest filters grow for it, up to a table that has room for five entries.
            let more = filter.size_bytes() - size;
            assert!(more <= if capacity < 1_000 { 200 } else { 64 }, "{more} bytes more");
            assert!(capacity < 1_000 || filter.table_count() == 1);
            for copies in (0..1_000).rev() {
                assert!(filter.remove(b"again"));
                assert_eq!(filter.count(b"again"), copies);
            }
            assert!(!filter.remove(b"again"));
            assert!((0..capacity / 2).all(|number| filter.contains(&item(number))));
            filter.check().unwrap();
        }
    }
}

/// A fixed filter takes any number of copies, since they occupy no more than five entries.
#[test]
fn copies_of_one_item_do_not_fill_a_fixed_filter() {
    let mut filter = Layout::Bloomline { error_rate: 0.01, is_fixed: true }.create(100);
    for _ in 0..100_000 {
        filter.insert(b"again", &mut granted).unwrap();
    }
    for number in 0..95 {
        filter.insert(&item(number), &mut granted).unwrap();
    }
    assert_eq!((filter.count(b"again"), filter.len()), (100_000, 100_095));
}

/// The permit refuses all growth, or all above a size: errors change no byte, and what was inserted
/// stays.
#[test]
fn refused_growth_leaves_all_bytes_as_they_were() {
    let items = if cfg!(miri) { 60 } else { 700 };
    for layout in Layout::ALL {
        for capacity in [1, 4, 64, 200] {
            for most in [0, 250, 450] {
                let mut filter = layout.create(capacity);
                let mut random = Random::new(capacity);
                let mut failures = 0;
                for number in 0..items {
                    let before = bytes(&filter);
                    // Copies too: they lie in the list of a table.
                    let number = if random.below(4) == 0 { random.below(5) } else { number };
                    let mut permit = |demand: Demand| demand.filter_bytes <= most;
                    let result = match random.below(2) {
                        0 => filter.insert(&item(number), &mut permit).map(|()| true),
                        _ => filter.insert_new(&item(number), &mut permit),
                    };
                    match result {
                        Ok(true) => continue,
                        Ok(false) => {}
                        Err(Error::Full(_)) => assert!(layout.is_fixed()),
                        // A fixed filter may need memory for a longer list.
                        Err(Error::Refused(_)) => {
                            let is_own = matches!(layout, Layout::Bloomline { .. });
                            assert!(is_own || !layout.is_fixed());
                        }
                        Err(error) => panic!("{error}"),
                    }
                    assert!(bytes(&filter) == before, "{layout:?} of {capacity} has changed");
                    failures += u64::from(result.is_err());
                }
                assert!(failures > 0, "{layout:?} of {capacity} took {items} items");
                filter.check().unwrap();
            }
        }
    }
}

/// Copies are added while a table is doubled, so that entries which move go to its list. A filter
/// never gets larger than the permit allows, and a refused addition changes nothing.
#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn lists_that_grow_while_a_table_doubles_obey_the_permit() {
    // A list of one segment, and one of several.
    for (capacity, listed) in [(1_000, 0), (9_000, 1_600)] {
        let mut begun = Layout::Bloomline { error_rate: 1e-4, is_fixed: false }.create(capacity);
        let mut items = 0;
        let mut is_doubling = false;
        while !is_doubling || items < 2 * capacity {
            for _ in 0..if items < listed { 4 } else { 3 } {
                begun.insert(&item(items), &mut granted).unwrap();
            }
            items += 1;
            is_doubling = begun.encode_header()[13] == 1;
        }
        let (size, mut refused) = (begun.size_bytes(), 0);
        for more in (0..40).map(|step| step * step * 16) {
            let mut filter = begun.try_clone(&mut granted).unwrap();
            let most = size + more;
            let mut permit = |demand: Demand| demand.filter_bytes <= most;
            for number in (0..items).chain(0..items) {
                let before = bytes(&filter);
                if filter.insert(&item(number), &mut permit).is_err() {
                    assert!(bytes(&filter) == before);
                    refused += 1;
                    if refused % 64 == 0 {
                        break;
                    }
                }
                assert!(filter.size_bytes() <= most, "{} of {most}", filter.size_bytes());
            }
            filter.check().unwrap();
        }
        assert!(refused > 0);
    }
}

/// A reserved filter requests its memory once, and one that grows for each table.
#[test]
fn the_permit_gets_the_size_that_the_filter_will_have() {
    for layout in Layout::ALL {
        let mut filter = layout.create(10);
        for number in 0..2_000 {
            let (before, mut demands) = (filter.size_bytes(), Vec::new());
            let tables = filter.table_count();
            let result = filter.insert(&item(number), &mut |demand| {
                demands.push(demand);
                true
            });
            if result.is_err() {
                assert!(layout.is_fixed());
                break;
            }
            assert!(filter.table_count() <= tables || !demands.is_empty());
            for demand in demands {
                assert_eq!(demand.layout, filter.layout());
                assert!(demand.filter_bytes > before.min(demand.new_bytes));
                assert!(demand.largest_layer <= demand.new_bytes);
            }
        }
    }
}

/// If no table is left to add, the error is that, and the filter stays as it is.
#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn a_filter_that_has_used_up_its_error_budget_is_unchanged() {
    let mut grown = 0;
    // The fewest items per table are those of a capacity of 1: growth goes furthest.
    for error_rate in [1e-5, 1e-6, 2e-6] {
        let mut filter = Layout::Bloomline { error_rate, is_fixed: false }.create(1);
        for number in 0..400_000 {
            let tables = filter.table_count();
            match filter.insert(&item(number), &mut granted) {
                Ok(()) => grown += u64::from(filter.table_count() > tables),
                Err(Error::TooManyTables(_)) => {
                    let before = bytes(&filter);
                    assert!(filter.insert(&item(number), &mut granted).is_err());
                    assert!(bytes(&filter) == before);
                    break;
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert!(filter.current_rate().unwrap() <= error_rate * (1.0 + 1e-9));
    }
    assert!(grown > 0);
}
