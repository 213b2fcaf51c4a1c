//! The false-positive rate of one layer, computed from its geometry and load.
//!
//! # The model
//!
//! An item covers `L` lines of a page; in each it sets `g` bits, one in each of `g` neighbouring
//! words of the eight (the *window*, its start uniform), at a uniform place of 64. A lookup asks
//! for the same shape. Let `S` be a set of words of the lookup's window in one line. An item that
//! covers this line hits at least one of the asked bits in `S` with probability
//!
//! ```text
//! h(S) = 1 - (1/8) * sum over starts s of (63/64)^|S ∩ window(s)|
//! ```
//!
//! and an item covers a given line with probability `p = L / lines`, so after `n` items none of the
//! bits in `S` is set with probability `(1 - p h(S))^n`. Inclusion and exclusion over the subsets
//! of the window gives, exactly, the probability that every asked bit of one line is set:
//!
//! ```text
//! F0 = sum over S of (-1)^|S| (1 - p h(S))^n
//! ```
//!
//! Subsets with equal `h` are merged at compile time (`TERMS`): 2 to 13 terms instead of 2 to 256.
//! The `L` lines of a lookup are nearly independent: `F0^L`. Their loads are correlated, since an
//! item that covers one line of a page is likelier to cover another one; with `c` the covariance of
//! the loads of two lines of a lookup and `Ft = sum over S of (-1)^|S| (1 - p h)^n h^t`, the mean
//! of the product is expanded to second order in `c`. Without it the rate of four lines would come
//! out up to a third too low. Last, the hash of an item has 64 bits: another item has the same one
//! with probability 2^-64.
//!
//! Everything here is IEEE `+ - * /` and the software `exp` and `log1p` of a pinned crate, so that
//! a primary and its replica compute the same layers on every processor.

use super::geometry::{COLLISION, Geometry};
use crate::simd::BLOCK_SECTORS;

/// What the alternating sum of [`TERMS`] may lose by cancellation, added so that the result errs
/// upwards.
///
/// Up to 256 terms of size 1, each off by less than 2^-51.
const CANCELLATION: f64 = 1.0 / (1u64 << 43) as f64;

/// One value of `h(S)` with the signed number of subsets that have it.
#[derive(Clone, Copy)]
struct Term {
    sign_count: f64,
    h: f64,
}

/// Room for the terms of any window width.
const MAX_TERMS: usize = 16;

/// The merged terms of one window width.
#[derive(Clone, Copy)]
struct Terms {
    terms: [Term; MAX_TERMS],
    len: usize,
}

/// Terms of the windows of 1 to 8 words, at index `words - 1`.
static TERMS: [Terms; BLOCK_SECTORS] = all_terms();

/// `(63/64)^i`: probability that none of `i` given bits, each in a word of its own, is hit.
const fn missed(i: u32) -> f64 {
    let mut product = 1.0;
    let mut n = 0;
    while n < i {
        product *= 63.0 / 64.0;
        n += 1;
    }
    product
}

/// `h(S)` for a set of words, as a bit mask, and items whose window is `width` words.
#[expect(
    clippy::indexing_slicing,
    reason = "evaluated at compile time; an intersection has at most 8 words"
)]
const fn hit_probability(set: u32, width: u32) -> f64 {
    // Counted first and added in the order of the counts, so that equal multisets give equal sums.
    let mut count_of = [0u32; BLOCK_SECTORS + 1];
    let mut start = 0;
    while start < BLOCK_SECTORS as u32 {
        let window = ((1u32 << width) - 1) << start;
        let window = (window | (window >> BLOCK_SECTORS)) & 0xff;
        count_of[(set & window).count_ones() as usize] += 1;
        start += 1;
    }
    let mut missed_by = 0.0;
    let mut i = 0;
    while i <= BLOCK_SECTORS {
        missed_by += count_of[i] as f64 * missed(i as u32);
        i += 1;
    }
    1.0 - missed_by / BLOCK_SECTORS as f64
}

