//! One Bloom filter of fixed capacity in the Bloomline layout.

use std::hint::assert_unchecked;
use std::iter;

use super::geometry::Geometry;
use super::growth::Shape;
use super::locate::{Spot, locate};
use crate::bloom::layer::{Part, Probe};
use crate::hash::xxh3::{ItemHash, item_hash};
use crate::math::estimate::LayerEstimate;
use crate::memory::fill::fill_of_union;
use crate::memory::words::{Words, WordsRef};
use crate::simd::{BLOCK_SECTORS, Backend, Block, prefetch};

/// Bytes of a filter besides the bits of its layers and the table of its older layers: the size of
/// [`Filter`](super::Filter) on a 64-bit machine.
pub(crate) const FILTER_BYTES: u64 = 96;

/// Bytes of an older layer besides its bits: the size of [`BlockedLayer`] on a 64-bit machine.
/// Sizes must not depend on the machine that computes them.
pub(crate) const LAYER_BYTES: u64 = 32;

/// A bit array of fixed size, and the geometry that maps items to its bits.
#[derive(Debug)]
pub struct BlockedLayer {
    /// At least one block: `build` allocates the pages of a geometry, which are not empty, and only
    /// folding changes their number, to that of a geometry too.
    pub(crate) words: Words,
    pub(crate) capacity: u64,
    pub(crate) geometry: Geometry,
}

impl BlockedLayer {
    /// The geometry of the layer.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The layer without its bits.
    pub fn shape(&self) -> Shape {
        self.view().shape()
    }

    /// The layer, to be read.
    #[inline(always)]
    pub fn view(&self) -> LayerRef<'_> {
        debug_assert!(self.words.len() >= BLOCK_SECTORS as u64, "a layer without a block");
        LayerRef { words: self.words.view(), capacity: self.capacity, geometry: self.geometry }
    }
}

/// A layer to be read: a [`BlockedLayer`], or one whose bits are a part of other memory.
#[derive(Clone, Copy)]
pub struct LayerRef<'a> {
    /// At least one block.
    words: WordsRef<'a>,
    capacity: u64,
    geometry: Geometry,
}

impl LayerRef<'static> {
    /// A layer of one block, without items.
    pub(crate) const NONE: Self = Self {
        words: WordsRef::new(&[0; BLOCK_SECTORS]),
        capacity: 1,
        geometry: Geometry::of_pages(1, 1, 1, 1),
    };
}

impl<'a> LayerRef<'a> {
    /// An unfolded layer with these bits; `None` without a block of them.
    #[inline(always)]
    pub(crate) fn new(words: &'a [u64], capacity: u64, geometry: Geometry) -> Option<Self> {
        let layer = Self { words: WordsRef::new(words), capacity, geometry };
        (!layer.blocks().is_empty()).then_some(layer)
    }

    /// The bits.
    pub fn words(&self) -> WordsRef<'a> {
        self.words
    }

    /// Items the layer is sized for.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The geometry of the layer.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The layer without its bits.
    pub fn shape(&self) -> Shape {
        let page_blocks = self.geometry.blocks_per_page();
        let stored = (self.blocks().len() as u64 / page_blocks) as u32;
        Shape { capacity: self.capacity, geometry: self.geometry, stored }
    }

    /// The computed false-positive rate with `len` items, in [0, 1].
    pub fn fp_rate(&self, len: u64) -> f64 {
        self.shape().fp_rate(len)
    }

    /// See [`Layer::by_fill`](crate::bloom::layer::Layer::by_fill).
    pub(crate) fn by_fill(&self, sample: usize) -> LayerEstimate {
        Self::estimate(iter::once(*self), sample)
    }

    /// See [`Layer::estimate`](crate::bloom::layer::Layer::estimate).
    pub(super) fn estimate(
        layers: impl Iterator<Item = Self> + Clone,
        sample: usize,
    ) -> LayerEstimate {
        let Some(shape) = layers.clone().next().map(|layer| layer.shape()) else {
            return LayerEstimate::default();
        };
        let fold = shape.fold();
        let page_words = shape.geometry.blocks_per_page() as usize * BLOCK_SECTORS;
        let mut start = 0;
        let fills = fold.shared_pages().map(|shared| {
            let len = shared.pages as usize * page_words;
            let range = start..start + len;
            start += len;
            let words = layers
                .clone()
                .map(|layer| layer.words.as_slice().get(range.clone()).unwrap_or_default());
            // The sample is divided by size, and each part has at least one page.
            fill_of_union(words, (sample as u64 * shared.pages / fold.stored()) as usize)
        });
        fold.estimate(&shape.geometry, fills)
    }

    #[inline(always)]
    fn blocks(&self) -> &'a [Block] {
        Block::of(self.words.as_slice())
    }
}

