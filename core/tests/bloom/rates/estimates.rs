//! Estimates compared with the number of items that were added.

use bloomline_core::bloom::compact::CompactShape;
use bloomline_core::bloom::scalable::ScalableFilter;
use bloomline_core::host::{AnyFilter, Spec};
use bloomline_reference::calls::Calls;
use bloomline_reference::random::Random;

use crate::filters::{classic, fixed, insert, new, scaling};

/// Differences of estimates from the truth, in standard errors.
#[derive(Default)]
struct Differences(Vec<f64>);

impl Differences {
    fn add(&mut self, filter: &AnyFilter, truth: u64) {
        let estimate = filter.estimate_at(0);
        let difference = estimate.items - truth as f64;
        self.0.push(difference / estimate.standard_error());
    }

    /// The mean is near 0, and the variance near 1.
    fn check(&self, case: &str) {
        let n = self.0.len() as f64;
        let mean = self.0.iter().sum::<f64>() / n;
        let variance = self.0.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / (n - 1.0);
        println!("{case}: mean {mean:.3}, variance {variance:.3}, of {n}");
        // Four standard errors of the mean, and of the variance of normal numbers.
        assert!(mean.abs() <= 4.0 / n.sqrt() + 0.2, "{case}: mean {mean}");
        let margin = 4.0 * (2.0 / n).sqrt();
        assert!((0.6 - margin..1.5 + margin).contains(&variance), "{case}: variance {variance}");
    }
}

/// Distinct items that differ from seed to seed.
fn items(seed: u64, count: u64) -> impl Iterator<Item = u64> {
    let mut random = Random::new(seed ^ 0x5eed);
    let first = random.next() >> 8;
    (0..count).map(move |index| (first + index) ^ seed << 56)
}

/// Adds items to `seeds` filters, and checks the estimates of all.
fn assert_estimates<S: CompactShape>(
    case: &str,
    make: impl Fn(u64) -> ScalableFilter<S>,
    count: u64,
    seeds: u64,
    is_compacted: bool,
) where
    AnyFilter: From<ScalableFilter<S>>,
    ScalableFilter<S>: Calls,
{
    let mut differences = Differences::default();
    let mut layers = 0;
    for seed in 0..seeds {
        let mut filter = make(seed);
        insert(&mut filter, items(seed, count));
        if is_compacted {
            filter.compact();
        }
        layers = filter.layer_count();
        differences.add(&filter.into(), count);
    }
    differences.check(&format!("{case}, {count} items in {layers} layers"));
}

/// Bloomline's layout and RedisBloom's, folded and not.
fn assert_all(spec: Spec, count: u64, seeds: u64) {
    for is_compacted in [false, true] {
        let case = format!("{spec:?} {is_compacted}");
        assert_estimates(&case, |seed| new(spec, seed), count, seeds, is_compacted);
        assert_estimates(&case, |_| classic(spec), count, seeds, is_compacted);
    }
}

#[test]
fn estimates_are_as_precise_as_they_say() {
    for error_rate in [0.1, 0.01, 1e-4, 1e-7] {
        for (capacity, loads) in [(100, [30, 100]), (1_000, [10, 90]), (20_000, [3, 50])] {
            for load in loads {
                assert_all(fixed(capacity, error_rate), capacity * load / 100, 150);
            }
        }
    }
}

#[test]
fn estimates_of_many_layers_are_as_precise_as_they_say() {
    for (spec, count) in [
        (scaling(100, 0.01, 2), 700),
        (scaling(100, 0.02, 2), 3_000),
        (scaling(200, 0.01, 1), 2_500),
        (scaling(1_000, 0.01, 4), 30_000),
        (scaling(100, 0.25, 2), 5_000),
    ] {
        assert_all(spec, count, 100);
    }
}

#[test]
fn estimates_of_sampled_layers_are_as_precise_as_they_say() {
    // Above 16 MiB, of which 16 MiB are counted.
    let spec = fixed(14_000_000, 0.001);
    assert!(new(spec, 0).size_bytes() > 24 << 20);
    for (count, is_compacted) in [(400_000, false), (3_000_000, false), (6_500_000, true)] {
        let make = |seed| new(spec, seed);
        assert_estimates("sampled", make, count, 6, is_compacted);
    }
    assert_estimates("sampled links", |_| classic(spec), 500_000, 6, false);
}

#[test]
fn empty_and_full_layers_have_an_estimate() {
    for spec in [fixed(1_000, 0.01), scaling(10, 0.1, 2)] {
        for mut filter in [AnyFilter::from(new(spec, 1)), classic(spec).into()] {
            let estimate = filter.estimate_at(0);
            assert_eq!((estimate.items, estimate.variance), (0.0, 0.0));
            let len = filter.chunk(0).unwrap().len();
            filter.write_chunk(0, &vec![0xff; len]).unwrap();
            assert!(filter.estimate_at(0).items > 1e15);
            assert!(filter.estimate_at(0).standard_error().is_finite());
        }
    }
}
