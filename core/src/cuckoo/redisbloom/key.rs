//! What an item leaves in a table: its fingerprint, and its two buckets.

use crate::hash::murmur2::murmur_64;

/// The factor of the distance between the two buckets of a fingerprint.
const DISTANCE: u64 = 0x5bd1_e995;

/// A fingerprint with the two hashes whose low bits are its buckets, in a table of any size.
#[derive(Clone, Copy, Debug)]
pub(in crate::cuckoo) struct Key {
    /// 1 to 255. 0 is an empty slot.
    pub(super) fingerprint: u8,
    /// The hashes of the first and of the second bucket.
    pub(super) hashes: [u64; 2],
}

impl Key {
    /// The key of an item: MurmurHash64A with the seed 0.
    #[inline(always)]
    pub(super) fn of(item: &[u8]) -> Self {
        let hash = murmur_64(item, 0);
        Self::at((hash % 255) as u8 + 1, hash)
    }

    /// The key of a fingerprint that lies in bucket `hash`.
    #[inline(always)]
    pub(super) fn at(fingerprint: u8, hash: u64) -> Self {
        Self { fingerprint, hashes: [hash, alternative(fingerprint, hash)] }
    }
}

/// The other bucket of a fingerprint. It is its own inverse, because the number of buckets is a
/// power of two.
#[inline(always)]
pub(super) fn alternative(fingerprint: u8, hash: u64) -> u64 {
    hash ^ u64::from(fingerprint).wrapping_mul(DISTANCE)
}
