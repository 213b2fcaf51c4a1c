//! Growth after compactions in the layouts that can be compacted: no layer exceeds its rate, the
//! measured rate is at most the target, and layers and sizes are those that docs state.
//! The rounds of `bloomline_reference::life` check random ones.

use bloomline_core::bloom::compact::CompactShape;
use bloomline_core::bloom::layer::Layer;
use bloomline_core::bloom::redisbloom::RedisBloomFilter;
use bloomline_core::bloom::scalable::ScalableFilter;
use bloomline_core::host::{Filter, Growth, Spec};
use bloomline_core::spec::MAX_LAYERS;
use bloomline_reference::calls::Calls;

use crate::filters::{any, bits, classic, copied, finds_all, insert, measured, new, scaling};

/// The target rate has room for the layers when they are full.
fn check_layers(filter: &Filter) {
    let target = filter.spec().error_rate;
    let full: f64 = filter.layers().map(|layer| layer.fp_rate(layer.capacity())).sum();
    assert!(filter.fp_rate() <= target && full <= target * (1.0 + 1e-9), "{full} {filter:?}");
    copied(&any(filter));
}

/// Each link has room for its capacity.
fn check_links(filter: &RedisBloomFilter) {
    for layer in filter.layers() {
        let rate = layer.fp_rate(layer.capacity());
        // The number of hashes is rounded up.
        assert!(rate <= layer.shape().error * 1.06, "{rate} {:?}", layer.shape());
    }
}

/// A filter of `first` items is compacted, and grows by `more` items in steps with a compaction
/// after each. Returns it, and how many bytes were freed.
fn compacted<S: CompactShape>(
    mut filter: ScalableFilter<S>,
    (spec, first, more, steps): (Spec, u64, u64, u64),
    check: impl Fn(&ScalableFilter<S>),
) -> (ScalableFilter<S>, u64)
where
    ScalableFilter<S>: Calls,
{
    let case = format!("{:?} {spec:?} {first} + {more} in {steps}", S::LAYOUT);
    insert(&mut filter, 0..first);
    let (mut freed, inserted) = (filter.compact(), filter.len());
    for step in 0..steps {
        insert(&mut filter, first + more * step / steps..first + more * (step + 1) / steps);
        if steps > 1 {
            freed += filter.compact();
        }
        check(&filter);
    }
    assert!(filter.layer_count() < MAX_LAYERS, "{case}");
    let taken_for_present = 1.0 - (filter.len() - inserted) as f64 / more as f64;
    assert!(taken_for_present <= 1.2 * spec.error_rate + 0.001, "{case}: {taken_for_present}");
    assert!(finds_all(&filter, 0..first + more), "{case}");
    // Four standard deviations above the 900 hits that a filter at its target rate has.
    let share = measured(&filter, (900.0 / spec.error_rate) as u64, 7).mean / spec.error_rate;
    println!("{case}: {share:.3} of the target rate, {filter:?}");
    assert!(share <= 1_020.0 / 900.0, "{case}: {share:.3} of the target rate");
    (filter, freed)
}

#[test]
fn filters_that_grow_after_compactions_keep_their_rate() {
    for case in [
        // Nearly empty.
        (scaling(100_000, 1e-4, 2), 0, 100_000, 1),
        (scaling(100_000, 1e-4, 2), 0, 5_000, 1),
        (scaling(100_000, 1e-3, 2), 3, 2_500, 1),
        (scaling(100_000, 1e-3, 1), 3, 2_500, 1),
        (scaling(100_000, 1e-3, 1), 0, 30_000, 1),
        (scaling(100_000, 1e-3, 2), 100, 10_000, 1),
        (scaling(1_000_000, 1e-3, 2), 10, 1_000, 1),
        (scaling(120_000, 1e-2, 2), 0, 10_000, 1),
        (scaling(120_000, 1e-2, 2), 10, 1_000, 1),
        (scaling(120_000, 1e-2, 1), 0, 2_500, 1),
        (scaling(50_000, 1e-2, 4), 0, 300, 1),
        (scaling(3_000_000, 1e-5, 2), 1, 8_000, 1),
        // With a compaction after each addition.
        (scaling(10_000, 1e-3, 2), 10, 60_000, 12),
        (scaling(100_000, 1e-3, 1), 10, 20_000, 10),
        (scaling(20_000, 1e-2, 2), 10, 40_000, 20),
        (scaling(20_000, 1e-2, 1), 10, 10_000, 20),
        (scaling(1_000, 0.01, 2), 10, 40_000, 25),
        (scaling(3_000, 1e-4, 1), 10, 30_000, 25),
        (scaling(10_000, 0.1, 4), 10, 300_000, 25),
        (scaling(100_000, 1e-3, 2), 10, 120_000, 25),
    ] {
        // Links that are all equal stay as they are.
        if case.0.growth != (Growth::Scaling { expansion: 1 }) {
            assert!(compacted(classic(case.0), case, check_links).1 > 0, "{case:?}");
        }
        assert!(compacted(new(case.0, 7), case, check_layers).1 > 0, "{case:?}");
    }
}

#[test]
fn hourly_batches_leave_few_layers() {
    let case = (scaling(100_000, 0.01, 2), 1_000, 59_000, 59);
    let (own, _) = compacted(new(case.0, 7), case, check_layers);
    let (links, _) = compacted(classic(case.0), case, check_links);
    for (layers, bits, len, most_layers, most_bits) in [
        (own.layer_count(), bits(&own).concat(), own.len(), 14, 25),
        (links.layer_count(), bits(&links).concat(), links.len(), 8, 32),
    ] {
        let bits = bits.len() as u64 * 8;
        assert!(layers <= most_layers && bits <= most_bits * len, "{layers} layers, {bits} bits");
    }
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
