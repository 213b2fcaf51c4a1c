//! The hash of an item: 64 bits, from which its blocks and bits in all layers follow.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The hash of an item. Its blocks and bits in every layer follow from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ItemHash {
    /// The block hash: its high bits select the page and the first block.
    pub block_hash: u64,
    /// The pattern: selects the bits in the first block, and the stride to the further blocks.
    pub pattern: u64,
}

impl ItemHash {
    /// The hash with a given block hash, from which the pattern follows.
    #[inline(always)]
    pub(crate) fn of_block_hash(block_hash: u64) -> Self {
        Self { block_hash, pattern: mix(block_hash, GOLDEN) }
    }
}

/// An odd number without structure: the first 64 bits of the fraction of the golden ratio.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Hashes an item with the filter's seed.
///
/// The block hash is the seeded 64-bit XXH3. The pattern is a folded multiplication of the block
/// hash, which takes less time than the 128-bit XXH3 at equal false-positive rates (see
/// docs/explanation/performance.md). The filter cannot distinguish two items with equal 64-bit
/// hashes; computed rates include their probability.
///
/// Always inlined: the compiler uses the multiplications of BMI2 only in a function that enables
/// this target feature.
#[inline(always)]
pub fn item_hash(item: &[u8], seed: u64) -> ItemHash {
    ItemHash::of_block_hash(xxh3_64_with_seed(item, seed))
}

/// Folded multiplication: the low half of the 128-bit product XOR its high half.
#[inline]
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Probability that two different items have equal 64-bit hashes.
pub(crate) const COLLISION: f64 = 1.0 / (1u128 << 64) as f64;
