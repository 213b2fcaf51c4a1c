//! False-positive rates in RedisBloom's layout: the rate that follows from the fill, and a minimum
//! below which no layer falls.
//!
//! With independent bits, the rate would be `fill^k`. But the bits of an item are an arithmetic
//! progression, and for one difference in `m` it returns to its first bit after a few steps
//! ([`short_cycle`](bloomline_reference::short_cycle)). So the rate of a layer of `m` bits with `k`
//! bits per item is at least about `4 / (k m)`, whatever the target rate is. The same holds for
//! RedisBloom, whose bits are the same.
//!
//! Rates that direct lookups of hashed absent items can resolve are measured by them, smaller rates
//! by importance sampling. Comparisons allow four standard errors; `BLOOMLINE_RATE_EFFORT`
//! multiplies the samples.

use bloomline_core::batch::contains_spot;
use bloomline_core::layer::{Layer, Probe};
use bloomline_core::redisbloom::ClassicLayer;
use bloomline_core::redisbloom::geometry::{Options, Shape};
use bloomline_core::redisbloom::hash::pair_64;
use bloomline_core::simd::Scalar;
use bloomline_reference::random::{Estimate, Random, effort};
use bloomline_reference::short_cycle::rate_with_short_cycles;

const SIGMAS: f64 = 4.0;

/// A full layer.
fn filled(capacity: u64, error_rate: f64, seed: u64) -> ClassicLayer {
    let shape = Shape::new(Options::of_new_filter(true), capacity, error_rate).unwrap();
    let mut layer = ClassicLayer::build(&shape).unwrap();
    for item in 0..capacity {
        let spot = layer.locate(&pair_64(&(seed << 32 | item).to_le_bytes()));
        layer.set(Scalar, &spot);
    }
    layer
}

fn rate_of_fill(layer: &ClassicLayer) -> f64 {
    let ones: u32 = layer.words().as_slice().iter().map(|word| word.count_ones()).sum();
    (f64::from(ones) / layer.shape().bits as f64).powi(layer.shape().hashes as i32)
}

/// The smallest rate that such a layer can have, by the estimate in the documentation of this
/// module.
fn minimum(layer: &ClassicLayer) -> f64 {
    4.0 / (f64::from(layer.shape().hashes) * layer.shape().modulus() as f64)
}

/// A full layer, and the means over `layers` full layers of `fill^k` and of the rate that `measure`
/// finds.
fn means(
    capacity: u64,
    error_rate: f64,
    layers: u64,
    mut measure: impl FnMut(&ClassicLayer, &mut Random) -> f64,
) -> (ClassicLayer, f64, Estimate) {
    let (mut of_fill, mut measured, mut random) = (0.0, Vec::new(), Random::new(9));
    for seed in 0..layers {
        let layer = filled(capacity, error_rate, seed);
        of_fill += rate_of_fill(&layer) / layers as f64;
        measured.push(measure(&layer, &mut random));
    }
    (filled(capacity, error_rate, 0), of_fill, Estimate::of(&measured))
}

/// The share of random items that a layer reports as present. The probability that one of them was
/// inserted is below 1e-10.
fn direct(layer: &ClassicLayer, lookups: u64, random: &mut Random) -> f64 {
    let is_found = |_: &u64| {
        contains_spot(layer, Scalar, &layer.locate(&pair_64(&random.next().to_le_bytes())))
    };
    (0..lookups).filter(is_found).count() as f64 / lookups as f64
}

#[test]
fn importance_sampling_agrees_with_direct_lookups() {
    for (capacity, error_rate, lookups) in
        [(100, 1e-2, 50_000), (100, 1e-6, 200_000), (1_000, 1e-4, 200_000), (1_000, 1e-6, 400_000)]
    {
        let layers = 20 * effort();
        let (_, _, expected) =
            means(capacity, error_rate, layers, |layer, random| direct(layer, lookups, random));
        let (_, _, found) = means(capacity, error_rate, layers, |layer, random| {
            rate_with_short_cycles(layer, 50_000, random).0
        });
        let z = found.z_score(expected);
        let case = format!(
            "{capacity} items at {error_rate:e}: direct {expected}, sampled {found}, z {z:.2}"
        );
        println!("{case}");
        assert!(z.abs() <= SIGMAS, "{case}");
    }
}

#[test]
fn short_cycles_add_the_predicted_minimum_rate() {
    for (capacity, error_rate) in [
        (100, 1e-6),
        (100, 1e-9),
        (100, 1e-15),
        (1_000, 1e-6),
        (1_000, 1e-9),
        (1_000, 1e-12),
        (10_000, 1e-6),
        (10_000, 1e-9),
        (10_000, 1e-15),
        (100_000, 1e-9),
        (100_000, 1e-12),
        (1_000_000, 1e-9),
    ] {
        let layers = (200_000 / capacity).clamp(8, 40) * effort();
        let draws = 4_000_000 / layers;
        let (layer, of_fill, found) = means(capacity, error_rate, layers, |layer, random| {
            rate_with_short_cycles(layer, draws, random).1
        });
        let minimum = minimum(&layer);
        let case = format!(
            "{capacity} items at {error_rate:e}: short cycles {found}, {:.2} of 4 / (k m); \
             with fill^k = {of_fill:.3e} {:.3} times the target rate",
            found.mean / minimum,
            (found.mean + of_fill) / error_rate,
        );
        println!("{case}");
        let margin = SIGMAS * found.error;
        assert!(found.mean >= 0.9 * minimum - margin, "below the minimum: {case}");
        assert!(found.mean <= 1.25 * minimum + margin, "above the minimum: {case}");
    }
}
