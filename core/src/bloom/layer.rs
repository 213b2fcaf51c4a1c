//! A layer of any layout: a bit array, and a shape that maps items to its bits.
//!
//! An item is hashed once for all layers. A layer *locates* it: from the hash to the blocks and
//! bits that the item has there, its [`Spot`](LayerShape::Spot). Everything else works on the spot:
//! to prefetch its blocks, to test its bits, to set them.
//!
//! A layout is its [`Rules`] and a [`LayerShape`]. Merging and compacting have their own traits and
//! rooms.

use std::fmt;
use std::iter;

use arrayvec::ArrayVec;

use crate::error::Error;
use crate::mask::Mask;
use crate::math::estimate::LayerEstimate;
use crate::memory::words::{Words, WordsRef};
use crate::simd::Backend;
use crate::spec::Layout;

/// One filter of fixed capacity: a layer of a
/// [`ScalableFilter`](crate::bloom::scalable::ScalableFilter).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layer<S: Rules, W = Words> {
    /// The bits: [`Words`], [`WordsRef`] if they are a part of other memory, or [`Unbuilt`]. Their
    /// number is that of the shape, in the Bloomline layout at least one block unless the layer is
    /// small: whoever changes one of the two keeps that.
    pub(crate) words: W,
    pub(crate) shape: S,
    /// Follows from the shape.
    pub(crate) divisor: S::Divisor,
}

/// The bits of a layer before they are allocated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unbuilt {
    pub(crate) bytes: u64,
}

/// A layer before it is built.
pub type Plan<S> = Layer<S, Unbuilt>;

/// The bits of a layer, which may not be there yet.
pub trait Extent {
    fn bytes(&self) -> u64;
}

/// The bits of a layer, to be read.
pub trait Readable: Extent {
    fn as_slice(&self) -> &[u64];
}

/// Some of the blocks of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Those that are tested first, and that most absent items fail in.
    First,
    /// The others.
    Rest,
}

pub(crate) mod sealed {
    /// Only the layouts of this crate have layers.
    pub trait Sealed {}
}

/// Everything about a layer but its bits: how a layout hashes items, and sizes and grows filters.
pub trait Rules: Copy + fmt::Debug + PartialEq + sealed::Sealed {
    const LAYOUT: Layout;
    /// What all layers of a filter have in common.
    type Params: Copy;
    /// What items are hashed with, for all layers of a filter.
    type Seed: Copy;
    /// The hash of an item, for all layers.
    type Hash: Copy;
    /// What remainders by the number of bits are computed with.
    type Divisor: Copy + fmt::Debug + PartialEq;

    /// What items are hashed with.
    fn seed(params: &Self::Params) -> Self::Seed;

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

    /// Items the layer is sized for.
    fn capacity(&self) -> u64;

    /// Items in the layer, if it is not the newest one.
    #[inline]
    fn len_when_older(&self) -> u64 {
        self.capacity()
    }

    /// Becomes the shape of an older layer, with `len` items.
    fn retire(&mut self, _len: u64) {}

    /// The layer that follows when `last`, layer `index`, is full. All layers up to it have the
    /// capacity `capacity` together.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] if the filter does not grow, [`Error::TooManyLayers`], or a layer that is
    /// out of range.
    fn successor(
        params: &Self::Params,
        last: &Plan<Self>,
        index: u32,
        capacity: u64,
    ) -> Result<(Self::Params, Plan<Self>), Error>;

    /// Where the bits begin; see [`AnyFilter::first_byte`](crate::host::AnyFilter::first_byte).
    fn first_byte(_params: &Self::Params) -> u64 {
        0
    }

    /// Bytes of a filter of `layers` layers, at least one, whose bits take `bits_bytes` bytes, each
    /// layer in its own allocation: arithmetic, equal on every server.
    fn size_bytes(bits_bytes: u64, layers: u32) -> u64;

    /// Bytes of [`Rules::size_bytes`] that limits do not count.
    fn unlimited_bytes(_layers: u32) -> u64 {
        0
    }
}

