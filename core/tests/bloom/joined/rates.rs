//! Measured false-positive rates after compactions and growth, in the layouts that can be
//! compacted: at most the target.

use std::fmt::Debug;

use bloomline_core::bloom::compact::CompactShape;
use bloomline_core::bloom::scalable::ScalableFilter;
use bloomline_core::host::{AnyFilter, Growth, Spec};
use bloomline_reference::calls::Calls;
use bloomline_reference::random::Random;

use super::{classic, found, insert, new, scaling};

/// Hits among random absent items, which a filter at its target rate has 900 of.
fn hits(filter: &impl Calls, target: f64, seed: u64) -> f64 {
    let mut random = Random::new(seed);
    let mut hits = 0;
    for _ in 0..9 {
        let absent = (0..(100.0 / target) as u64).map(|_| random.next() | 1 << 63);
        hits += found(filter, absent).into_iter().filter(|&found| found).count();
    }
    hits as f64
}

/// Four standard deviations above 900.
const MOST_HITS: f64 = 1_020.0;

fn assert_rate(case: &str, filter: &(impl Calls + Debug), target: f64) {
    let hits = hits(filter, target, 7);
    println!("{case}: {:.3} of the target rate, {filter:?}", hits / 900.0);
    assert!(hits <= MOST_HITS, "{case}: {:.3} of the target rate", hits / 900.0);
}

/// A filter of `first` items is compacted, and grows by `more` items in steps with a compaction
/// after each.
fn assert_compacted<S: CompactShape>(
    mut filter: ScalableFilter<S>,
    spec: Spec,
    (first, more, steps): (u64, u64, u64),
) where
    AnyFilter: From<ScalableFilter<S>>,
    ScalableFilter<S>: Calls<Inserted = bool>,
{
    let case = format!("{:?} {spec:?} {first} + {more} in {steps}", S::LAYOUT);
    insert(&mut filter, 0..first);
    assert!(filter.compact() > 0, "{case}: nothing is freed");
    let mut new = 0;
    for step in 0..steps {
        new += insert(&mut filter, first + more * step / steps..first + more * (step + 1) / steps);
        if steps > 1 {
            filter.compact();
        }
    }
    let taken_for_present = (more - new) as f64 / more as f64;
    assert!(taken_for_present <= 1.2 * spec.error_rate + 0.001, "{case}: {taken_for_present}");
    assert!(found(&filter, 0..first + more).into_iter().all(|found| found));
    assert_rate(&case, &filter, spec.error_rate);
}

#[test]
fn nearly_empty_filters_keep_their_rate_after_a_compaction() {
    for (spec, first, more) in [
        (scaling(100_000, 1e-4, 2), 0, 100_000),
        (scaling(100_000, 1e-4, 2), 0, 5_000),
        (scaling(100_000, 1e-3, 2), 3, 2_500),
        (scaling(100_000, 1e-3, 1), 3, 2_500),
        (scaling(100_000, 1e-3, 1), 0, 30_000),
        (scaling(100_000, 1e-3, 2), 100, 10_000),
        (scaling(1_000_000, 1e-3, 2), 10, 1_000),
        (scaling(120_000, 1e-2, 2), 0, 10_000),
        (scaling(120_000, 1e-2, 2), 10, 1_000),
        (scaling(120_000, 1e-2, 1), 0, 2_500),
        (scaling(50_000, 1e-2, 4), 0, 300),
        (scaling(3_000_000, 1e-5, 2), 1, 8_000),
    ] {
        // Links that are all equal stay as they are.
        if spec.growth != (Growth::Scaling { expansion: 1 }) {
            assert_compacted(classic(spec), spec, (first, more, 1));
        }
        assert_compacted(new(spec, 7), spec, (first, more, 1));
    }
}

#[test]
fn compactions_after_each_addition_keep_the_rate() {
    for (spec, more, steps) in [
        (scaling(10_000, 1e-3, 2), 60_000, 12),
        (scaling(100_000, 1e-3, 1), 20_000, 10),
        (scaling(20_000, 1e-2, 2), 40_000, 20),
        (scaling(20_000, 1e-2, 1), 10_000, 20),
    ] {
        if spec.growth != (Growth::Scaling { expansion: 1 }) {
            assert_compacted(classic(spec), spec, (10, more, steps));
        }
        assert_compacted(new(spec, 7), spec, (10, more, steps));
    }
}
