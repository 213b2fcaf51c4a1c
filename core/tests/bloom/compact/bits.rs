//! Folded layers compared with the reference model, bit by bit, and lookups in them.

use bloomline_core::hash::xxh3::item_hash;
use bloomline_core::host::Filter;
use bloomline_core::simd::Backend;
use bloomline_reference::bloomline::{Answer, Model};
use bloomline_reference::calls::Calls;

use crate::filters::{assert_equals_model, finds_all, fixed, found, insert, new, scaling};

/// Compacts both. Returns the share of the pages that is left.
fn compact(filter: &mut Filter, model: &mut Model) -> f64 {
    let freed = filter.compact();
    let newest = filter.layers().next_back().unwrap();
    let shape = newest.plan();
    let stored = shape.fold().stored();
    if freed > 0 {
        model.compact(stored, newest.capacity());
    }
    stored as f64 / shape.geometry().pages() as f64
}

/// Inserts items one by one into both.
fn insert_both(filter: &mut Filter, model: &mut Model, items: std::ops::Range<u64>) {
    for item in items.map(u64::to_le_bytes) {
        let is_new = filter.insert_item(&item, 0, &mut |_| true).unwrap();
        assert_eq!(model.insert(&item), if is_new { Answer::New } else { Answer::Seen });
    }
}

fn assert_backend_finds<P: Backend>(backend: P, filter: &Filter, items: u64, model: &Model) {
    let contains = |item: &[u8]| {
        let hash = item_hash(item, filter.seed());
        filter.layers().any(|layer| layer.contains(backend, &layer.locate(&hash)))
    };
    assert!((0..items).all(|item| contains(&item.to_le_bytes())));
    for item in (items..items + 500).map(u64::to_le_bytes) {
        assert_eq!(contains(&item), model.contains(&item));
    }
}

/// Tests items 0 to `items`, and absent ones, with all backends, one by one and in batches.
fn assert_finds(filter: &Filter, items: u64, model: &Model) {
    assert!((0..items).all(|item| filter.contains_item(&item.to_le_bytes(), 0)));
    assert!(finds_all(filter, 0..items));
    let absent = items..items + 2_000;
    let expected = absent.clone().map(|item| model.contains(&item.to_le_bytes()));
    assert_eq!(found(filter, absent.clone()), expected.collect::<Vec<_>>());
    with_each_backend!(assert_backend_finds(filter, items, model));
}

#[test]
fn folded_layers_equal_the_reference_model_bit_by_bit() {
    let mut shapes = std::collections::BTreeSet::new();
    for error_rate in [0.2, 1e-3, 1e-4, 1e-6, 1e-9] {
        for capacity in [1_000, 1_700, 20_000] {
            for load in [1, 6, 10, 25, 49, 51, 80] {
                let (spec, seed) = (fixed(capacity, error_rate), capacity ^ load);
                let (mut filter, mut model) = (new(spec, seed), Model::new(spec, seed));
                let items = (capacity * load / 100).max(1);
                insert_both(&mut filter, &mut model, 0..items);
                compact(&mut filter, &mut model);
                assert_equals_model(&filter, &model);
                assert_finds(&filter, items, &model);
                // Items that are added afterwards, as many as fit.
                let more = items + filter.room();
                insert_both(&mut filter, &mut model, items..more);
                assert_equals_model(&filter, &model);
                let geometry = filter.layers().next().unwrap().plan();
                shapes
                    .insert((geometry.geometry().blocks_per_item(), geometry.bytes() % 4096 != 0));
            }
        }
    }
    for blocks in 1..=4 {
        assert!(shapes.contains(&(blocks, true)), "{shapes:?}");
    }
}

#[test]
fn large_layers_fold_in_place_and_into_new_memory() {
    // Layers above 1 MiB, whose memory is zeroed lazily, with 6 % to 90 % of their items.
    for (error_rate, capacity) in [(0.1, 2_200_000), (0.01, 1_000_000), (1e-5, 500_000)] {
        let mut shares = Vec::new();
        for load in [1, 6, 30, 70] {
            let spec = fixed(capacity, error_rate);
            let (mut filter, mut model) = (new(spec, load), Model::new(spec, load));
            let items = capacity / 20 * load / 100;
            // Few of the items, so that the reference model takes little time.
            insert_both(&mut filter, &mut model, 0..items);
            let before = filter.size_bytes();
            assert!(before > 1 << 20);
            shares.push(compact(&mut filter, &mut model));
            assert_equals_model(&filter, &model);
            assert!(finds_all(&filter, 0..items));
        }
        assert!(shares[0] < 0.125, "{shares:?}");
    }
    for load in [55, 65] {
        let (mut filter, capacity) = (new(fixed(1_000_000, 0.01), 5), 1_000_000);
        let items = capacity * load / 100;
        insert(&mut filter, 0..items);
        let mut model = Model::new(filter.spec(), 5);
        (0..items).for_each(|item| assert_ne!(model.insert(&item.to_le_bytes()), Answer::Full));
        let share = compact(&mut filter, &mut model);
        assert!((0.5..0.95).contains(&share), "{share}");
        assert_equals_model(&filter, &model);
    }
}

#[test]
fn layers_that_are_folded_again_equal_the_reference_model() {
    for (spec, step) in [
        (scaling(5_000, 0.01, 2), 700),
        (scaling(2_000, 1e-6, 2), 300),
        (scaling(10_000, 0.1, 4), 2_500),
        (scaling(3_000, 1e-3, 1), 1_100),
    ] {
        let (mut filter, mut model) = (new(spec, 3), Model::new(spec, 3));
        let mut folds = 0;
        for cycle in 0..12 {
            insert_both(&mut filter, &mut model, cycle * step..(cycle + 1) * step);
            folds += u32::from(compact(&mut filter, &mut model) < 1.0);
            assert_equals_model(&filter, &model);
        }
        assert!(folds > 1, "{folds} folds, {filter:?}");
        assert_finds(&filter, 12 * step, &model);
    }
}
