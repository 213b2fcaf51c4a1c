//! The false-positive rate of one layer, computed from its geometry and its number of items.
//!
//! # The model
//!
//! An item has `L` blocks of a page. In each of them it sets `g` bits: one bit in each of `g`
//! consecutive sectors of the eight, whose start is uniform, at a uniform bit index from 0 to 63. A
//! lookup tests bits of the same shape. Consider one block of the lookup, and let `S` be a subset
//! of the sectors that the lookup tests there. An item that has this block sets at least one of the
//! tested bits in `S` with probability
//!
//! ```text
//! h(S) = 1 - (1/8) * sum over starts s of (63/64)^|S ∩ sectors(s)|
//! ```
//!
//! where `sectors(s)` are the `g` consecutive sectors from `s` on. An item has a given block of the
//! layer's `B` blocks with probability `p = L / B`. So after `n` items, no tested bit in `S` is set
//! with probability `(1 - p h(S))^n`. By inclusion and exclusion over the subsets `S`, the
//! probability that every tested bit of one block is set is exactly
//!
//! ```text
//! F0 = sum over S of (-1)^|S| (1 - p h(S))^n
//! ```
//!
//! Subsets with equal `h` are merged at compile time (`TERMS`): 2 to 55 terms instead of 2 to 256.
//!
//! A [small layer](super::sectors) is one block of `s` sectors instead of eight. Then `h(S) = 1 -
//! (1/s) * sum over starts ...`, and `F0` is the rate. A start that is `g` or more sectors away
//! shares none with the lookup, so a ring of `2 g - 1` sectors has all intersections.
//!
//! The `L` blocks of a lookup are nearly independent, which would give the rate `F0^L`. But their
//! loads are correlated: an item that has one block of a page is likelier to have another block of
//! it. Let `c` be the covariance of the loads of two blocks of a lookup, and `Ft = sum over S of
//! (-1)^|S| (1 - p h)^n h^t`. The mean of the product is expanded to second order in `c`. Without
//! this the rate for four blocks would be up to a third too low.
//!
//! Finally, the hash of an item has 64 bits, so another item has the same hash with probability
//! 2^-64.
//!
//! This file uses only IEEE `+ - * /` and the `exp` and `log1p` of `frozen.rs`, so that
//! a primary and its replica compute the same layers on every processor.

use super::geometry::Geometry;
use crate::hash::xxh3::COLLISION;
use crate::math::frozen;
use crate::simd::BLOCK_SECTORS;

/// A bound of the cancellation error of the alternating sum over [`TERMS`]. It is added, so that
/// the computed rate is never too low because of rounding.
///
/// The sum has up to 256 terms of size 1, each with an error below 2^-51.
const CANCELLATION: f64 = 1.0 / (1u64 << 43) as f64;

/// The subsets of the sectors of a lookup with one value of `h(S)`.
#[derive(Clone, Copy)]
struct Term {
    /// The number of subsets: even sizes less odd ones.
    sign_count: f64,
    /// How many starts give an item 0, 1, ... sectors of the subset: a nibble each.
    starts: u64,
}

/// Bits per number of starts in [`Term::starts`].
const STARTS_BITS: u32 = 4;

/// Capacity for the terms of any number of consecutive sectors: 55 for eight.
const MAX_TERMS: usize = 55;

/// The most consecutive sectors of an item.
const MAX_WIDTH: usize = BLOCK_SECTORS;

/// The pairs of 1 to 8 consecutive sectors and a ring, which has from that many sectors to twice as
/// many less one: see [`ring_index`].
const RINGS: usize = MAX_WIDTH * (MAX_WIDTH + 1) / 2;

/// The place of `width` consecutive sectors on a ring of `ring` sectors among all [`RINGS`].
const fn ring_index(width: usize, ring: usize) -> usize {
    width * (width - 1) / 2 + (ring - width)
}

/// The merged terms of all rings, one after the other.
static TERMS: [Term; ENDS[RINGS]] = all_terms();

/// Where the terms of a ring begin; those of the next one begin where they end.
const ENDS: [usize; RINGS + 1] = ends();