/// What an item is tested in: the blocks of a layer, and where they lie.
///
/// # Safety
///
/// There is at least one block.
unsafe trait Blocks {
    fn blocks(&self) -> &[Block];

    fn geometry(&self) -> Geometry;
}

// SAFETY: the invariant of `words`.
unsafe impl Blocks for BlockedLayer {
    #[inline(always)]
    fn blocks(&self) -> &[Block] {
        Block::of(self.words.as_slice())
    }

    #[inline(always)]
    fn geometry(&self) -> Geometry {
        self.geometry
    }
}

// SAFETY: the invariant of `words`.
unsafe impl Blocks for LayerRef<'_> {
    #[inline(always)]
    fn blocks(&self) -> &[Block] {
        Block::of(self.words.as_slice())
    }

    #[inline(always)]
    fn geometry(&self) -> Geometry {
        self.geometry
    }
}

impl<L: Blocks> Probe for L {
    type Seed = u64;
    type Hash = ItemHash;
    type Spot = Spot;
    type Prepared<B: Backend> = B::Pattern;
    // Smaller layers are in cache: a prefetch costs more than it gains.
    const PREFETCH_FROM: u64 = 128 << 10;
    const STAGED_FROM: u64 = 8 << 20;
    const IS_VECTORIZED: bool = true;

    #[inline(always)]
    fn hash(seed: &u64, item: &[u8]) -> ItemHash {
        item_hash(item, *seed)
    }

    #[inline(always)]
    fn prepare<B: Backend>(backend: B, hash: &ItemHash) -> B::Pattern {
        backend.prepare(hash.pattern)
    }

    #[inline(always)]
    fn locate(&self, hash: &ItemHash) -> Spot {
        let blocks = self.blocks().len();
        let spot = locate(hash, &self.geometry(), blocks as u64);
        if !self.geometry().is_folded() {
            // SAFETY: a hash scaled to the number of blocks is below it if that is not 0, which
            // `Blocks` guarantees. The compiler, which cannot know that, drops the check of the
            // index where a spot is used at once.
            unsafe { assert_unchecked(spot.first < blocks) };
        }
        spot
    }

    #[inline(always)]
    fn prefetch(&self, spot: &Spot, part: Part) {
        let blocks = self.blocks().as_ptr();
        match part {
            Part::First => prefetch(blocks.wrapping_add(spot.first)),
            Part::Rest => {
                for (index, _) in spot.further(&self.geometry()) {
                    prefetch(blocks.wrapping_add(index));
                }
            }
        }
    }

    #[inline(always)]
    fn test_first<B: Backend>(
        &self,
        backend: B,
        spot: &Spot,
        prepared: Option<&B::Pattern>,
    ) -> bool {
        let Some(block) = self.blocks().get(spot.first) else { return false };
        let bits = self.geometry().bits_per_block();
        match prepared {
            Some(&pattern) => backend.test(block, pattern, bits),
            None => backend.test_once(block, spot.hash.pattern, bits),
        }
    }

    #[inline(always)]
    fn test_rest<B: Backend>(&self, backend: B, spot: &Spot) -> bool {
        test_blocks(backend, self.blocks(), self.geometry(), spot.further(&self.geometry()))
    }

    #[inline(always)]
    fn bytes(&self) -> u64 {
        size_of_val(self.blocks()) as u64
    }
}

/// True if the bits of an item in some blocks, given by index and pattern, are set.
#[inline(always)]
pub(super) fn test_blocks<B: Backend>(
    backend: B,
    blocks: &[Block],
    geometry: Geometry,
    indexes: impl Iterator<Item = (usize, u64)>,
) -> bool {
    // No closures around the backend: they do not carry its target features.
    for (index, pattern) in indexes {
        let Some(block) = blocks.get(index) else { return false };
        if !backend.test_once(block, pattern, geometry.bits_per_block()) {
            return false;
        }
    }
    true
}

/// Sets the bits of an item in some blocks, given by index and pattern.
#[inline(always)]
pub(super) fn set_blocks<B: Backend>(
    backend: B,
    blocks: &mut [Block],
    geometry: Geometry,
    indexes: impl Iterator<Item = (usize, u64)>,
) {
    for (index, pattern) in indexes {
        if let Some(block) = blocks.get_mut(index) {
            backend.set(block, pattern, geometry.bits_per_block());
        }
    }
}

/// Sets all bits of an item that lies at `spot` of a layer with these bits.
#[inline(always)]
pub(crate) fn set_bits<B: Backend>(words: &mut [u64], geometry: Geometry, backend: B, spot: &Spot) {
    let blocks = Block::of_mut(words);
    set_blocks(backend, blocks, geometry, iter::once((spot.first, spot.hash.pattern)));
    set_blocks(backend, blocks, geometry, spot.further(&geometry));
}
