//! The union of filters is the filter that got all items.

use bloomline_core::host::{AnyFilter, AnyRef};
use bloomline_reference::checks::check::bits;
use bloomline_reference::random::Random;

use crate::filters::{
    SEED, any, classic, clone, copied, finds_all, fixed, insert, measured, new, scaling, state,
};

/// An empty filter of each kind, with this capacity of its first layer.
fn empty(capacity: u64, error_rate: f64) -> [AnyFilter; 3] {
    [
        new(fixed(capacity, error_rate), SEED).into(),
        new(scaling(capacity, error_rate, 2), SEED).into(),
        classic(scaling(capacity, error_rate, 2)).into(),
    ]
}

/// Copies of a filter, with some of `items` each: every item is in one of them, a third of them in
/// two.
fn split(base: &AnyFilter, items: std::ops::Range<u64>, random: &mut Random) -> Vec<AnyFilter> {
    let count = 2 + random.below(4);
    let mut parts: Vec<AnyFilter> = (0..count).map(|_| clone(base)).collect();
    for item in items {
        let times = if random.below(3) == 0 { 2 } else { 1 };
        for _ in 0..times {
            insert(&mut parts[random.below(count) as usize], [item]);
        }
    }
    parts
}

/// Merges the first with the others. Panics unless all sources are unchanged.
fn merged(parts: &[AnyFilter]) -> (AnyFilter, bool) {
    let (first, others) = parts.split_first().unwrap();
    let before: Vec<_> = others.iter().map(state).collect();
    let mut union = clone(first);
    let others: Vec<&AnyFilter> = others.iter().collect();
    let is_changed = union.union(&others, &mut |_| true).unwrap();
    assert!(others.iter().zip(before).all(|(other, before)| state(other) == before));
    (union, is_changed)
}

#[test]
fn union_of_random_splits_equals_the_filter_of_all_items() {
    for seed in 0..12 {
        let mut random = Random::new(seed);
        for (capacity, error_rate) in [(3_000, 0.01), (400, 1e-6), (900, 0.2)] {
            for base in empty(capacity, error_rate) {
                let items = 0..capacity * (10 + random.below(80)) / 100;
                let mut parts = split(&base, items.clone(), &mut random);
                let mut all = clone(&base);
                insert(&mut all, items.clone());
                let (union, is_changed) = merged(&parts);
                assert!(is_changed && bits(&union) == bits(&all), "{union:?}");
                let error = union.estimate_at(0).standard_error().max(1.0);
                let most: u64 = parts.iter().map(AnyFilter::len).sum();
                let least = parts.iter().map(AnyFilter::len).max().unwrap();
                // More than the sum if the bits prove it.
                let is_possible = least <= union.len() && union.len() as f64 <= most as f64 + error;
                assert!(is_possible, "{union:?}, {least} to {most}");
                let difference = union.len() as f64 - all.len() as f64;
                assert!(difference.abs() < 5.0 * error, "{} for {}", union.len(), all.len());
                copied(&union);
                // In any order.
                parts.reverse();
                let (reversed, _) = merged(&parts);
                let difference = reversed.len() as f64 - union.len() as f64;
                assert!(bits(&reversed) == bits(&union) && difference.abs() < 5.0 * error);
                assert!(finds_all(&union, items.clone()));
            }
        }
    }
}

#[test]
fn newest_layers_are_merged_if_older_ones_are_equal() {
    for seed in 0..6 {
        let mut random = Random::new(seed);
        for [_, own, classic] in [empty(100, 0.01), empty(40, 1e-5)] {
            for mut base in [own, classic] {
                let mut next = 0;
                while base.layer_count() < 5 {
                    insert(&mut base, [next]);
                    next += 1;
                }
                let items = next..next + base.room() * 9 / 10;
                let parts = split(&base, items.clone(), &mut random);
                let mut all = clone(&base);
                insert(&mut all, items);
                let (union, _) = merged(&parts);
                assert!(bits(&union) == bits(&all) && union.layer_count() == 5, "{union:?}");
                copied(&union);
            }
        }
    }
}