/// `(63/64)^i`: the probability that an item sets none of `i` given bits in `i` different sectors.
const MISSED: [f64; MAX_WIDTH + 1] = missed();

#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn missed() -> [f64; MAX_WIDTH + 1] {
    let mut powers = [1.0; MAX_WIDTH + 1];
    let mut i = 1;
    while i < powers.len() {
        powers[i] = powers[i - 1] * (63.0 / 64.0);
        i += 1;
    }
    powers
}

/// For a set of sectors, given as a bit mask, and items with `width` consecutive sectors on a ring:
/// how many starts share a given number of sectors with it.
const fn starts_of(set: u32, width: usize, ring: usize) -> u64 {
    let mut starts = 0;
    let mut start = 0;
    while start < ring {
        let sectors = ((1u32 << width) - 1) << start;
        let sectors = sectors | (sectors >> ring);
        let shared = (set & sectors & ((1 << ring) - 1)).count_ones();
        starts += 1 << (shared * STARTS_BITS);
        start += 1;
    }
    starts
}

/// The merged terms of `width` consecutive sectors on a ring of `ring`, and how many there are.
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn terms_of(width: usize, ring: usize) -> ([Term; MAX_TERMS], usize) {
    let mut terms = [Term { sign_count: 0.0, starts: 0 }; MAX_TERMS];
    let mut len = 0;
    let mut set = 0u32;
    while set < 1 << width {
        let starts = starts_of(set, width, ring);
        let sign = if set.count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
        let mut i = 0;
        while i < len && terms[i].starts != starts {
            i += 1;
        }
        terms[i].starts = starts;
        terms[i].sign_count += sign;
        if i == len {
            len += 1;
        }
        set += 1;
    }
    (terms, len)
}

#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn ends() -> [usize; RINGS + 1] {
    let mut ends = [0; RINGS + 1];
    let mut width = 1;
    while width <= MAX_WIDTH {
        let mut ring = width;
        while ring < 2 * width {
            let i = ring_index(width, ring);
            ends[i + 1] = ends[i] + terms_of(width, ring).1;
            ring += 1;
        }
        width += 1;
    }
    ends
}

#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn all_terms() -> [Term; ENDS[RINGS]] {
    let mut all = [Term { sign_count: 0.0, starts: 0 }; ENDS[RINGS]];
    let mut width = 1;
    while width <= MAX_WIDTH {
        let mut ring = width;
        while ring < 2 * width {
            let (terms, len) = terms_of(width, ring);
            let mut i = 0;
            while i < len {
                all[ENDS[ring_index(width, ring)] + i] = terms[i];
                i += 1;
            }
            ring += 1;
        }
        width += 1;
    }
    all
}

/// The terms of `width` consecutive sectors on a ring of `ring`.
fn terms(width: usize, ring: usize) -> &'static [Term] {
    match *ENDS.get(ring_index(width, ring)..).unwrap_or_default() {
        [start, end, ..] => TERMS.get(start..end).unwrap_or_default(),
        _ => &[],
    }
}

impl Term {
    /// `h(S)` in a block of `sectors` sectors, whose terms are those of a ring of `ring`.
    ///
    /// The numbers of starts are added up from the smallest intersection on, so that equal ones
    /// give equal sums. On the sectors that the ring leaves out, a start shares none.
    fn hit_probability(&self, sectors: usize, ring: usize) -> f64 {
        let mut missed_by = 0.0;
        for (missed, shared) in MISSED.iter().zip(0..) {
            let starts = (self.starts >> (shared * STARTS_BITS)) as usize % (1 << STARTS_BITS);
            let outside = if shared == 0 { sectors - ring } else { 0 };
            missed_by += (starts + outside) as f64 * missed;
        }
        1.0 - missed_by / sectors as f64
    }
}

/// The moments `F0`, `F1`, `F2` of one block: the probability that all tested bits are set, and its
/// first two derivatives in the load.
struct Moments([f64; 3]);

