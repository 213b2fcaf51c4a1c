//! What a layer of any layout can do: test and set items ([`Probe`]), and grow ([`Layer`]). Merging
//! and compacting have their own traits and rooms.
//!
//! An item is hashed once for all layers. A layer *locates* it: from the hash to the blocks and
//! bits that the item has there, its [`Spot`](Probe::Spot). Everything else works on the spot: to
//! prefetch its blocks, to test its bits, to set them.

use std::iter;

use crate::error::Error;
use crate::math::estimate::LayerEstimate;
use crate::memory::words::Words;
use crate::simd::Backend;
use crate::spec::Layout;

/// Some of the blocks of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Those that are tested first, and that most absent items fail in.
    First,
    /// The others.
    Rest,
}

/// Bits in which items are tested and set.
pub trait Probe: Sized {
    /// Bytes from which a group's blocks are prefetched.
    const PREFETCH_FROM: u64;
    /// Bytes from which the blocks of [`Part::Rest`] are prefetched only for items whose first
    /// part is set: an absent item costs more by its cache lines than by a branch.
    const STAGED_FROM: u64;
    /// True if the layout has code for vector instructions. Without, compilers would make slow
    /// gathers of its loops where they may use them.
    const IS_VECTORIZED: bool;
    /// What items are hashed with, for all layers of a filter.
    type Seed: Copy;
    /// The hash of an item, for all layers.
    type Hash: Copy;
    /// Where the item of a hash lies in one layer.
    type Spot: Copy + Into<Self::Hash>;
    /// What is computed of a hash once for many layers.
    type Prepared<B: Backend>: Copy;

    /// Hashes an item.
    fn hash(seed: &Self::Seed, item: &[u8]) -> Self::Hash;

    /// Hashes items, at most 64, and calls `see` with each hash in turn.
    #[inline(always)]
    fn hash_all<T: AsRef<[u8]>>(
        seed: &Self::Seed,
        items: impl Iterator<Item = T>,
        mut see: impl FnMut(Self::Hash),
    ) {
        for item in items {
            see(Self::hash(seed, item.as_ref()));
        }
    }

    /// Prepares a hash for many layers.
    fn prepare<B: Backend>(backend: B, hash: &Self::Hash) -> Self::Prepared<B>;

    /// Locates an item.
    fn locate(&self, hash: &Self::Hash) -> Self::Spot;

    /// Prefetches a part of the item's blocks.
    fn prefetch(&self, spot: &Self::Spot, part: Part);

    /// True if the item's bits in the first part are set. `prepared` is that of its hash, if many
    /// layers are tested.
    fn test_first<B: Backend>(
        &self,
        backend: B,
        spot: &Self::Spot,
        prepared: Option<&Self::Prepared<B>>,
    ) -> bool;

    /// True if the item's other bits are set.
    fn test_rest<B: Backend>(&self, backend: B, spot: &Self::Spot) -> bool;

    /// Bytes of the bits.
    fn bytes(&self) -> u64;
}

pub(crate) mod sealed {
    /// Only the layouts of this crate have layers.
    pub trait Sealed {}
}

/// One filter of fixed capacity: a layer of a
/// [`ScalableFilter`](crate::bloom::scalable::ScalableFilter).
pub trait Layer: Probe + sealed::Sealed {
    /// The layout of such layers.
    const LAYOUT: Layout;
    /// What all layers of a filter have in common.
    type Common: Copy;
    /// Items of a group in one layer.
    type Located: Located<Self>;
    /// A layer before it is built.
    type Shape: Copy + PartialEq;

    /// What items are hashed with.
    fn seed(common: &Self::Common) -> Self::Seed;

    /// Sets all bits of the item.
    fn set<B: Backend>(&mut self, backend: B, spot: &Self::Spot);

    /// Writes to the item's page if it is probably not backed by memory yet: one page fault instead
    /// of two. The layer holds `len` items, and this one may be inserted.
    fn prefault(&mut self, _len: u64, _spot: &Self::Spot) {}

    /// The bits.
    fn words(&self) -> &Words;

    /// The bits, to be written.
    fn words_mut(&mut self) -> &mut Words;

    /// Items the layer is sized for.
    fn capacity(&self) -> u64;

    /// Items in the layer, if it is not the newest one.
    fn len_when_older(&self) -> u64;

    /// Becomes an older layer, with `len` items.
    fn retire(&mut self, len: u64);

    /// The layer that follows when `last`, layer `index`, is full. All layers up to it have the
    /// capacity `capacity` together.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] if the filter does not grow, [`Error::TooManyLayers`], or a layer that is
    /// out of range.
    fn successor(
        common: &Self::Common,
        last: &Self::Shape,
        index: u32,
        capacity: u64,
    ) -> Result<(Self::Common, Self::Shape), Error>;

    /// Items that a layer of this shape is sized for.
    fn shape_capacity(shape: &Self::Shape) -> u64;

    /// The shape of this layer, which holds `len` items.
    fn shape_with(&self, len: u64) -> Self::Shape;

    /// Bytes of the bits of a layer of this shape.
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

    /// The computed false-positive rate with `len` items, in [0, 1].
    fn fp_rate(&self, len: u64) -> f64;

    /// Estimates the items and the rate of the union of layers of equal shape. About `sample` pages
    /// are counted.
    fn estimate<'a>(layers: impl Iterator<Item = &'a Self> + Clone, sample: usize) -> LayerEstimate
    where
        Self: 'a;

    /// Estimates the items and the rate of the layer by its fill. About `sample` pages are counted.
    fn by_fill(&self, sample: usize) -> LayerEstimate {
        Self::estimate(iter::once(self), sample)
    }

    /// Where the bits begin; see [`AnyFilter::first_byte`](crate::host::AnyFilter::first_byte).
    fn first_byte(common: &Self::Common) -> u64;

    /// Bytes of a filter of `layers` layers, at least one, whose bits take `bits_bytes` bytes:
    /// arithmetic, equal on every server.
    fn size_bytes(bits_bytes: u64, layers: u32) -> u64;
}

/// Items of a group, and where they lie in one layer.
///
/// A batch in a filter of one layer works on these: it pushes the hashes, locates all items, and
/// prefetches, tests and sets their blocks by their indexes. So a layout can locate several items
/// at once, and nothing is computed twice. Indexes must be below the number of items; others give
/// answers without meaning.
pub trait Located<L: Layer>: Sized {
    /// No items.
    fn new() -> Self;

    /// Drops all items.
    fn clear(&mut self);

    /// Adds an item, whose index is the number of items before it. There must be fewer than
    /// 64 items.
    fn push(&mut self, hash: L::Hash);

    /// The number of items.
    fn len(&self) -> usize;

    /// True if there are no items.
    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

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
