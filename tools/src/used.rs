//! Bytes that a filter adds to `used_memory`, which is what `maxmemory` limits and what is billed.
//!
//! They are more than `BF.INFO key SIZE`: the server's allocator rounds each allocation up, layers
//! from 32 KiB on get one page more, and the server keeps an object and an entry per key.

use bloomline_core::bloom::bloomline::BlockedPlan;

/// Bytes of the server per key: the objects of the key and of the value, the name, and the entry in
/// the dictionary of keys.
///
/// For a name of 12 characters without a time to live servers take 60 to 88, and with one 23 to 41
/// more: `docs/how-to/choosing.md` has the numbers of each, which a test measures.
pub const KEY_BYTES: u64 = 80;

/// Bytes of a page. A layer from [`ALIGNED_FROM`] on has one more, so that its bits start on one.
const PAGE: u64 = 4096;

/// The smallest layer that starts on a page.
const ALIGNED_FROM: u64 = 32 * 1024;

/// Bytes in front of the bits of a filter of one small layer.
const HEADER_BYTES: u64 = 32;

/// Bytes of a filter's structure, and of a layer's in the table of older layers.
const FILTER_BYTES: u64 = 96;
const LAYER_BYTES: u64 = 32;

/// The most bytes of bits per generation with which a windowed filter is one allocation, the bytes
/// in front of its generations, and those of a generation besides the bits.
const SMALL_BYTES: u64 = 512;
const SMALL_RING_BYTES: u64 = 64;
const RECORD_BYTES: u64 = 8;

/// Bytes of the structures of other windowed filters: the ring, and each older generation.
const RING_BYTES: u64 = 176;
const GENERATION_BYTES: u64 = 64;

/// Bytes of a cuckoo filter's structure, and of a table's. The slots are the rest.
const CUCKOO_BYTES: u64 = 72;
const TABLE_BYTES: u64 = 88;

/// How jemalloc rounds large allocations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To a size class, of which there are four per power of two: up to a quarter more.
    Classes,
    /// To whole pages, from 16 KiB on: jemalloc 5.3.1.
    Pages,
}

impl Rounding {
    /// Bytes that the allocator provides for a request.
    pub fn bytes(self, request: u64) -> u64 {
        const SMALLEST_LARGE: u64 = 16 * 1024;
        match request {
            0 => 0,
            1..=128 => request.next_multiple_of(16),
            _ if self == Self::Pages && request >= SMALLEST_LARGE => request.next_multiple_of(PAGE),
            _ => request.next_multiple_of(1 << ((request - 1).ilog2() - 2)),
        }
    }
}

/// Bytes of `used_memory` for one key, from the bytes of its allocations.
pub(crate) fn used_bytes(allocations: impl Iterator<Item = u64>, rounding: Rounding) -> u64 {
    allocations.map(|request| rounding.bytes(request)).sum::<u64>() + KEY_BYTES
}

/// The allocations of a filter with these layers: its structure, the table of the older layers, and
/// the bits of each layer; or one, if it is a small layer.
pub(crate) fn of_filter(layers: &[BlockedPlan]) -> Vec<u64> {
    match layers {
        [layer] if layer.geometry().is_small() => vec![HEADER_BYTES + layer.bytes()],
        _ => of_part(layers).collect(),
    }
}

/// The allocations of such a filter that is a part of a windowed one.
fn of_part(layers: &[BlockedPlan]) -> impl Iterator<Item = u64> {
    let older = layers.len().saturating_sub(1) as u64;
    let bits = layers.iter().map(|layer| of_bits(layer.bytes()));
    [FILTER_BYTES, LAYER_BYTES * older].into_iter().chain(bits)
}

/// The allocations of a windowed filter whose generations all have these layers.
pub(crate) fn of_windowed(
    generations: usize,
    regular: &BlockedPlan,
    overflow: &[BlockedPlan],
) -> Vec<u64> {
    let (bits, count) = (regular.geometry().bytes(), generations as u64);
    if overflow.is_empty() && bits <= SMALL_BYTES {
        return vec![SMALL_RING_BYTES + count * (RECORD_BYTES + bits)];
    }
    let mut generation = vec![of_bits(bits)];
    if !overflow.is_empty() {
        generation.extend(of_part(overflow));
    }
    let structures = [RING_BYTES, GENERATION_BYTES * (count - 1)];
    structures.into_iter().chain(generation.repeat(generations)).collect()
}

/// The allocations of a cuckoo filter of one table, of this size by CF.INFO.
pub(crate) fn of_cuckoo(size_bytes: u64) -> impl Iterator<Item = u64> {
    let slots = size_bytes.saturating_sub(CUCKOO_BYTES + TABLE_BYTES);
    [CUCKOO_BYTES, TABLE_BYTES, of_bits(slots)].into_iter()
}

/// The allocation for the bits of a layer, or for the slots of a table.
pub(crate) fn of_bits(bytes: u64) -> u64 {
    if bytes < ALIGNED_FROM { bytes } else { bytes + PAGE }
}