impl Moments {
    /// The moments for items with `bits` bits per block, at least one and at most as many as the
    /// block has `sectors`. `log_untouched(h)` is the logarithm of the probability that no item
    /// sets a tested bit in a set of sectors with `h(S) = h`.
    fn new(bits: u8, sectors: u8, log_untouched: impl Fn(f64) -> f64) -> Self {
        let mut sums = [0.0; 3];
        let (width, sectors) = (usize::from(bits), usize::from(sectors));
        // Further apart than this, an item shares no sector with a lookup.
        let ring = sectors.min(2 * width - 1);
        for term in terms(width, ring) {
            let h = term.hit_probability(sectors, ring);
            let weight = term.sign_count * frozen::exp(log_untouched(h));
            sums[0] += weight;
            sums[1] += weight * h;
            sums[2] += weight * h * h;
        }
        sums[0] = sums[0].max(0.0) + CANCELLATION;
        Self(sums)
    }

    /// The mean of the product over `blocks` blocks, 1 to 4, whose loads have the pairwise
    /// covariance `covariance`.
    fn product(&self, blocks: u8, covariance: f64) -> f64 {
        let Self([f0, f1, f2]) = *self;
        let c = covariance;
        let product = match blocks {
            1 => f0,
            2 => f0 * f0 + c * f1 * f1 + c * c / 2.0 * f2 * f2,
            // Pairs of blocks, and pairs of pairs: the same pair, two pairs that share a block, and
            // disjoint pairs.
            3 => {
                let (one, same, sharing) = (f1 * f1 * f0, f2 * f2 * f0, f1 * f1 * f2);
                f0 * f0 * f0 + 3.0 * c * one + c * c / 2.0 * (3.0 * same + 6.0 * sharing)
            }
            _ => {
                let (one, same) = (f1 * f1 * f0 * f0, f2 * f2 * f0 * f0);
                let (sharing, disjoint) = (f1 * f1 * f2 * f0, f1 * f1 * f1 * f1);
                f0 * f0 * f0 * f0
                    + 6.0 * c * one
                    + c * c / 2.0 * (6.0 * same + 24.0 * sharing + 6.0 * disjoint)
            }
        };
        product.clamp(0.0, 1.0)
    }
}

/// The number of strides and first blocks for which an item has two given blocks of a lookup,
/// averaged over the pairs of blocks and the strides of the lookup.
///
/// The blocks of a lookup are `first + j * d` in a page of `page` blocks, with `1 <= d <= strides`.
fn shared_placements(page: u64, blocks: u64, strides: u64) -> f64 {
    let mut matches = 0u64;
    for lookup_stride in 1..=strides {
        for gap in 1..blocks {
            let distance = lookup_stride * gap;
            for item_gap in 1..blocks {
                // The two blocks are `item_gap * d` apart for the item, in either direction around
                // the page.
                for apart in [distance, page - distance] {
                    let fits = apart.is_multiple_of(item_gap) && apart / item_gap <= strides;
                    matches += u64::from(fits) * (blocks - gap) * (blocks - item_gap);
                }
            }
        }
    }
    let pairs = blocks * (blocks - 1) / 2;
    matches as f64 / (strides * pairs).max(1) as f64
}

/// The false-positive rate of a layer with this geometry and `len` inserted items, in [0, 1].
///
/// For one to three blocks per item, measured rates agree with it. For one block it is up to
/// 1.2e-13 too high, because of the margin for cancellation. For four blocks per item it is too
/// low. The largest measured differences (standard error of the last row 0.5 %):
///
/// | blocks of the layer | computed rate 1e-6 or more | 1e-9 or more | 1e-12 or more | less |
/// |---|---|---|---|---|
/// | 4 | 0.2 % | 0.2 % | 0.2 % | 0.2 % |
/// | 5 to 64 | 1 % | 2 % | 7 % | 20 % |
/// | 65 or more | 0.3 % | 0.7 % | 2 % | 3 % |
///
/// A layer of up to 64 blocks has more slack than that, because its number of blocks is rounded up:
/// below 1e-6, all measured rates stay below 0.9 of the target rate. A larger layer has no slack
/// and may exceed its target rate by the differences of the table: 10,000 items at 1e-12 have
/// 1.019e-12 (standard error 0.004e-12). `core/tests/bloom/rates/computed.rs` compares it
/// with lookups and with the bits of layers. Cost: up to some microseconds.
pub fn fp_rate(geometry: &Geometry, len: u64) -> f64 {
    match len {
        0 => 0.0,
        len => rate_of_inserted(geometry.hashes(), len as f64, |n| rate_after(geometry, n)),
    }
}

