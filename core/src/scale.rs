//! From a hash to an index without a division.

/// The high word of the 128-bit product: `hash` scaled from [0, 2^64) to [0, `range`).
#[inline]
pub(crate) fn scale(hash: u64, range: u64) -> u64 {
    ((u128::from(hash) * u128::from(range)) >> 64) as u64
}
