//! The false-positive rate of one concrete layer in RedisBloom's layout, by importance sampling of
//! short cycles.
//!
//! Bit `i` of an item is `(a + i b mod 2^64) mod m`. Let `d` be `q b mod 2^64` as a signed number.
//! If `d` is a multiple of `m`, bit `i + q` is bit `i` again, unless the sum wraps around 2^64 in
//! between, with probability `|d| / 2^64`. So for one `b` in `m` and each small `q`, most of the
//! `k` bits coincide, and a lookup passes with a probability near `2^-q`. That is rare, but not as
//! rare as a small target rate.
//!
//! So `b` is drawn from a mixture: with probability one half uniformly; else from cycle `q`, 1 to
//! 8, with probability `p(q)`, proportional to `2^-q`, uniformly among the `b` for which `d` is a
//! multiple of `m`. With `2^v` the largest power of two that divides `q` these are a share `2^v /
//! m` of all (`m` being a multiple of 64), so that a draw has the weight
//!
//! ```text
//! w(b) = 1 / (1/2 + 1/2 * sum over the cycles q that b belongs to of p(q) m / 2^v)
//! ```
//!
//! `a` is uniform, [`contains_spot`] decides whether a draw passes. The mean of `w` over all draws,
//! 0 for those that do not pass, is an unbiased estimate of the rate, whatever the layer holds. No
//! weight is above 2. The draws whose `b` belongs to a cycle estimate their part of the rate to 1 %
//! in any layer. The other draws are like direct lookups, and resolve no smaller rate than these.

use bloomline_core::batch::contains_spot;
use bloomline_core::layer::Probe;
use bloomline_core::redisbloom::ClassicLayer;
use bloomline_core::redisbloom::hash::Pair;
use bloomline_core::simd::Scalar;

use crate::random::Random;

/// The longest cycle that is drawn from.
const LONGEST: u32 = 8;

/// The probability with which cycle `q` is drawn.
fn probability(q: u32) -> f64 {
    0.5f64.powi(q as i32) / (1.0 - 0.5f64.powi(LONGEST as i32))
}

/// A random `b` of cycle `q`: `(p 2^64 + t m) / q` if that is a whole number.
fn draw_of_cycle(q: u32, m: u64, random: &mut Random) -> u64 {
    loop {
        let turns = i128::from(random.below(q.into())) << 64;
        let multiples = i64::MAX as u64 / m;
        let t = i128::from(random.below(2 * multiples + 1)) - i128::from(multiples);
        let sum = turns + t * i128::from(m);
        if sum % i128::from(q) == 0 {
            return (sum / i128::from(q)) as u64;
        }
    }
}

/// The probability that `b` is drawn from the cycles, divided by its probability in the uniform
/// distribution: 0 if it belongs to no cycle.
fn likelihood(b: u64, m: u64) -> f64 {
    let is_member = |q: u32| (b.wrapping_mul(q.into()) as i64).unsigned_abs().is_multiple_of(m);
    let of_cycle = |q: u32| probability(q) * m as f64 / f64::from(1 << q.trailing_zeros());
    (1..=LONGEST).filter(|&q| is_member(q)).map(of_cycle).sum()
}

/// The rate of a layer, and the part of it that is due to short cycles, from `draws` draws.
pub fn rate_with_short_cycles(layer: &ClassicLayer, draws: u64, random: &mut Random) -> (f64, f64) {
    let m = layer.shape().modulus();
    let (mut all, mut of_cycles) = (0.0, 0.0);
    for _ in 0..draws {
        let mut b = random.next();
        if random.next() & 1 == 1 {
            let mut at = random.unit();
            let drawn = (1..LONGEST).find(|&q| {
                at -= probability(q);
                at < 0.0
            });
            b = draw_of_cycle(drawn.unwrap_or(LONGEST), m, random);
        }
        if contains_spot(layer, Scalar, &layer.locate(&Pair { a: random.next(), b })) {
            let likelihood = likelihood(b, m);
            let weight = 2.0 / (1.0 + likelihood);
            all += weight;
            of_cycles += if likelihood > 0.0 { weight } else { 0.0 };
        }
    }
    (all / draws as f64, of_cycles / draws as f64)
}
