//! How many bytes a filter takes. They follow from its layers and its times alone, so they are
//! equal on every server.

use crate::memory::headed::HEADER;

/// The most bytes of bits of a generation in a small ring. A rotation copies a small ring.
pub(crate) const SMALL_BYTES: u64 = 512;

/// Words of a small ring between its header and its records.
pub(crate) const SMALL_NUMBERS: usize = 4;

/// Bytes of a small ring besides its generations.
const SMALL_RING_BYTES: u64 = (HEADER + size_of::<[u64; SMALL_NUMBERS]>()) as u64;

/// Bytes of a generation of a small ring besides its bits: the size of a
/// [`Record`](crate::bloom::small::record::Record).
const RECORD_BYTES: u64 = 8;

/// Bytes of a large ring besides the bits of its layers, its older generations and their overflow
/// layers: the size of [`LargeRing`](super::ring::LargeRing) on a 64-bit machine.
pub(super) const RING_BYTES: u64 = 176;

/// Bytes of an older generation of a large ring besides the bits of its layers: the size of
/// [`Generation`](super::Generation) on a 64-bit machine.
pub(super) const GENERATION_BYTES: u64 = 64;

/// Bytes of a filter of a given number of generations, at least one, whose regular layers take
/// `regular` bytes together, and whose overflow layers take `overflow` bytes. The regular layers
/// are equal.
pub fn size_bytes(regular: u64, generations: usize, overflow: u64) -> u64 {
    let is_small_ring = overflow == 0 && regular <= SMALL_BYTES * generations as u64;
    size_with(is_small_ring, regular, generations, overflow)
}

/// Bytes of a filter with all its generations, without overflow layers, whose regular layers take
/// `regular` bytes each.
pub(super) fn complete_bytes(regular: u64, generations: u32) -> u64 {
    let count = u64::from(generations) + 1;
    size_bytes(regular.saturating_mul(count), count as usize, 0)
}

/// [`size_bytes`] for a small or a large ring.
pub(super) fn size_with(
    is_small_ring: bool,
    regular: u64,
    generations: usize,
    overflow: u64,
) -> u64 {
    let generations = generations as u64;
    let structures = if is_small_ring {
        SMALL_RING_BYTES + RECORD_BYTES * generations
    } else {
        RING_BYTES + GENERATION_BYTES * generations.saturating_sub(1)
    };
    regular.saturating_add(overflow).saturating_add(structures)
}