/// Where the bits of an item lie in a layer of this shape.
pub trait LayerShape: Rules {
    /// Bytes from which a group's blocks are prefetched.
    const PREFETCH_FROM: u64;
    /// Bytes from which the blocks of [`Part::Rest`] are prefetched only for items whose first
    /// part is set: an absent item costs more by its cache lines than by a branch.
    const STAGED_FROM: u64;
    /// True if the layout has code for vector instructions. Without, compilers would make slow
    /// gathers of its loops where they may use them.
    const IS_VECTORIZED: bool;
    /// Where the item of a hash lies in one layer.
    type Spot: Copy + Into<Self::Hash>;
    /// What is computed of a hash once for many layers.
    type Prepared<B: Backend>: Copy;
    /// Items of a group in one layer.
    type Located: Located<Self>;

    /// True if the layer is small: items are tested at once there, and one by one also in batches.
    /// The methods that test a part of an item's bits are for other layers.
    #[inline(always)]
    fn is_small(&self) -> bool {
        false
    }

    /// Older layers up to the newest small one, of `older` older layers. Those after them are not
    /// small, so loops over them have no branch for that.
    #[inline(always)]
    fn with_small(_params: &Self::Params, _older: usize) -> usize {
        0
    }

    /// True if a small layer contains the item.
    #[inline(always)]
    fn small_contains<W: Readable>(_layer: &Layer<Self, W>, _spot: &Self::Spot) -> bool {
        false
    }

    /// Prepares a hash for many layers.
    fn prepare<B: Backend>(backend: B, hash: &Self::Hash) -> Self::Prepared<B>;

    fn locate<W: Readable>(layer: &Layer<Self, W>, hash: &Self::Hash) -> Self::Spot;

    /// Prefetches a part of the item's blocks.
    fn prefetch<W: Readable>(layer: &Layer<Self, W>, spot: &Self::Spot, part: Part);

    /// True if the item's bits in the first part are set. `prepared` is that of its hash, if many
    /// layers are tested.
    fn test_first<B: Backend, W: Readable>(
        backend: B,
        layer: &Layer<Self, W>,
        spot: &Self::Spot,
        prepared: Option<&Self::Prepared<B>>,
    ) -> bool;

    /// True if the item's other bits are set.
    fn test_rest<B: Backend, W: Readable>(
        backend: B,
        layer: &Layer<Self, W>,
        spot: &Self::Spot,
    ) -> bool;

    /// Sets all bits of the item.
    fn set<B: Backend>(backend: B, layer: &mut Layer<Self>, spot: &Self::Spot);

    /// Writes to the item's page if it is probably not backed by memory yet: one page fault instead
    /// of two. The layer holds `len` items, and this one may be inserted.
    #[inline(always)]
    fn prefault(_layer: &mut Layer<Self>, _len: u64, _spot: &Self::Spot) {}

    /// The computed false-positive rate of a layer of `bytes` bytes with `len` items, in [0, 1].
    fn fp_rate(&self, bytes: u64, len: u64) -> f64;

    /// Estimates the items and the rate of the union of layers of this shape. About `sample` pages
    /// are counted.
    fn estimate<'a>(
        &self,
        layers: impl Iterator<Item = &'a [u64]> + Clone,
        sample: usize,
    ) -> LayerEstimate;
}

impl<S: LayerShape, W: Extent> Layer<S, W> {
    /// A layer of this shape with these bits.
    #[inline(always)]
    pub(crate) fn with<V>(&self, words: V) -> Layer<S, V> {
        Layer { words, shape: self.shape, divisor: self.divisor }
    }

    /// Everything about the layer but its bits. RedisBloom's `len` is not up to date in the newest
    /// layer of a filter.
    pub fn shape(&self) -> &S {
        &self.shape
    }

    /// Items the layer is sized for.
    #[inline]
    pub fn capacity(&self) -> u64 {
        self.shape.capacity()
    }

    #[inline(always)]
    pub fn bytes(&self) -> u64 {
        self.words.bytes()
    }

    pub fn plan(&self) -> Plan<S> {
        self.with(Unbuilt { bytes: self.bytes() })
    }

    /// The plan of this layer, which holds `len` items.
    pub fn plan_with(&self, len: u64) -> Plan<S> {
        let mut plan = self.plan();
        plan.shape.retire(len);
        plan
    }

    /// The computed false-positive rate with `len` items, in [0, 1].
    pub fn fp_rate(&self, len: u64) -> f64 {
        self.shape.fp_rate(self.bytes(), len)
    }
}

impl<S: Rules> Layer<S> {
    pub fn as_bytes(&self) -> &[u8] {
        self.words.as_bytes()
    }
}

