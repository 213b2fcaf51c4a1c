//! The false-positive rate of one concrete layer under the real derived patterns, by importance
//! sampling.
//!
//! A lookup passes if it passes in its first block and in its further ones. The pattern of the
//! first block is uniform, so lookups that pass there can be constructed, and the probability of
//! that, `p1`, is known exactly from the bits:
//!
//! ```text
//! rate = p1 * P(the further blocks pass | the first one passes)
//! ```
//!
//! A draw given this condition has a block `B` and a start sector `s` with probability proportional
//! to the product of the shares of set bits in the tested sectors of `B`, then in each of them a
//! uniform one of the set bits. All other bits of the pattern, the stride among them, are uniform
//! and independent of whether the first block passes. Then [`contains_spot`] decides, with the
//! patterns of the further blocks derived from the first as they always are. Blocks and starts are
//! drawn by systematic sampling: each gets its expected number of draws, rounded up or down, which
//! is unbiased and reduces the variance.
//!
//! The estimate is `p1 * hits / draws`: binomial, unbiased, with the standard error `p1 *
//! sqrt(hits) / draws`. It needs `1 / p1` times fewer lookups than a direct measurement: 20 times
//! fewer at a rate of 1e-5, 600 times at 1e-11.
//!
//! One assumption is not met by real items: block hash and pattern are independent here, but the
//! pattern of an item is a function of its block hash.

use bloomline_core::batch::contains_spot;
use bloomline_core::bloomline::BlockedLayer;
use bloomline_core::bloomline::hash::ItemHash;
use bloomline_core::layer::{Layer, Probe};
use bloomline_core::simd::Scalar;

use crate::random::{Estimate, Interval, Random};

/// The false-positive rate of a layer, from about `draws` draws.
pub fn rate_given_first_block(layer: &BlockedLayer, draws: u64, random: &mut Random) -> Estimate {
    let blocks = layer.words().as_slice().as_chunks().0;
    let tested = usize::from(layer.geometry().bits_per_block());
    let starts =
        || blocks.iter().enumerate().flat_map(|block| (0..8).map(move |start| (block, start)));
    let passes = |block: &[u64; 8], start: usize| {
        let share = |sector: usize| f64::from(block[sector % 8].count_ones()) / 64.0;
        (start..start + tested).map(share).product::<f64>()
    };
    let sum: f64 = starts().map(|((_, block), start)| passes(block, start)).sum();
    let first_passes = sum / (8 * blocks.len()) as f64;

    let (mut hits, mut drawn, mut due) = (0u64, 0u64, random.unit());
    for ((index, block), start) in starts() {
        due += passes(block, start) / sum * draws as f64;
        let set_bits: [Vec<u64>; 8] = std::array::from_fn(|sector| {
            (0..64).filter(|bit| block[sector] >> bit & 1 == 1).collect()
        });
        let block_hashes = Interval::scaled_to(index as u64, blocks.len() as u64);
        for _ in 0..due as u64 {
            let mut pattern = random.next();
            let mut replace = |low: usize, bits: u32, value: u64| {
                pattern = pattern & !(((1 << bits) - 1) << low) | value << low;
            };
            replace(48, 3, start as u64);
            for i in 0..tested {
                let of_sector = &set_bits[(start + i) % 8];
                replace(6 * i, 6, of_sector[random.below(of_sector.len() as u64) as usize]);
            }
            let hash = ItemHash { place: random.within(block_hashes), pattern };
            hits += u64::from(contains_spot(layer, Scalar, &layer.locate(&hash)));
            drawn += 1;
        }
        due = due.fract();
    }
    let share = first_passes / drawn as f64;
    Estimate { mean: share * hits as f64, error: share * (hits as f64).sqrt() }
}
