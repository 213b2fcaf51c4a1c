//! Long lists: many items with more copies than there are slots for.

use bloomline_core::host::Demand;
use bloomline_core::host::cuckoo::AnyCuckoo;
use bloomline_reference::random::Random;

use super::{Layout, compact, granted, item, reloaded};

const ITEMS: u64 = 5_000;

/// Inserts copies of random items, and deletes some. Of ten steps, `insertions` are insertions.
fn change(filter: &mut AnyCuckoo, copies: &mut [u64], insertions: u64, random: &mut Random) {
    for _ in 0..60_000 {
        let number = random.below(ITEMS);
        let copies = &mut copies[number as usize];
        if random.below(10) < insertions {
            filter.insert(&item(number), &mut granted).unwrap();
            *copies += 1;
        } else {
            assert_eq!(filter.remove(&item(number)), *copies > 0);
            *copies = copies.saturating_sub(1);
        }
    }
}

/// At a rate of one in a million, no items have the same prefix here.
#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn long_lists_count_exactly() {
    for (capacity, is_fixed) in [(4 * ITEMS + 16, true), (10, false)] {
        let mut filter = Layout::Bloomline { error_rate: 1e-6, is_fixed }.create(capacity);
        let (mut copies, mut random) = (vec![0; ITEMS as usize], Random::new(capacity));
        for insertions in [10, 7, 1, 9, 2, 8, 0] {
            change(&mut filter, &mut copies, insertions, &mut random);
            filter = reloaded(&filter).try_clone(&mut granted).unwrap();
            for (number, copies) in (0..).zip(&copies) {
                assert_eq!(filter.count(&item(number)), *copies, "item {number}");
            }
            assert_eq!(filter.len(), copies.iter().sum::<u64>());
            filter.check().unwrap();
        }
        let freed = compact(&mut filter).freed;
        assert!(is_fixed || freed > 0);
        assert!((0..).zip(&copies).all(|(number, n)| filter.count(&item(number)) == *n));
    }
}

/// A table is doubled when its list is long already, and one that has just begun to be doubled is
/// compacted by one call.
#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn copies_in_a_doubled_table_are_moved_at_once() {
    let mut filter = Layout::Bloomline { error_rate: 1e-6, is_fixed: false }.create(10);
    let mut doublings = 0;
    for number in 0..3 * ITEMS {
        let tables = filter.table_count();
        for _ in 0..3 {
            filter.insert(&item(number), &mut granted).unwrap();
        }
        if filter.table_count() > tables {
            doublings += u64::from(filter.encode_header()[13]);
            let mut copy = filter.try_clone(&mut granted).unwrap();
            compact(&mut copy);
            // The byte that shows a doubling.
            assert_eq!(copy.encode_header()[13], 0);
            assert_eq!(copy.len(), filter.len());
            assert!((0..=number).all(|number| copy.count(&item(number)) == 3));
            reloaded(&copy);
        }
    }
    assert!(doublings > 5);
}

/// A permit that refuses from a size on leaves a filter that is no larger, however long the list.
#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn long_lists_obey_the_permit() {
    let mut filter = Layout::Bloomline { error_rate: 1e-6, is_fixed: true }.create(4 * ITEMS + 16);
    let most = filter.size_bytes() + 16 * ITEMS * 3 / 4;
    let mut permit = |demand: Demand| demand.filter_bytes <= most;
    let mut refused = 0;
    for number in (0..5).flat_map(|_| 0..ITEMS) {
        let before = filter.len();
        let is_in = filter.insert(&item(number), &mut permit).is_ok();
        assert_eq!(filter.len(), before + u64::from(is_in));
        refused += u64::from(!is_in);
        assert!(filter.size_bytes() <= most);
    }
    // Memory is requested in blocks, which are at least half full.
    let listed = (filter.size_bytes() + 16 * ITEMS * 3 / 4 - most) / 16;
    assert!(refused > 0 && listed > ITEMS / 4, "{refused} refused, {listed} listed");
    filter.check().unwrap();
}
