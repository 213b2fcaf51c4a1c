//! Schedules of additions and compactions: layers and sizes that docs state.
//! The rounds of `bloomline_reference::life` check growth, rates, layers and sizes.

use bloomline_core::bloom::compact::CompactShape;
use bloomline_core::bloom::layer::{Layer, LayerShape};
use bloomline_core::bloom::scalable::ScalableFilter;
use bloomline_reference::calls::Calls;

use super::{classic, insert, new, scaling};

/// Adds a batch and compacts, again and again. No item is refused.
fn run<S: CompactShape>(mut filter: ScalableFilter<S>, batch: u64, rounds: u64) -> ScalableFilter<S>
where
    ScalableFilter<S>: Calls<Inserted = bool>,
{
    for round in 0..rounds {
        insert(&mut filter, round * batch..(round + 1) * batch);
        filter.compact();
    }
    filter
}

fn bits_per_item<S: LayerShape>(filter: &ScalableFilter<S>) -> f64 {
    let bytes: u64 = filter.layers().map(|layer| layer.words().bytes()).sum();
    bytes as f64 * 8.0 / filter.len().max(1) as f64
}

#[test]
fn hourly_batches_leave_few_layers() {
    let spec = scaling(100_000, 0.01, 2);
    let filter = run(new(spec, 7), 1_000, 60);
    println!("{} bits per item, {filter:?}", bits_per_item(&filter));
    assert!(filter.layer_count() <= 14 && bits_per_item(&filter) <= 25.0, "{filter:?}");
    let filter = run(classic(spec), 1_000, 60);
    println!("{} bits per item, {filter:?}", bits_per_item(&filter));
    assert!(filter.layer_count() <= 8 && bits_per_item(&filter) <= 32.0, "{filter:?}");
}

#[test]
fn a_link_that_is_followed_by_equal_ones_stays_as_it_is() {
    let mut filter = classic(scaling(100_000, 1e-3, 1));
    insert(&mut filter, 0..500);
    assert_eq!(filter.compact(), 0);
}

#[test]
fn further_layers_have_the_reserved_capacity() {
    let spec = scaling(50_000, 1e-3, 1);
    let mut filter = new(spec, 7);
    insert(&mut filter, 0..3_000);
    assert!(filter.compact() > 0);
    let room = filter.room();
    insert(&mut filter, 3_000..3_000 + room + 100);
    let newest = filter.layers().next_back().map(Layer::capacity);
    assert_eq!((filter.layer_count(), newest), (2, Some(50_000)));
    let errors: Vec<f64> = filter.layer_errors().collect();
    assert!(errors[1] < 1e-3 / 2.0 && errors[1] > 1e-3 / 6.0, "{errors:?}");
    assert!(filter.fp_rate() <= 1e-3);
}