impl<S: LayerShape, W: Readable> Layer<S, W> {
    #[inline(always)]
    pub fn words(&self) -> &W {
        &self.words
    }

    /// The layer in local variables, for loops: it is not loaded again for each item.
    #[inline(always)]
    pub(crate) fn local(&self) -> Layer<S, &[u64]> {
        self.with(self.words.as_slice())
    }

    #[inline(always)]
    pub fn locate(&self, hash: &S::Hash) -> S::Spot {
        S::locate(self, hash)
    }

    #[inline(always)]
    pub fn prefetch(&self, spot: &S::Spot, part: Part) {
        S::prefetch(self, spot, part);
    }

    #[inline(always)]
    pub fn test_first<B: Backend>(
        &self,
        backend: B,
        spot: &S::Spot,
        prepared: Option<&S::Prepared<B>>,
    ) -> bool {
        S::test_first(backend, self, spot, prepared)
    }

    #[inline(always)]
    pub fn test_rest<B: Backend>(&self, backend: B, spot: &S::Spot) -> bool {
        S::test_rest(backend, self, spot)
    }

    /// True if the layer contains the item of a hash.
    #[inline(always)]
    pub(crate) fn contains_hash<B: Backend>(&self, backend: B, hash: &S::Hash) -> bool {
        // Before the item is located, so that this is one branch.
        if self.shape.is_small() {
            return self.small_contains(&self.locate(hash));
        }
        self.blocks_contain(backend, hash)
    }

    /// The same for a layer that is not small.
    #[inline(always)]
    pub(crate) fn blocks_contain<B: Backend>(&self, backend: B, hash: &S::Hash) -> bool {
        let spot = self.locate(hash);
        self.test_first(backend, &spot, None) && self.test_rest(backend, &spot)
    }

    /// See [`LayerShape::small_contains`]. Not inlined, so that callers need no registers for it.
    #[inline(never)]
    fn small_contains(&self, spot: &S::Spot) -> bool {
        S::small_contains(self, spot)
    }

    /// True if the layer contains the item.
    #[inline(always)]
    pub fn contains<B: Backend>(&self, backend: B, spot: &S::Spot) -> bool {
        if self.shape.is_small() {
            return self.small_contains(spot);
        }
        self.test_first(backend, spot, None) && self.test_rest(backend, spot)
    }

    /// Estimates the items and the rate of the union of layers of equal shape. About `sample` pages
    /// are counted.
    pub fn estimate<'a>(
        layers: impl Iterator<Item = &'a Self> + Clone,
        sample: usize,
    ) -> LayerEstimate
    where
        Self: 'a,
    {
        let Some(first) = layers.clone().next() else { return LayerEstimate::default() };
        first.shape.estimate(layers.map(|layer| layer.words.as_slice()), sample)
    }

    /// Estimates the items and the rate of the layer by its fill. About `sample` pages are counted.
    pub fn by_fill(&self, sample: usize) -> LayerEstimate {
        Self::estimate(iter::once(self), sample)
    }
}

impl<S: LayerShape> Layer<S> {
    /// An empty layer.
    pub fn build(plan: &Plan<S>) -> Result<Self, Error> {
        Ok(plan.with(Words::for_bytes(plan.bytes())?))
    }

    pub fn try_clone(&self) -> Result<Self, Error> {
        Ok(Self { words: self.words.try_clone()?, ..*self })
    }

    /// The bits, to be written.
    pub fn words_mut(&mut self) -> &mut Words {
        &mut self.words
    }

    #[inline(always)]
    pub fn set<B: Backend>(&mut self, backend: B, spot: &S::Spot) {
        S::set(backend, self, spot);
    }

    #[inline(always)]
    pub fn prefault(&mut self, len: u64, spot: &S::Spot) {
        S::prefault(self, len, spot);
    }

    /// Items in the layer, if it is not the newest one.
    #[inline]
    pub fn len_when_older(&self) -> u64 {
        self.shape.len_when_older()
    }
}

impl Extent for Unbuilt {
    #[inline(always)]
    fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Extent for Words {
    #[inline(always)]
    fn bytes(&self) -> u64 {
        Words::bytes(self)
    }
}

impl Readable for Words {
    #[inline(always)]
    fn as_slice(&self) -> &[u64] {
        Words::as_slice(self)
    }
}

impl Extent for WordsRef<'_> {
    #[inline(always)]
    fn bytes(&self) -> u64 {
        WordsRef::bytes(*self)
    }
}

