//! The two hashes of an item: MurmurHash64A, or the 32-bit MurmurHash2 in old filters.

use super::Pair;

const SEED_64: u64 = 0xc6a4_a793_5bd1_e995;
const SEED_32: u32 = 0x9747_b28c;

/// Hashes an item to 64 bits twice. The first hash is the seed of the second.
#[inline]
pub fn pair_64(item: &[u8]) -> Pair {
    let a = murmur_64(item, SEED_64);
    Pair { a, b: murmur_64(item, a) }
}

/// Hashes an item to 32 bits twice. The first hash is the seed of the second.
#[inline]
pub fn pair_32(item: &[u8]) -> Pair {
    let a = murmur_32(item, SEED_32);
    Pair { a: a.into(), b: murmur_32(item, a).into() }
}

/// MurmurHash64A (Austin Appleby), which reads little-endian words of 64 bits.
#[inline]
pub(crate) fn murmur_64(item: &[u8], seed: u64) -> u64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    const R: u32 = 47;
    let mut hash = seed ^ (item.len() as u64).wrapping_mul(M);
    let (words, tail) = item.as_chunks();
    for word in words {
        let mut word = u64::from_le_bytes(*word).wrapping_mul(M);
        word ^= word >> R;
        hash = (hash ^ word.wrapping_mul(M)).wrapping_mul(M);
    }
    if !tail.is_empty() {
        let rest = tail.iter().rev().fold(0, |rest, &byte| rest << 8 | u64::from(byte));
        hash = (hash ^ rest).wrapping_mul(M);
    }
    hash = (hash ^ hash >> R).wrapping_mul(M);
    hash ^ hash >> R
}

/// The 32-bit MurmurHash2 (Austin Appleby).
fn murmur_32(item: &[u8], seed: u32) -> u32 {
    const M: u32 = 0x5bd1_e995;
    const R: u32 = 24;
    let mut hash = seed ^ item.len() as u32;
    let (words, tail) = item.as_chunks();
    for word in words {
        let mut word = u32::from_le_bytes(*word).wrapping_mul(M);
        word ^= word >> R;
        hash = hash.wrapping_mul(M) ^ word.wrapping_mul(M);
    }
    if !tail.is_empty() {
        let rest = tail.iter().rev().fold(0, |rest, &byte| rest << 8 | u32::from(byte));
        hash = (hash ^ rest).wrapping_mul(M);
    }
    hash = (hash ^ hash >> 13).wrapping_mul(M);
    hash ^ hash >> 15
}
