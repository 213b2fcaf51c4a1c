//! False-positive rates in RedisBloom's layout: the rate that follows from the fill, and a minimum
//! below which no layer falls.
//!
//! With independent bits, the rate would be `fill^k`. But the bits of an item are an arithmetic
//! progression: bit `i` is `(a + i b mod 2^64) mod m`. If `b`, `2 b` or `3 b` is near a multiple of
//! `m`, the progression returns to its first bit after as many steps, and an absent item passes
//! with one to three bits set instead of `k`. So the rate of a layer of `m` bits with `k` bits per
//! item is at least about `4 / (k m)`, whatever the target rate is. The same holds for RedisBloom,
//! whose bits are the same.

use bloomline_core::bloom::redisbloom::RedisBloomLayer;
use bloomline_core::bloom::redisbloom::geometry::{Options, RedisBloomShape};
use bloomline_core::hash::murmur2::pair_64;
use bloomline_core::simd::Scalar;
use bloomline_reference::random::{Estimate, Random};

/// A full layer.
fn filled(capacity: u64, error_rate: f64, seed: u64) -> RedisBloomLayer {
    let shape = RedisBloomShape::new(Options::of_new_filter(true), capacity, error_rate).unwrap();
    let mut layer = RedisBloomLayer::build(&shape.into()).unwrap();
    for item in 0..capacity {
        let spot = layer.locate(&pair_64(&(seed << 32 | item).to_le_bytes()));
        layer.set(Scalar, &spot);
    }
    layer
}

fn rate_of_fill(layer: &RedisBloomLayer) -> f64 {
    let ones: u32 = layer.words().as_slice().iter().map(|word| word.count_ones()).sum();
    (f64::from(ones) / layer.shape().bits as f64).powi(layer.shape().hashes as i32)
}

/// The smallest rate that such a layer can have, by the estimate in the documentation of this
/// module.
fn minimum(layer: &RedisBloomLayer) -> f64 {
    4.0 / (f64::from(layer.shape().hashes) * layer.shape().modulus() as f64)
}

/// The share of random items that a layer reports as present. The probability that one of them was
/// inserted is below 1e-10.
fn direct(layer: &RedisBloomLayer, lookups: u64, random: &mut Random) -> f64 {
    let is_found =
        |_: &u64| layer.contains(Scalar, &layer.locate(&pair_64(&random.next().to_le_bytes())));
    (0..lookups).filter(is_found).count() as f64 / lookups as f64
}

#[test]
fn short_cycles_add_the_predicted_minimum_rate() {
    const LAYERS: u64 = 20;
    let mut random = Random::new(9);
    for (capacity, error_rate, lookups) in [
        (100, 1e-6, 400_000),
        (100, 1e-9, 400_000),
        (100, 1e-15, 400_000),
        (1_000, 1e-9, 2_000_000),
    ] {
        let layers: Vec<_> = (0..LAYERS).map(|seed| filled(capacity, error_rate, seed)).collect();
        let rates: Vec<f64> =
            layers.iter().map(|layer| direct(layer, lookups, &mut random)).collect();
        let of_fill = layers.iter().map(rate_of_fill).sum::<f64>() / LAYERS as f64;
        let (found, minimum) = (Estimate::of(&rates), minimum(&layers[0]));
        let case = format!("{capacity} items at {error_rate:e}: {found}, minimum {minimum:e}");
        let margin = 4.0 * found.error;
        assert!(found.mean >= of_fill + 0.9 * minimum - margin, "below the minimum: {case}");
        assert!(found.mean <= of_fill + 1.25 * minimum + margin, "above the minimum: {case}");
    }
}
