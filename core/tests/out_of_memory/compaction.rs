//! Unions and compaction, while one allocation fails.

use bloomline_core::host::{AnyFilter, Growth};
use bloomline_reference::life::filter::Filter;

use super::kinds::{classic, cuckoo, insert, own, scaling};
use super::{failing_after, granted, item, live_allocations, retried};

fn fill(filter: &mut Filter, items: std::ops::Range<u64>) {
    items.for_each(|number| insert(filter, &item(number)).expect("memory"));
}

#[test]
fn failed_union_changes_nothing_and_leaks_nothing() {
    for create in [own, classic] {
        let [base, mut filter, mut source] =
            [0; 3].map(|_| create(40, 1e-4, scaling(2)).expect("memory"));
        fill(&mut filter, 0..30);
        fill(&mut source, 0..2_000);
        let others: Vec<&AnyFilter> =
            [&base, &source].into_iter().flat_map(Filter::bloom).collect();
        let union = |filter: &mut Filter| match filter {
            Filter::Bloom(filter) => filter.union(&others, &mut granted),
            Filter::Cuckoo(_) => unreachable!(),
        };
        let (is_changed, failures) = retried(&mut filter, Filter::dump, union);
        // The lists of sources and of numbers, the table, and the bits of each copy.
        assert!(is_changed && failures > source.parts().into(), "{failures}");
        assert!(filter.dump() == source.dump());
        assert!((0..2_000).all(|number| filter.contains(&item(number), 0)));
    }
}

/// Compacts copies of a filter, each with another allocation failing. Compaction of Bloom filters
/// needs no memory, so it succeeds.
#[test]
fn compaction_without_memory_gives_the_same_filter() {
    // To an eighth or less in new memory, otherwise in place; with and without lazily zeroed pages.
    let fixed = |capacity| own(capacity, 0.01, Growth::Fixed);
    for (filter, items) in [
        (fixed(20_000), 300),
        (fixed(20_000), 9_000),
        (fixed(2_000_000), 400),
        (fixed(1_200_000), 500_000),
        (classic(4_000, 0.01, scaling(2)), 100),
    ] {
        let mut filter = filter.expect("memory");
        fill(&mut filter, 0..items);
        let mut expected = filter.copy();
        let freed = expected.compact();
        assert!(freed.is_ok_and(|(is_changed, _)| is_changed), "{filter:?}");
        for allocations in 0.. {
            let live = live_allocations();
            let mut compacted = filter.copy();
            let (reply, has_failed) = failing_after(allocations, || compacted.compact());
            assert_eq!(reply, freed);
            assert!(compacted.dump() == expected.dump(), "after {allocations} allocations");
            drop(compacted);
            assert_eq!(live_allocations(), live, "leak after {allocations} allocations");
            assert!(allocations < 20, "more than 20 allocations");
            if !has_failed {
                break;
            }
        }
    }
}

/// Compaction of a cuckoo filter allocates all memory before it changes anything: it does all or
/// nothing.
#[test]
fn compaction_of_a_cuckoo_filter_does_all_or_nothing() {
    for (capacity, error_rate) in [(1, 0.25), (20, 0.01), (300, 1e-4)] {
        for deleted in [0, 1_000, 1_400] {
            let mut filter = cuckoo(capacity, error_rate).expect("memory");
            fill(&mut filter, 0..1_500);
            fill(&mut filter, 0..500);
            let gone: Vec<Vec<u8>> = (0..deleted).map(item).collect();
            assert!(filter.remove(&gone).iter().all(|is_removed| *is_removed));
            let (mut compacted, mut copy) = (filter.copy(), filter.copy());
            let expected = compacted.compact().expect("memory");
            let (compaction, failures) = retried(&mut copy, Filter::dump, Filter::compact);
            copy.check();
            assert!(compaction == expected && copy.dump() == compacted.dump());
            assert!(deleted == 0 || compaction.1 > 0 && failures > 0);
        }
    }
}
