//! What an item leaves in a table: its fingerprint, and its two buckets.

use crate::hash::murmur2::murmur_64;

/// The factor of the distance between the two buckets of a fingerprint.
const DISTANCE: u64 = 0x5bd1_e995;

/// A fingerprint with the two hashes whose low bits are its buckets, in a table of any size.
#[derive(Clone, Copy, Debug)]
pub(in crate::cuckoo) struct Fingerprint {
    /// 1 to 255. 0 is an empty slot.
    pub(super) value: u8,
    /// The hashes of the first and of the second bucket.
    pub(super) hashes: [u64; 2],
}

impl Fingerprint {
    /// The fingerprint of an item: MurmurHash64A with the seed 0.
    #[inline(always)]
    pub(super) fn of(item: &[u8]) -> Self {
        let hash = murmur_64(item, 0);
        Self::at((hash % 255) as u8 + 1, hash)
    }

    /// The fingerprint with a value that lies in bucket `hash`.
    #[inline(always)]
    pub(super) fn at(value: u8, hash: u64) -> Self {
        Self { value, hashes: [hash, alternative(value, hash)] }
    }
}

/// The other bucket of the fingerprint with a value. It is its own inverse, because the number of
/// buckets is a power of two.
#[inline(always)]
pub(super) fn alternative(value: u8, hash: u64) -> u64 {
    hash ^ u64::from(value).wrapping_mul(DISTANCE)
}