impl Readable for WordsRef<'_> {
    #[inline(always)]
    fn as_slice(&self) -> &[u64] {
        WordsRef::as_slice(*self)
    }
}

impl Extent for &[u64] {
    #[inline(always)]
    fn bytes(&self) -> u64 {
        size_of_val(*self) as u64
    }
}

impl Readable for &[u64] {
    #[inline(always)]
    fn as_slice(&self) -> &[u64] {
        self
    }
}

/// Items of a group, and where they lie in one layer.
///
/// A batch in a filter of one layer works on these: it pushes the hashes, locates all items, and
/// prefetches, tests and sets their blocks by their indexes. So a layout can locate several items
/// at once, and nothing is computed twice. Indexes must be below the number of items, and layers
/// not [small](LayerShape::is_small); others give answers without meaning.
pub trait Located<S: LayerShape>: Sized {
    fn new() -> Self;

    fn clear(&mut self);

    /// Adds an item, whose index is the number of items before it. There must be fewer than
    /// 64 items.
    fn push(&mut self, hash: S::Hash);

    fn len(&self) -> usize;

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Locates all items in a layer, that of all calls below.
    fn locate(&mut self, layer: &Layer<S>);

    fn hash(&self, index: usize) -> S::Hash;

    /// Prefetches a part of an item's blocks.
    fn prefetch(&self, layer: &Layer<S>, index: usize, part: Part);

    /// True if an item's bits in the first part are set.
    fn test_first<B: Backend>(&self, backend: B, layer: &Layer<S>, index: usize) -> bool;

    /// True if an item's other bits are set.
    fn test_rest<B: Backend>(&self, backend: B, layer: &Layer<S>, index: usize) -> bool;

    /// Sets all bits of an item.
    fn set<B: Backend>(&self, backend: B, layer: &mut Layer<S>, index: usize);

    /// True if the layer contains an item.
    #[inline(always)]
    fn is_in<B: Backend>(&self, backend: B, layer: &Layer<S>, index: usize) -> bool {
        self.test_first(backend, layer, index) && self.test_rest(backend, layer, index)
    }

    /// Prefetches all blocks of all items if the layer is not in the nearest cache.
    #[inline(always)]
    fn prefetch_all(&self, layer: &Layer<S>) {
        if layer.bytes() >= S::PREFETCH_FROM {
            for index in 0..self.len() {
                self.prefetch(layer, index, Part::First);
                self.prefetch(layer, index, Part::Rest);
            }
        }
    }
}

/// Items of a group that are located one by one when their bits are needed.
pub struct Hashes<H>(ArrayVec<H, { Mask::ITEMS }>);

impl<S: LayerShape> Located<S> for Hashes<S::Hash>
where
    S::Hash: Default,
{
    #[inline(always)]
    fn new() -> Self {
        Self(ArrayVec::new())
    }

    #[inline(always)]
    fn clear(&mut self) {
        self.0.clear();
    }

    #[inline(always)]
    fn push(&mut self, hash: S::Hash) {
        // There is room: the caller adds no more items.
        let _ = self.0.try_push(hash);
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn locate(&mut self, _layer: &Layer<S>) {}

    #[inline(always)]
    fn hash(&self, index: usize) -> S::Hash {
        self.0.get(index).copied().unwrap_or_default()
    }

    #[inline(always)]
    fn prefetch(&self, layer: &Layer<S>, index: usize, part: Part) {
        if let Some(hash) = self.0.get(index) {
            layer.prefetch(&layer.locate(hash), part);
        }
    }

    #[inline(always)]
    fn test_first<B: Backend>(&self, backend: B, layer: &Layer<S>, index: usize) -> bool {
        self.0.get(index).is_some_and(|hash| layer.test_first(backend, &layer.locate(hash), None))
    }

    #[inline(always)]
    fn test_rest<B: Backend>(&self, backend: B, layer: &Layer<S>, index: usize) -> bool {
        self.0.get(index).is_some_and(|hash| layer.test_rest(backend, &layer.locate(hash)))
    }

    #[inline(always)]
    fn set<B: Backend>(&self, backend: B, layer: &mut Layer<S>, index: usize) {
        if let Some(hash) = self.0.get(index) {
            layer.set(backend, &layer.locate(hash));
        }
    }
}
