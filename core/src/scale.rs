//! Mapping a hash to an index without a division.

/// Scales `hash` from [0, 2^64) to [0, `range`): the upper 64 bits of the 128-bit product.
#[inline]
pub(crate) fn scale(hash: u64, range: u64) -> u64 {
    ((u128::from(hash) * u128::from(range)) >> 64) as u64
}