#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn terms_of(width: u32) -> Terms {
    let zero = Term { sign_count: 0.0, h: 0.0 };
    let mut all = Terms { terms: [zero; MAX_TERMS], len: 0 };
    let mut set = 0u32;
    while set < 1 << width {
        let h = hit_probability(set, width);
        let sign = if set.count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
        let mut i = 0;
        while i < all.len && all.terms[i].h != h {
            i += 1;
        }
        all.terms[i].h = h;
        all.terms[i].sign_count += sign;
        if i == all.len {
            all.len += 1;
        }
        set += 1;
    }
    all
}

#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn all_terms() -> [Terms; BLOCK_SECTORS] {
    let mut all = [terms_of(1); BLOCK_SECTORS];
    let mut i = 1;
    while i < BLOCK_SECTORS {
        all[i] = terms_of(i as u32 + 1);
        i += 1;
    }
    all
}

/// The moments `F0`, `F1`, `F2` of one line: probability that all asked bits are set, and its first
/// two derivatives in the load.
struct Moments([f64; 3]);

impl Moments {
    /// `log_untouched(h)` is the logarithm of the probability that no item hits a set of hit
    /// probability `h`.
    fn new(window: u8, log_untouched: impl Fn(f64) -> f64) -> Self {
        let mut sums = [0.0; 3];
        if let Some(terms) = TERMS.get(usize::from(window).wrapping_sub(1)) {
            for term in terms.terms.iter().take(terms.len) {
                let weight = term.sign_count * libm::exp(log_untouched(term.h));
                sums[0] += weight;
                sums[1] += weight * term.h;
                sums[2] += weight * term.h * term.h;
            }
        }
        sums[0] = sums[0].max(0.0) + CANCELLATION;
        Self(sums)
    }

