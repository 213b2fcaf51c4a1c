//! What a layer of any layout can do, so that a series of them is one thing.

use crate::batch::group::{Chosen, PreparedGroup, indexes};
use crate::error::Error;
use crate::memory::words::Words;
use crate::simd::Backend;
use crate::spec::Layout;

/// Which lines of an item are fetched ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// All: those of a layer that new items will be written to, or that is looked at alone.
    All,
    /// Those that most absent items fail in.
    First,
}

/// One filter of fixed capacity, a member of the series that a [`Filter`](super::Filter) is.
pub trait Layer: Sized {
    /// The layout of such layers.
    const LAYOUT: Layout;
    /// What all layers of a filter have in common.
    type Common: Copy;
    /// What is known of a layer before it is built.
    type Shape: Copy;
    /// What is known of an item after hashing, for all layers.
    type Hash: Copy + Default;
    /// What of an item is prepared for a group's way through many layers.
    type Prepared<P: Backend>: Copy;

    /// Hashes an item.
    fn hash(common: &Self::Common, item: &[u8]) -> Self::Hash;

    /// Prepares a hashed item.
    fn prepare<P: Backend>(backend: P, hash: &Self::Hash) -> Self::Prepared<P>;

    /// Whether all bits of the item are set.
    fn contains<P: Backend>(&self, backend: P, hash: &Self::Hash) -> bool;

    /// Which of the asked items of a group the layer contains.
    #[inline(always)]
    fn contains_of<P: Backend, const N: usize>(
        &self,
        backend: P,
        group: &PreparedGroup<Self, P, N>,
        asked: Chosen,
    ) -> Chosen {
        if self.is_far() {
            for index in indexes(asked) {
                self.prefetch_rest(backend, group.hash(index));
            }
        }
        let mut found = 0;
        for index in indexes(asked) {
            found |= Chosen::from(self.contains(backend, group.hash(index))) << index;
        }
        found
    }

    /// Sets all bits of the item.
    fn insert<P: Backend>(&mut self, backend: P, hash: &Self::Hash);

    /// Does what is worth doing before the first look at an item that may be added to this layer of
    /// `len` items.
    fn expect(&mut self, _len: u64, _hash: &Self::Hash) {}

    /// Asks for the cache lines of items, where that is worth it.
    fn prefetch<'a>(&self, hashes: impl Iterator<Item = &'a Self::Hash>, lines: Lines)
    where
        Self::Hash: 'a;

    /// Whether the layer is so large that an absent item should not fetch all its lines.
    fn is_far(&self) -> bool;

    /// Asks for the lines that [`Lines::First`] left out, if the item passes in the first ones.
    fn prefetch_rest<P: Backend>(&self, backend: P, hash: &Self::Hash);

    /// Items the layer is sized for.
    fn capacity(&self) -> u64;

    /// Items in the layer, if it is not the newest one.
    fn len_when_older(&self) -> u64;

    /// Becomes an older layer, with so many items.
    fn retire(&mut self, len: u64);

    /// The bits.
    fn words(&self) -> &Words;

    /// The bits, to be written.
    fn words_mut(&mut self) -> &mut Words;

    /// The layer that comes when this one, layer `index`, is full: the one place that knows what
    /// happens then.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] where none comes, [`Error::TooManyLayers`], or a layer that is out of range.
    fn successor(
        &self,
        common: &Self::Common,
        index: u32,
    ) -> Result<(Self::Common, Self::Shape), Error>;

    /// Bytes of the bits of such a layer.
    fn shape_bytes(shape: &Self::Shape) -> u64;

    /// An empty layer.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    fn build(shape: &Self::Shape) -> Result<Self, Error>;

    /// A layer equal to this one.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    fn try_clone(&self) -> Result<Self, Error>;

    /// Bytes of a filter of so many layers, at least one, with bits of so many bytes: arithmetic,
    /// equal on every server.
    fn size_bytes(bits_bytes: u64, layers: u32) -> u64;
}
