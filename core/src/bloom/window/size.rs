//! How many bytes a filter takes. They follow from its layers alone, so they are equal on every
//! server.

/// The most bytes of bits of a generation in a small ring. A rotation copies a small ring.
pub(super) const SMALL_BYTES: u64 = 512;

/// Bytes that a small ring has for a generation besides its bits.
pub(super) const RECORD_BYTES: u64 = 24;

/// Bytes of a filter besides its generations: the size of [`AnyFilter`](crate::host::AnyFilter) on
/// a 64-bit machine.
const FILTER_BYTES: u64 = 96;

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

/// The same for a small or a large ring.
pub(super) fn size_with(is_small: bool, regular: u64, generations: usize, overflow: u64) -> u64 {
    let generations = generations as u64;
    let structures = if is_small {
        RECORD_BYTES * generations
    } else {
        RING_BYTES + GENERATION_BYTES * generations.saturating_sub(1)
    };
    regular.saturating_add(overflow).saturating_add(FILTER_BYTES + structures)
}
