//! The indexes of an item's bits: those of RedisBloom's layout, with one reduction more.

use crate::bloom::classic::indexes::Reduction;

/// The first indexes of an item that are not reduced modulo [`PRIME`]: those of its two hashes.
pub const PLAIN: u32 = 2;

/// The largest prime below 2^64.
pub const PRIME: u64 = 0u64.wrapping_sub(59);

/// A sum is reduced modulo [`PRIME`] first.
#[derive(Clone, Copy)]
pub struct BelowPrime;

impl Reduction for BelowPrime {
    #[inline(always)]
    fn of(sum: u64) -> u64 {
        // If `sum` is below the prime, the difference wraps to a larger number.
        sum.min(sum.wrapping_sub(PRIME))
    }
}
