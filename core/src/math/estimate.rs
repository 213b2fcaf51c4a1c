//! The number of items in a layer, estimated from its fill: the share of its bits that are set.
//!
//! After `n` random items, each of which sets `k` of `m` bits, a bit is unset with probability `(1
//! - k/m)^n`, however the bits of an item are correlated. So a fill `F` stands for
//!
//! ```text
//! n = ln(1 - F) / ln(1 - k/m)            standard error sqrt(m (e^a - 1 - a)) / k,   a = k n / m
//! ```
//!
//! (S. J. Swamidass, P. Baldi, *Mathematical Correction for Fingerprint Similarity Measures to
//! Improve Chemical Retrieval*, 2007, for the estimate.) In a large layer only some pages are
//! counted. The number of items in them varies too, which adds `n (1 - s) / s` to the variance if a
//! share `s` of the pages is counted.

use std::ops::Add;

use crate::math::frozen;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fill {
    /// The share of the counted bits that are set, in [0, 1].
    pub set: f64,
    /// The share of the bits that were counted, above 0, at most 1.
    pub counted: f64,
}

/// An estimated number of items.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    pub items: f64,
    /// The square of its standard error.
    pub variance: f64,
}

/// Estimates by the fill of a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LayerEstimate {
    /// The number of random items that give this fill: those that were added, whether the layer
    /// contained them by mistake or not.
    pub attempted: Estimate,
    /// The number of items that were inserted, because the layer did not contain them.
    pub inserted: f64,
    /// The false-positive rate, in [0, 1].
    pub rate: f64,
    /// How many of the bits of another random item are not set, on average.
    pub new_bits: f64,
}

impl Estimate {
    /// The largest estimate: that of a layer whose bits are all set.
    const MOST: f64 = u64::MAX as f64;

    /// The standard error, in items.
    pub fn standard_error(&self) -> f64 {
        self.variance.sqrt()
    }

    /// The estimate times `factor`, at least 0.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self { items: self.items * factor, variance: self.variance * factor * factor }
    }
}

impl Add for Estimate {
    type Output = Self;

    /// The sum of independent estimates.
    fn add(self, other: Self) -> Self {
        let variance = self.variance + other.variance;
        Self { items: (self.items + other.items).min(Self::MOST), variance }
    }
}

impl Fill {
    /// The number of random items in memory of `bits` bits, of which each item sets `hashes`.
    pub fn items(&self, hashes: u32, bits: f64) -> Estimate {
        let per_item = f64::from(hashes);
        if self.set <= 0.0 {
            return Estimate::default();
        }
        if self.set >= 1.0 {
            return Estimate { items: Estimate::MOST, variance: Estimate::MOST };
        }
        let items = frozen::log1p(-self.set) / frozen::log1p(-per_item / bits);
        let load = per_item * items / bits;
        let of_bits = bits * (frozen::expm1(load) - load) / (per_item * per_item);
        let variance = (of_bits + items * (1.0 - self.counted)) / self.counted;
        Estimate { items, variance }
    }
}
