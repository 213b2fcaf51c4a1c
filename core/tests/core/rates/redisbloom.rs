//! False-positive rates in RedisBloom's layout: what the bits promise, and the floor below which no
//! link comes.
//!
//! The rate of independent bits is `fill^k`. RedisBloom's are a progression, and for one step in
//! `m` the progression closes after a few bits (`core/short_cycle.rs`): the sum over these steps is
//! a floor of about `4 / (k m)` below which the rate of a link of `m` bits and `k` bits per item
//! does not fall, whatever was asked for. It is RedisBloom's as well, whose bits these are.
//!
//! Lookups are direct, with hashed absent items, where there are enough of them, and importance
//! sampling elsewhere. Comparisons allow four standard errors; `BLOOMLINE_RATE_EFFORT` multiplies
//! the samples.

use bloomline_core::batch::contains_spot;
use bloomline_core::layer::Layer;
use bloomline_core::redisbloom::ClassicLayer;
use bloomline_core::redisbloom::geometry::{Options, Shape};
use bloomline_core::redisbloom::hash::pair_64;
use bloomline_core::simd::Scalar;
use bloomline_reference::random::{Estimate, Random, effort};
use bloomline_reference::short_cycle::rate_with_short_cycles;

const SIGMAS: f64 = 4.0;

/// A full link.
fn filled(capacity: u64, error_rate: f64, seed: u64) -> ClassicLayer {
    let shape = Shape::new(Options::of_new_filter(true), capacity, error_rate).unwrap();
    let mut link = ClassicLayer::build(&shape).unwrap();
    for item in 0..capacity {
        let spot = link.locate(&pair_64(&(seed << 32 | item).to_le_bytes()));
        link.set(Scalar, &spot);
    }
    link
}

fn rate_of_fill(link: &ClassicLayer) -> f64 {
    let ones: u32 = link.words().as_slice().iter().map(|word| word.count_ones()).sum();
    (f64::from(ones) / link.shape().bits as f64).powi(link.shape().hashes as i32)
}

/// The smallest rate that such a link can have, by the estimate of the module's documentation.
fn floor(link: &ClassicLayer) -> f64 {
    4.0 / (f64::from(link.shape().hashes) * link.shape().modulus() as f64)
}

/// The mean over so many links of the rate of the bits, and of the rate that `measure` finds.
fn means(
    capacity: u64,
    error_rate: f64,
    links: u64,
    mut measure: impl FnMut(&ClassicLayer, &mut Random) -> f64,
) -> (ClassicLayer, f64, Estimate) {
    let (mut of_fill, mut measured, mut random) = (0.0, Vec::new(), Random::new(9));
    for seed in 0..links {
        let link = filled(capacity, error_rate, seed);
        of_fill += rate_of_fill(&link) / links as f64;
        measured.push(measure(&link, &mut random));
    }
    (filled(capacity, error_rate, 0), of_fill, Estimate::of(&measured))
}

/// The share of random items that a link reports as present; that one of them is in it has a
/// probability below 1e-10.
fn direct(link: &ClassicLayer, lookups: u64, random: &mut Random) -> f64 {
    let is_found =
        |_: &u64| contains_spot(link, Scalar, &link.locate(&pair_64(&random.next().to_le_bytes())));
    (0..lookups).filter(is_found).count() as f64 / lookups as f64
}

#[test]
fn importance_sampling_finds_the_rate_of_direct_lookups() {
    for (capacity, error_rate, lookups) in
        [(100, 1e-2, 50_000), (100, 1e-6, 200_000), (1_000, 1e-4, 200_000), (1_000, 1e-6, 400_000)]
    {
        let links = 20 * effort();
        let (_, _, expected) =
            means(capacity, error_rate, links, |link, random| direct(link, lookups, random));
        let (_, _, found) = means(capacity, error_rate, links, |link, random| {
            rate_with_short_cycles(link, 50_000, random).0
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
fn links_have_the_rate_of_their_bits_plus_a_floor() {
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
        let links = (200_000 / capacity).clamp(8, 40) * effort();
        let draws = 4_000_000 / links;
        let (link, of_fill, found) = means(capacity, error_rate, links, |link, random| {
            rate_with_short_cycles(link, draws, random).1
        });
        let floor = floor(&link);
        let case = format!(
            "{capacity} items at {error_rate:e}: short cycles {found}, {:.2} of 4 / (k m); with {of_fill:.3e} \
             by the bits {:.3} times the target rate",
            found.mean / floor,
            (found.mean + of_fill) / error_rate,
        );
        println!("{case}");
        let margin = SIGMAS * found.error;
        assert!(found.mean >= 0.9 * floor - margin, "below the floor: {case}");
        assert!(found.mean <= 1.25 * floor + margin, "above the floor: {case}");
    }
}
