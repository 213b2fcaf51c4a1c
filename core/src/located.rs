//! The items of a group, located in one layer together.

use crate::layer::{Layer, Part};
use crate::simd::Backend;

/// The most items of a group: as many as a processor can fetch blocks for at once.
pub(crate) const GROUP_ITEMS: usize = 64;

/// Items of a group, and where they lie in one layer.
///
/// A batch in a filter of one layer works on these: it pushes the hashes, locates all items, and
/// prefetches, tests and sets their blocks by their indexes. So a layout can locate several items
/// at once, and nothing is computed twice. An index that is out of range is that of no item.
pub trait Located<L: Layer>: Sized {
    /// No items.
    fn new() -> Self;

    /// Drops all items.
    fn clear(&mut self);

    /// Adds an item, whose index is the number of items before it. There must be fewer than
    /// [`GROUP_ITEMS`] items.
    fn push(&mut self, hash: L::Hash);

    /// The number of items.
    fn len(&self) -> usize;

    /// Locates all items in a layer, that of all calls below.
    fn locate(&mut self, layer: &L);

    /// The hash of an item.
    fn hash(&self, index: usize) -> L::Hash;

    /// Prefetches a part of an item's blocks.
    fn prefetch(&self, layer: &L, index: usize, part: Part);

    /// True if an item's bits in the first part are set.
    fn test_first<B: Backend>(&self, backend: B, layer: &L, index: usize) -> bool;

    /// True if an item's other bits are set.
    fn test_rest<B: Backend>(&self, backend: B, layer: &L, index: usize) -> bool;

    /// Sets all bits of an item.
    fn set<B: Backend>(&self, backend: B, layer: &mut L, index: usize);

    /// True if the layer contains an item.
    #[inline(always)]
    fn is_in<B: Backend>(&self, backend: B, layer: &L, index: usize) -> bool {
        self.test_first(backend, layer, index) && self.test_rest(backend, layer, index)
    }

    /// Prefetches all blocks of all items if the layer is not in the nearest cache.
    #[inline(always)]
    fn prefetch_all(&self, layer: &L) {
        if layer.bytes() >= L::PREFETCH_FROM {
            for index in 0..self.len() {
                self.prefetch(layer, index, Part::First);
                self.prefetch(layer, index, Part::Rest);
            }
        }
    }
}
