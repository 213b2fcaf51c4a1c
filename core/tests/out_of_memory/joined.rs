//! Unions and compaction, while one allocation fails.

use bloomline_core::host::{AnyFilter, Filter, Growth, Spec};
use bloomline_reference::calls::Calls;

use super::{classic, failing_after, granted, item, live_allocations, retried, scaling, state};

fn insert(filter: &mut AnyFilter, items: std::ops::Range<u64>) {
    for number in items {
        filter.insert_item(&item(number), 0, &mut granted).unwrap();
    }
}

fn clone(filter: &AnyFilter) -> AnyFilter {
    filter.try_clone(&mut granted).unwrap()
}

/// Joins a filter with others, each time with another allocation failing. Returns the number of
/// failures.
fn join(filter: &mut AnyFilter, others: &[&AnyFilter]) -> u64 {
    let (is_changed, failures) = retried(filter, state, |it| it.union(others, &mut granted));
    assert!(is_changed);
    failures
}

#[test]
fn failed_union_changes_nothing_and_leaks_nothing() {
    let spec = scaling(40, 1e-4, 2);
    for base in [
        AnyFilter::from(Filter::new(spec, 7, &mut granted).unwrap()),
        AnyFilter::from(classic(spec).unwrap()),
    ] {
        let (mut filter, mut source) = (clone(&base), clone(&base));
        insert(&mut filter, 0..30);
        insert(&mut source, 0..2_000);
        let failures = join(&mut filter, &[&base, &source]);
        // The lists of sources and of numbers, the table, and the bits of each copy.
        assert!(failures > u64::from(source.layer_count()), "{failures}");
        assert!(state(&filter) == state(&source));
        assert!((0..2_000).all(|number| filter.contains_item(&item(number), 0)));
    }
}

/// Compacts clones of a filter, each with another allocation failing. Compaction needs no memory,
/// so it succeeds.
fn assert_compacts(filter: &AnyFilter, items: u64) {
    let mut expected = clone(filter);
    let freed = expected.compact();
    assert!(freed.is_ok_and(|freed| freed > 0), "{filter:?}");
    for allocations in 0..20 {
        let live = live_allocations();
        let mut compacted = clone(filter);
        let (reply, has_failed) = failing_after(allocations, || compacted.compact());
        assert_eq!(reply, freed);
        assert!(state(&compacted) == state(&expected), "after {allocations} allocations");
        assert!((0..items).all(|number| compacted.contains_item(&item(number), 0)));
        drop(compacted);
        assert_eq!(live_allocations(), live, "leak after {allocations} allocations");
        if !has_failed {
            return;
        }
    }
    panic!("more than 20 allocations");
}

#[test]
fn compaction_without_memory_gives_the_same_filter() {
    // To an eighth or less in new memory, otherwise in place; with and without lazily zeroed pages.
    for (capacity, items) in
        [(20_000, 300), (20_000, 9_000), (2_000_000, 400), (1_200_000, 500_000)]
    {
        let spec = Spec { capacity, error_rate: 0.01, growth: Growth::Fixed };
        let mut filter = AnyFilter::from(Filter::new(spec, 7, &mut granted).unwrap());
        insert(&mut filter, 0..items);
        assert_compacts(&filter, items);
    }
    let mut filter = AnyFilter::from(classic(scaling(4_000, 0.01, 2)).unwrap());
    insert(&mut filter, 0..100);
    assert_compacts(&filter, 100);
}
