//! How many bytes a filter takes. They follow from its layers and its times alone, so they are
//! equal on every server.

use crate::bloom::bloomline::BlockedPlan;
use crate::bloom::bloomline::shape::FILTER_BYTES;
use crate::memory::allocation::HEADER;

/// The most bytes of bits of a generation in a small ring. A rotation copies a small ring.
pub(super) const SMALL_BYTES: u64 = 512;

/// Words of a small ring before its records.
pub(super) const NUMBERS: usize = 4;

/// Bits that a small ring has for the length of a window, in items or milliseconds: 8,900 years.
pub(super) const EXTENT_BITS: u32 = 48;
/// Bits that it has for the number of its newest generation.
pub(super) const NUMBER_BITS: u32 = 40;
/// Bits that it has for the age of a generation, in milliseconds: 34 years.
pub(super) const AGE_BITS: u32 = 40;

/// Bytes of a filter with a small ring besides its generations.
const PACKED_BYTES: u64 = HEADER as u64 + size_of::<[u64; NUMBERS]>() as u64;

/// Bytes that a small ring has for a generation besides its bits.
const RECORD_BYTES: u64 = size_of::<u64>() as u64;

/// Bytes of a large ring besides the bits of its layers, its older generations and their overflow
/// layers: the size of [`Large`](super::ring::Large) on a 64-bit machine.
pub(super) const RING_BYTES: u64 = 104;

/// Bytes of an older generation of a large ring besides the bits of its layers: the size of
/// [`Generation`](super::Generation) on a 64-bit machine.
pub(super) const GENERATION_BYTES: u64 = 64;

/// Bytes of a filter of a given number of generations, at least one, whose regular layers take
/// `regular` bytes together, and whose overflow layers take `overflow` bytes. The regular layers
/// are equal.
pub fn size_bytes(regular: u64, generations: usize, overflow: u64) -> u64 {
    let is_small = overflow == 0 && regular <= SMALL_BYTES * generations as u64;
    size_with(is_small, regular, generations, overflow)
}

/// Bytes of a filter with all its generations, without overflow layers, whose regular layers take
/// `regular` bytes each.
pub(super) fn complete_bytes(regular: u64, generations: u32) -> u64 {
    let count = u64::from(generations) + 1;
    size_bytes(regular.saturating_mul(count), count as usize, 0)
}

/// [`size_bytes`] for a small or a large ring.
pub(super) fn size_with(is_small: bool, regular: u64, generations: usize, overflow: u64) -> u64 {
    let generations = generations as u64;
    let structures = if is_small {
        PACKED_BYTES + RECORD_BYTES * generations
    } else {
        FILTER_BYTES + RING_BYTES + GENERATION_BYTES * generations.saturating_sub(1)
    };
    regular.saturating_add(overflow).saturating_add(structures)
}

/// True if a ring without overflow layers can be small.
///
/// The newest generation has this number. It was opened `span` milliseconds after the oldest.
pub(super) fn is_small(regular: &BlockedPlan, extent: u64, number: u64, span: u64) -> bool {
    regular.bytes() <= SMALL_BYTES
        && extent >> EXTENT_BITS == 0
        && number >> NUMBER_BITS == 0
        && span >> AGE_BITS == 0
}