/// The rate after `items` inserted items, from the rate after a number of random items.
///
/// An item that seems to be present already is not inserted. So each inserted item sets at least
/// one new bit, and inserted items fill a filter faster than random ones. If `n` random items give
/// a filter with `k` bits per item, two or more, the rate `r`, then `n` inserted items have the
/// effect of about `n / (1 - r (1 + 1.1 r) / (0.65 k + 1.3))` random ones. This formula is fitted
/// to the integral of the rate over all rows of the table: the resulting rate is between 0.7 % too
/// high and 0.03 % too low.
pub(super) fn rate_of_inserted(hashes: u32, items: f64, rate_after: impl Fn(f64) -> f64) -> f64 {
    let rate = rate_after(items);
    if rate < NEGLIGIBLE { rate } else { rate_after(items / inserted_share(hashes, rate)) }
}

/// Below this rate, the difference between inserted and random items is less than a thousandth of
/// the rate.
const NEGLIGIBLE: f64 = 1e-4;

/// The number of inserted items divided by the number of random items with the same effect, at a
/// rate of [`NEGLIGIBLE`] or more.
pub(super) fn inserted_share(hashes: u32, rate: f64) -> f64 {
    1.0 - rate * (1.0 + 1.1 * rate) / (0.65 * f64::from(hashes) + 1.3)
}

/// The rate after the bits of `n` random items were set, whether they seemed to be present or not.
fn rate_after(geometry: &Geometry, n: f64) -> f64 {
    rate_on_pages(geometry, geometry.pages() as f64, n)
}

/// The same for a layer of this geometry with another number of pages, which need not be a whole
/// one: that of the hashed pages divided by those that share one.
pub(super) fn rate_on_pages(geometry: &Geometry, pages: f64, n: f64) -> f64 {
    let layer_blocks = pages * geometry.blocks_per_page() as f64;
    let has_block = f64::from(geometry.blocks_per_item()) / layer_blocks;
    let moments = Moments::new(geometry.bits_per_block(), geometry.sectors(), |h| {
        n * frozen::log1p(-has_block * h)
    });
    let covariance = match geometry.blocks_per_item() {
        1 => 0.0,
        l => {
            let strides = geometry.strides();
            let placements = shared_placements(geometry.blocks_per_page(), u64::from(l), strides);
            let both = placements / (layer_blocks * strides as f64);
            n * (both - has_block * has_block)
        }
    };
    (moments.product(geometry.blocks_per_item(), covariance) + n * COLLISION).min(1.0)
}

/// The false-positive rate of a layer of infinitely many pages. It has `page` blocks per page,
/// `blocks` blocks per item, `bits` bits per block, and `load` items per block on average.
///
/// The shapes in the table of [`super::geometry`] are chosen by this rate.
pub fn fp_rate_at_load(page: u64, blocks: u8, bits: u8, load: f64) -> f64 {
    let covariance = match blocks {
        1 => 0.0,
        l => {
            let strides = (page - 1) / (u64::from(l) - 1);
            load * shared_placements(page, u64::from(l), strides) / (f64::from(l) * strides as f64)
        }
    };
    Moments::new(bits, BLOCK_SECTORS as u8, |h| -load * h).product(blocks, covariance)
}

/// Like [`fp_rate_at_load`], but with `load` inserted items per block instead of random ones.
///
/// The bits per item in the table are computed from this rate.
pub fn fp_rate_at_counted_load(page: u64, blocks: u8, bits: u8, load: f64) -> f64 {
    let hashes = u32::from(blocks) * u32::from(bits);
    rate_of_inserted(hashes, load, |load| fp_rate_at_load(page, blocks, bits, load))
}
