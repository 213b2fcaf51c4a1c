//! The numbers of a layer from its capacity and its rate, bit for bit.
//!
//! The order of the operations decides the last bit of a result, and so the number of bytes. The
//! logarithm is the correctly rounded one, as that of the common C libraries nearly always is.

use std::f64::consts::LN_2;

use crate::error::Error;
use crate::math::ln::ln;

/// The largest capacity of all layers together: 2^63 - 1.
pub const MAX_CAPACITY: u64 = i64::MAX as u64;

/// The rate of every layer but the first is above this one, the smallest normal number.
pub const MIN_LAYER_RATE: f64 = f64::MIN_POSITIVE;

/// The most bytes of a layer: their bits can be counted.
pub const MAX_LAYER_BYTES: u64 = u64::MAX / 8;

/// The target rate of a layer: `rate * tightening^index`, the power by repeated squaring.
pub fn layer_rate(rate: f64, tightening: f64, index: u32) -> f64 {
    let (mut power, mut square, mut rest) = (1.0, tightening, index);
    loop {
        if rest % 2 == 1 {
            power *= square;
        }
        rest /= 2;
        if rest == 0 {
            return rate * power;
        }
        square *= square;
    }
}

/// The target rate of a layer that a filter may have. valkey-bloom compares it with the smallest
/// one when a filter grows, not when it is created.
///
/// # Errors
///
/// [`Error::ErrorRateTooSmall`].
pub fn valid_rate(rate: f64, tightening: f64, index: u32) -> Result<f64, Error> {
    let rate = layer_rate(rate, tightening, index);
    let is_large_enough = index == 0 || rate > MIN_LAYER_RATE;
    if is_large_enough { Ok(rate) } else { Err(Error::ErrorRateTooSmall(rate)) }
}

/// The bytes of a layer, at least 1. `capacity` is at least 1, and `rate` is above 0 and below 1.
pub fn layer_bytes(capacity: u64, rate: f64) -> u64 {
    (capacity as f64 * ln(rate) / (-8.0 * (LN_2 * LN_2))).ceil() as u64
}

/// The bits that an item sets in a layer of `bytes` bytes: at most 1,076, for a layer of one item
/// at the smallest rate; in later layers 1,026.
pub fn hashes(bytes: u64, capacity: u64) -> u32 {
    let bits = bytes.saturating_mul(8) as f64;
    ((bits / capacity as f64 * LN_2).round() as u32).max(1)
}