    /// Mean of the product over `lines` lines whose loads have the covariance `covariance`
    /// pairwise.
    fn product(&self, lines: u8, covariance: f64) -> f64 {
        let Self([f0, f1, f2]) = *self;
        let c = covariance;
        let product = match lines {
            1 => f0,
            2 => f0 * f0 + c * f1 * f1 + c * c / 2.0 * f2 * f2,
            // Pairs of lines, and pairs of pairs: the same pair, with a line in common, disjoint.
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

/// How many of the strides and positions of an item make it cover two given lines of a lookup, on
/// average.
///
/// A lookup's lines are `first + j * d` within a page of `page` lines, `1 <= d <= strides`.
fn shared_placements(page: u64, lines: u64, strides: u64) -> f64 {
    let mut matches = 0u64;
    for asked in 1..=strides {
        for gap in 1..lines {
            let distance = asked * gap;
            for item_gap in 1..lines {
                // An item's lines lie `item_gap * d` apart, in either direction round the page.
                for apart in [distance, page - distance] {
                    let fits = apart.is_multiple_of(item_gap) && apart / item_gap <= strides;
                    matches += u64::from(fits) * (lines - gap) * (lines - item_gap);
                }
            }
        }
    }
    let pairs = lines * (lines - 1) / 2;
    matches as f64 / (strides * pairs).max(1) as f64
}

/// Rate of false positives of a layer with this geometry that holds `len` items, in [0, 1].
///
/// For one to three lines per item the measured rate is this one; for one line this one is up to
/// 1.2e-13 too high, the cancellation margin. For four lines per item it is too low. The largest
/// differences measured (standard error of the last row 0.5 %):
///
/// | lines of the layer | computed rate 1e-6 or more | 1e-9 or more | 1e-12 or more | less |
/// |---|---|---|---|---|
/// | 4 | 0.2 % | 0.2 % | 0.2 % | 0.2 % |
/// | 5 to 64 | 1 % | 2 % | 7 % | 20 % |
/// | 65 or more | 0.3 % | 0.7 % | 2 % | 3 % |
///
/// A layer of up to 64 lines has more slack than that, since lines are rounded up: at rates below
/// 1e-6 all measured ones stay below 0.9 of the rate that they were sized for. A larger layer has
/// no slack, and may exceed it by what the table says: 10,000 items at 1e-12 have 1.019e-12
/// (standard error 0.004e-12). `tests/core_rate.rs` measures down to 1e-6,
/// `tests/core_small_rates.rs` below. Cost: about 0.2 to 2 us.
pub fn fp_rate(geometry: &Geometry, len: u64) -> f64 {
    match len {
        0 => 0.0,
        len => counted(geometry.hashes(), len as f64, |n| rate_after(geometry, n)),
    }
}

/// The rate after so many items that were counted, from the rate after so many that were offered.
///
/// An item that seems to be there already is not added: those that are set at least one bit that
/// was not, and so fill the filter faster than random ones. If `n` items offered give a filter of
/// `k` bits an item, two or more, the rate `r`, then `n` counted ones are about `n / (1 - r (1 +
/// 1.1 r) / (0.65 k + 1.3))` offered. Fitted to the integral of the rate over all rows of the
/// table: the rate comes out 0.7 % too high to 0.03 % too low.
fn counted(hashes: u32, items: f64, rate_after: impl Fn(f64) -> f64) -> f64 {
    /// Rate below which the difference is less than a thousandth of the rate.
    const NEGLIGIBLE: f64 = 1e-4;
    let rate = rate_after(items);
    if rate < NEGLIGIBLE {
        return rate;
    }
    rate_after(items / (1.0 - rate * (1.0 + 1.1 * rate) / (0.65 * f64::from(hashes) + 1.3)))
}

/// The rate after `n` items were offered and added.
fn rate_after(geometry: &Geometry, n: f64) -> f64 {
    let lines = f64::from(geometry.blocks_per_item());
    let covers = lines / geometry.blocks() as f64;
    let moments = Moments::new(geometry.bits_per_block(), |h| n * libm::log1p(-covers * h));
    let covariance = match geometry.blocks_per_item() {
        1 => 0.0,
        l => {
            let strides = geometry.strides();
            let placements = shared_placements(geometry.blocks_per_page(), u64::from(l), strides);
            let both = placements / (geometry.blocks() as f64 * strides as f64);
            n * (both - covers * covers)
        }
    };
    (moments.product(geometry.blocks_per_item(), covariance) + n * COLLISION).min(1.0)
}

/// Rate of a layer in which this share of the bits is set, in [0, 1].
///
/// It is that after as many items as would set so many bits on average, be they counted or not.
pub fn fp_rate_of_fill(geometry: &Geometry, fill: f64) -> f64 {
    if fill <= 0.0 {
        return 0.0;
    }
    let share_of_item = f64::from(geometry.hashes()) / geometry.bits() as f64;
    let items = libm::log1p(-fill) / libm::log1p(-share_of_item);
    // All bits set: as many items as there can be, since infinitely many would be no number.
    rate_after(geometry, items.min(u64::MAX as f64))
}

/// Rate of a layer of endlessly many whole pages with `load` items covering a line on average.
///
/// What the shapes in the table of [`super::geometry`] are chosen by. `page` lines a page, `lines` an
/// item, `window` bits a line.
pub fn fp_rate_at_load(page: u64, lines: u8, window: u8, load: f64) -> f64 {
    let covariance = match lines {
        1 => 0.0,
        l => {
            let strides = (page - 1) / (u64::from(l) - 1);
            load * shared_placements(page, u64::from(l), strides) / (f64::from(l) * strides as f64)
        }
    };
    Moments::new(window, |h| -load * h).product(lines, covariance)
}

/// The same with `load` counted items covering a line on average: what the bits in the table are
/// made from.
pub fn fp_rate_at_counted_load(page: u64, lines: u8, window: u8, load: f64) -> f64 {
    let hashes = u32::from(lines) * u32::from(window);
    counted(hashes, load, |load| fp_rate_at_load(page, lines, window, load))
}
