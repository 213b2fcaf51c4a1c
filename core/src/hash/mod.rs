//! The hash functions of the layouts.

pub mod murmur2;
pub mod siphash;
pub mod xxh3;

/// The two hashes of an item, from which all its bits follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pair {
    /// The index of the first bit, before the reduction modulo the number of bits.
    pub a: u64,
    /// The difference from one index to the next.
    pub b: u64,
}
