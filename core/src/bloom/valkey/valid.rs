//! What a valid filter of this layout is. Every entry point checks it, and every operation keeps
//! it.
//!
//! The size of a layer and the bits of an item are stored, although they follow from capacity and
//! rate. They must agree: what a size only claims would be requested wherever the filter is loaded.
//!
//! valkey-bloom checks less, and bytes that it does not check end its server. What it writes itself
//! passes.

use super::layer::{ValkeyParams, ValkeyShape};
use super::sizing::{MAX_CAPACITY, valid_rate};
use crate::error::{Error, ValkeyError};
use crate::hash::siphash::{FIXED_SEED, Seed};
use crate::spec::MAX_LAYERS;

/// Checks the numbers that the layers have in common, without the seed.
///
/// # Errors
///
/// [`ValkeyError::ErrorRate`], [`ValkeyError::Tightening`].
pub fn check_rates(error_rate: f64, tightening: f64) -> Result<(), ValkeyError> {
    let is_inside = |number: f64| number > 0.0 && number < 1.0;
    if !is_inside(error_rate) {
        return Err(ValkeyError::ErrorRate(error_rate));
    }
    if !is_inside(tightening) {
        return Err(ValkeyError::Tightening(tightening));
    }
    Ok(())
}

/// Checks all numbers that the layers have in common.
///
/// # Errors
///
/// Those of [`check_rates`], and [`ValkeyError::FixedSeed`].
pub fn check_params(params: &ValkeyParams) -> Result<(), ValkeyError> {
    check_rates(params.error_rate, params.tightening)?;
    check_seed(params.is_random, &params.seed)
}

/// Checks a seed that is said to be random or not.
///
/// # Errors
///
/// [`ValkeyError::FixedSeed`].
pub fn check_seed(is_random: bool, seed: &Seed) -> Result<(), ValkeyError> {
    if is_random || *seed == FIXED_SEED { Ok(()) } else { Err(ValkeyError::FixedSeed) }
}

/// Whether the seed is random, from its flag in files.
///
/// # Errors
///
/// [`ValkeyError::SeedFlag`].
pub fn random_flag(flag: u64) -> Result<bool, ValkeyError> {
    match flag {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(ValkeyError::SeedFlag(other)),
    }
}

/// Checks the layers of a filter one by one, oldest first.
pub struct LayerChecks {
    error_rate: f64,
    tightening: f64,
    count: u32,
    /// The index of the next layer.
    index: u32,
    /// The capacity of the layers so far.
    capacity: u64,
}

impl LayerChecks {
    /// For a filter of `count` layers.
    ///
    /// # Errors
    ///
    /// Those of [`check_rates`], and [`ValkeyError::Layers`].
    pub fn new(count: u64, error_rate: f64, tightening: f64) -> Result<Self, ValkeyError> {
        check_rates(error_rate, tightening)?;
        let in_range = u32::try_from(count).ok().filter(|count| (1..=MAX_LAYERS).contains(count));
        let count = in_range.ok_or(ValkeyError::Layers(count))?;
        Ok(Self { error_rate, tightening, count, index: 0, capacity: 0 })
    }

    pub fn count(&self) -> u32 {
        self.count
    }

    /// True if the next layer is the last one.
    pub fn is_last(&self) -> bool {
        self.index + 1 == self.count
    }

    /// The shape of the next layer, which follows from its capacity and its rate.
    ///
    /// # Errors
    ///
    /// [`ValkeyError::Capacity`], [`Error::ErrorRateTooSmall`].
    pub fn next_shape(&self, capacity: u64) -> Result<ValkeyShape, Error> {
        if self.capacity.saturating_add(capacity) > MAX_CAPACITY {
            return Err(ValkeyError::Capacity(capacity).into());
        }
        let rate = valid_rate(self.error_rate, self.tightening, self.index)?;
        Ok(ValkeyShape::new(capacity, rate)?)
    }

    /// Checks the next layer, which holds `items` items. An older layer is full, and the bits of
    /// each follow from its capacity and its rate.
    ///
    /// # Errors
    ///
    /// [`ValkeyError::Capacity`], [`Error::ErrorRateTooSmall`], [`ValkeyError::Items`],
    /// [`ValkeyError::Bytes`], [`ValkeyError::Hashes`].
    pub fn check_next(&mut self, shape: &ValkeyShape, items: u64) -> Result<(), Error> {
        let (layer, capacity) = (self.index, shape.capacity);
        let ValkeyShape { bytes, hashes, .. } = self.next_shape(capacity)?;
        if items > capacity || !self.is_last() && items < capacity {
            return Err(ValkeyError::Items { layer, items, capacity }.into());
        }
        if shape.bytes != bytes {
            return Err(ValkeyError::Bytes { layer, bytes: shape.bytes, needed: bytes }.into());
        }
        if shape.hashes != hashes {
            return Err(ValkeyError::Hashes { layer, hashes: shape.hashes, needed: hashes }.into());
        }
        self.capacity = self.capacity.saturating_add(capacity);
        self.index += 1;
        Ok(())
    }
}
