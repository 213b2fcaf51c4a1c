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

/// An insertion into a table that is being doubled moves entries with it: the item is stored and
/// all are moved, or nothing has changed. Of an item with four copies in the new table, the one
/// that is moved there goes to the list.
#[test]
fn doubling_moves_entries_to_a_list_or_changes_nothing() {
    let mut filter = cuckoo(13_000, 0.01).expect("memory");
    let (mut items, mut again, mut failures) = (0, 0, 0);
    let mut retry = |filter: &mut Filter, number| {
        let item = item(number);
        failures += retried(filter, Filter::dump, |filter| insert(filter, &item)).1;
    };
    // The byte that shows a doubling.
    let is_doubled = |filter: &Filter| filter.dump().header[13] == 1;
    while !is_doubled(&filter) {
        retry(&mut filter, items);
        items += 1;
    }
    // The last items are in the table that is being doubled.
    while is_doubled(&filter) {
        again += 1;
        (0..4).for_each(|_| retry(&mut filter, items - again));
    }
    filter.check();
    let Filter::Cuckoo(filter) = filter else { unreachable!() };
    let copies = |number| if number < items - again { 1 } else { 5 };
    assert!((0..items).all(|number| filter.count(&item(number)) >= copies(number)));
    // Two further tables, each with a longer list of tables; and a list, as it grows.
    assert!(again > 50 && failures >= 6, "{again} items, {failures} failures");
}

/// Compaction of a cuckoo filter allocates all memory before it changes anything: it does all or
/// nothing, also where copies move between lists, or doublings and halvings add to them.
#[test]
fn compaction_of_a_cuckoo_filter_does_all_or_nothing() {
    for (capacity, error_rate) in [(1, 0.25), (20, 0.01), (300, 1e-4)] {
        for (copies, deleted) in
            [(0, 0), (0, 1_000), (0, 1_400), (1, 1_000), (2, 1_000), (2, 1_450), (4, 0), (4, 1_450)]
        {
            let mut filter = cuckoo(capacity, error_rate).expect("memory");
            fill(&mut filter, 0..1_500);
            fill(&mut filter, 0..500);
            (0..copies).for_each(|_| fill(&mut filter, 0..1_500));
            let gone: Vec<Vec<u8>> = (0..=copies).flat_map(|_| 0..deleted).map(item).collect();
            assert!(filter.remove(&gone).iter().all(|is_removed| *is_removed));
            let (mut compacted, mut copy) = (filter.copy(), filter.copy());
            let expected = compacted.compact().expect("memory");
            let (compaction, failures) = retried(&mut copy, Filter::dump, Filter::compact);
            copy.check();
            assert!(compaction == expected && copy.dump() == compacted.dump());
            // The halved tables, and the memory of each list.
            assert!(failures >= u64::from(filter.parts()), "{failures}: {filter:?}");
            assert!(deleted == 0 || compaction.1 > 0);
        }
    }
}