#[test]
fn union_with_nothing_new_changes_nothing() {
    for base in empty(500, 0.01) {
        let mut filter = clone(&base);
        insert(&mut filter, 0..200);
        let early = clone(&filter);
        insert(&mut filter, 200..400);
        let before = state(&filter);
        for others in [vec![], vec![&base], vec![&early, &base], vec![&early, &early]] {
            assert_eq!(filter.union(&others, &mut |_| unreachable!()), Ok(false));
            assert!(state(&filter) == before);
        }
        let same = clone(&filter);
        assert_eq!(filter.union(&[&same, &early], &mut |_| unreachable!()), Ok(false));
        assert!(state(&filter) == before);
    }
}

#[test]
fn destination_with_fewer_layers_gets_copies() {
    for error_rate in [0.01, 1e-6] {
        let [_, own, classic] = empty(60, error_rate);
        for base in [own, classic] {
            for (early, late) in [(0, 500), (30, 61), (60, 1_000), (100, 3_000)] {
                let (mut filter, mut source) = (clone(&base), clone(&base));
                insert(&mut filter, 0..early);
                insert(&mut source, 0..late);
                let mut demands = Vec::new();
                let changed = filter.union(&[&source], &mut |demand| {
                    demands.push(demand);
                    true
                });
                assert_eq!(changed, Ok(true), "{early} {late}");
                assert!(state(&filter) == state(&source), "{early} {late}");
                // One demand for all copies.
                let [demand] = demands[..] else { panic!("{demands:?}") };
                assert_eq!(demand.filter_bytes, source.size_bytes());
                // Both go on growing in the same way.
                insert(&mut filter, late..late + 2_000);
                insert(&mut source, late..late + 2_000);
                assert!(state(&filter) == state(&source));
            }
        }
    }
}

#[test]
fn overfull_union_keeps_its_rate_and_is_full() {
    for (spec, items) in [
        (scaling(20_000, 0.01, 2), 22_000),
        (scaling(5_000, 1e-4, 1), 5_200),
        (scaling(8_000, 0.1, 4), 9_000),
    ] {
        let assert_rate = |filter: &AnyFilter| {
            let measured = measured(filter, (2_000.0 / spec.error_rate) as u64, 3);
            let most = spec.error_rate * (1.0 + 4.0 / 2_000f64.sqrt());
            assert!(measured.mean <= most, "{measured} at {}", spec.error_rate);
            let AnyRef::Bloomline(own) = filter.view() else { panic!("{filter:?}") };
            assert!(own.fp_rate() <= spec.error_rate, "{}", own.fp_rate());
        };
        let [mut one, mut other] = [(); 2].map(|()| AnyFilter::from(new(spec, SEED)));
        insert(&mut one, 0..items / 2);
        insert(&mut other, items / 2..items);
        assert_eq!(one.union(&[&other], &mut |_| true), Ok(true));
        assert!(one.len() > spec.capacity && one.room() == 0, "{one:?}");
        let truth = one.len() as f64 / items as f64;
        assert!((0.98..1.02).contains(&truth), "{one:?}");
        assert_rate(&one);
        assert_eq!(one.encode_header().len(), 128);
        let mut copy = copied(&one);
        for filter in [&mut one, &mut copy] {
            insert(filter, items..items + 3 * spec.capacity);
        }
        assert!(state(&one) == state(&copy) && one.layer_count() > 1);
        assert_rate(&one);
        assert!(finds_all(&one, 0..items + 3 * spec.capacity));
    }
}

#[test]
fn compacted_filters_of_equal_size_are_merged() {
    let mut base = new(scaling(50_000, 0.01, 2), SEED);
    insert(&mut base, 0..9_000);
    assert!(base.compact() > 0);
    let base = any(&base);
    let room = base.room();
    let mut parts = [clone(&base), clone(&base)];
    insert(&mut parts[0], 10_000..10_000 + room / 3);
    insert(&mut parts[1], 20_000..20_000 + room / 3);
    let mut all = clone(&base);
    insert(&mut all, (10_000..10_000 + room / 3).chain(20_000..20_000 + room / 3));
    let (union, _) = merged(&parts);
    assert!(bits(&union) == bits(&all));
    assert!(union.len() >= 9_000 + room / 3 && union.first_byte() == base.first_byte());
    copied(&union);
}
