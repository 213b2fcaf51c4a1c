//! One Bloom filter of fixed capacity in the Bloomline layout.

use std::hint::{assert_unchecked, black_box};
use std::iter;

use super::geometry::{BLOCK_BYTES, Geometry};
use super::growth::{Common, Shape};
use super::hash::{ItemHash, item_hash};
use super::locate::{Spot, locate};
use super::located::LocatedBlocks;
use crate::error::Error;
use crate::estimate::LayerEstimate;
use crate::layer::{Layer, Located, Part, Probe, sealed};
use crate::memory::fill::fill_of_union;
use crate::memory::words::{Words, WordsRef};
use crate::simd::{BLOCK_SECTORS, Backend, Block, prefetch};
use crate::spec::Layout;

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

    /// The bits as bytes: little-endian words of 64 bits.
    pub fn as_bytes(&self) -> &[u8] {
        self.words.as_bytes()
    }

    /// The bits as bytes, to be written.
    pub fn as_mut_bytes(&mut self) -> &mut [u8] {
        self.words.as_mut_bytes()
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

    /// The bits as bytes: little-endian words of 64 bits.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.words.as_bytes()
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

    /// See [`Layer::by_fill`].
    pub(crate) fn by_fill(&self, sample: usize) -> LayerEstimate {
        Self::estimate(iter::once(*self), sample)
    }

    /// See [`Layer::estimate`].
    fn estimate(layers: impl Iterator<Item = Self> + Clone, sample: usize) -> LayerEstimate {
        let Some(shape) = layers.clone().next().map(|layer| layer.shape()) else {
            return LayerEstimate::default();
        };
        let fold = shape.fold();
        let page_words = shape.geometry.blocks_per_page() as usize * BLOCK_SECTORS;
        let mut start = 0;
        let fills = fold.parts().map(|part| {
            let len = part.pages as usize * page_words;
            let range = start..start + len;
            start += len;
            let words = layers
                .clone()
                .map(|layer| layer.words.as_slice().get(range.clone()).unwrap_or_default());
            // The sample is divided by size, and each part has at least one page.
            fill_of_union(words, (sample as u64 * part.pages / fold.stored()) as usize)
        });
        fold.estimate(&shape.geometry, fills)
    }

    #[inline(always)]
    fn blocks(&self) -> &'a [Block] {
        Block::of(self.words.as_slice())
    }
}

impl Probe for LayerRef<'_> {
    type Common = Common;
    type Hash = ItemHash;
    type Spot = Spot;
    type Prepared<B: Backend> = B::Pattern;
    // Smaller layers are in cache: a prefetch costs more than it gains.
    const PREFETCH_FROM: u64 = 128 << 10;
    const STAGED_FROM: u64 = 8 << 20;
    const IS_VECTORIZED: bool = true;

    #[inline(always)]
    fn hash(common: &Common, item: &[u8]) -> ItemHash {
        item_hash(item, common.seed)
    }

    #[inline(always)]
    fn prepare<B: Backend>(backend: B, hash: &ItemHash) -> B::Pattern {
        backend.prepare(hash.pattern)
    }

    #[inline(always)]
    fn locate(&self, hash: &ItemHash) -> Spot {
        let blocks = self.blocks().len();
        let spot = locate(hash, &self.geometry, blocks as u64);
        if !self.geometry.is_folded() {
            // SAFETY: a hash scaled to the number of blocks is below it if that is not 0, which both
            // constructors of a view guarantee (the invariant of `words`). The compiler, which
            // cannot know that, drops the check of the index where a spot is used at once.
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
                for (index, _) in spot.further(&self.geometry) {
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
        let bits = self.geometry.bits_per_block();
        match prepared {
            Some(&pattern) => backend.test(block, pattern, bits),
            None => backend.test_once(block, spot.hash.pattern, bits),
        }
    }

    #[inline(always)]
    fn test_rest<B: Backend>(&self, backend: B, spot: &Spot) -> bool {
        test_blocks(backend, self.blocks(), self.geometry, spot.further(&self.geometry))
    }

    #[inline(always)]
    fn bytes(&self) -> u64 {
        self.words.bytes()
    }
}

impl Probe for BlockedLayer {
    type Common = Common;
    type Hash = ItemHash;
    type Spot = Spot;
    type Prepared<B: Backend> = B::Pattern;
    const PREFETCH_FROM: u64 = LayerRef::PREFETCH_FROM;
    const STAGED_FROM: u64 = LayerRef::STAGED_FROM;
    const IS_VECTORIZED: bool = LayerRef::IS_VECTORIZED;

    #[inline(always)]
    fn hash(common: &Common, item: &[u8]) -> ItemHash {
        LayerRef::hash(common, item)
    }

    #[inline(always)]
    fn prepare<B: Backend>(backend: B, hash: &ItemHash) -> B::Pattern {
        LayerRef::prepare(backend, hash)
    }

    #[inline(always)]
    fn locate(&self, hash: &ItemHash) -> Spot {
        self.view().locate(hash)
    }

    #[inline(always)]
    fn prefetch(&self, spot: &Spot, part: Part) {
        self.view().prefetch(spot, part);
    }

    #[inline(always)]
    fn test_first<B: Backend>(
        &self,
        backend: B,
        spot: &Spot,
        prepared: Option<&B::Pattern>,
    ) -> bool {
        self.view().test_first(backend, spot, prepared)
    }

    #[inline(always)]
    fn test_rest<B: Backend>(&self, backend: B, spot: &Spot) -> bool {
        self.view().test_rest(backend, spot)
    }

    #[inline(always)]
    fn bytes(&self) -> u64 {
        self.words.bytes()
    }
}

/// True if the bits of an item in some blocks, given by index and pattern, are set.
#[inline(always)]
fn test_blocks<B: Backend>(
    backend: B,
    blocks: &[Block],
    geometry: Geometry,
    places: impl Iterator<Item = (usize, u64)>,
) -> bool {
    // No closures around the backend: they do not carry its target features.
    for (index, pattern) in places {
        let Some(block) = blocks.get(index) else { return false };
        if !backend.test_once(block, pattern, geometry.bits_per_block()) {
            return false;
        }
    }
    true
}

/// Sets the bits of an item in some blocks, given by index and pattern.
#[inline(always)]
fn set_blocks<B: Backend>(
    backend: B,
    blocks: &mut [Block],
    geometry: Geometry,
    places: impl Iterator<Item = (usize, u64)>,
) {
    for (index, pattern) in places {
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

impl Located<BlockedLayer> for LocatedBlocks {
    #[inline(always)]
    fn new() -> Self {
        Self::new()
    }

    #[inline(always)]
    fn clear(&mut self) {
        self.clear();
    }

    #[inline(always)]
    fn push(&mut self, hash: ItemHash) {
        self.push(hash);
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn locate(&mut self, layer: &BlockedLayer) {
        self.locate(&layer.geometry, layer.view().blocks().len() as u64);
    }

    #[inline(always)]
    fn hash(&self, index: usize) -> ItemHash {
        self.hash(index)
    }

    #[inline(always)]
    fn prefetch(&self, layer: &BlockedLayer, index: usize, part: Part) {
        let blocks = Block::of(layer.words.as_slice()).as_ptr();
        match part {
            Part::First => prefetch(blocks.wrapping_add(self.first(index).0)),
            Part::Rest => {
                for (block, _) in self.further(&layer.geometry, index) {
                    prefetch(blocks.wrapping_add(block));
                }
            }
        }
    }

    #[inline(always)]
    fn test_first<B: Backend>(&self, backend: B, layer: &BlockedLayer, index: usize) -> bool {
        let blocks = Block::of(layer.words.as_slice());
        test_blocks(backend, blocks, layer.geometry, iter::once(self.first(index)))
    }

    #[inline(always)]
    fn test_rest<B: Backend>(&self, backend: B, layer: &BlockedLayer, index: usize) -> bool {
        let blocks = Block::of(layer.words.as_slice());
        test_blocks(backend, blocks, layer.geometry, self.further(&layer.geometry, index))
    }

    #[inline(always)]
    fn set<B: Backend>(&self, backend: B, layer: &mut BlockedLayer, index: usize) {
        let (geometry, blocks) = (layer.geometry, Block::of_mut(layer.words.as_mut_slice()));
        set_blocks(backend, blocks, geometry, iter::once(self.first(index)));
        set_blocks(backend, blocks, geometry, self.further(&geometry, index));
    }
}

impl sealed::Sealed for BlockedLayer {}

impl Layer for BlockedLayer {
    const LAYOUT: Layout = Layout::Bloomline;
    type Located = LocatedBlocks;
    type Shape = Shape;

    #[inline(always)]
    fn set<B: Backend>(&mut self, backend: B, spot: &Spot) {
        set_bits(self.words.as_mut_slice(), self.geometry, backend, spot);
    }

    /// The operating system backs a page at its first access, and again at its first write if it
    /// was only read: reading first would cost two page faults per item, 2 us each. With four items
    /// per page on average, 98 % of the pages are backed; small layers do not matter.
    #[inline(always)]
    fn prefault(&mut self, len: u64, spot: &Spot) {
        const ITEMS_PER_PAGE: u64 = 4;
        const FROM_PAGES: u64 = 256;
        let pages = self.geometry.pages();
        if len < pages * ITEMS_PER_PAGE
            && pages >= FROM_PAGES
            && let Some(Block([sector, ..])) =
                Block::of_mut(self.words.as_mut_slice()).get_mut(spot.first)
        {
            // One instruction that reads and writes; the compiler does not know that it changes
            // nothing.
            *sector |= black_box(0);
        }
    }

    fn words(&self) -> &Words {
        &self.words
    }

    fn words_mut(&mut self) -> &mut Words {
        &mut self.words
    }

    #[inline]
    fn capacity(&self) -> u64 {
        self.capacity
    }

    #[inline]
    fn len_when_older(&self) -> u64 {
        self.capacity
    }

    fn retire(&mut self, _len: u64) {}

    fn successor(
        common: &Common,
        last: &Shape,
        index: u32,
        capacity: u64,
    ) -> Result<(Common, Shape), Error> {
        common.successor(last, index, capacity)
    }

    fn shape_capacity(shape: &Shape) -> u64 {
        shape.capacity
    }

    fn shape_with(&self, _len: u64) -> Shape {
        self.shape()
    }

    fn shape_bytes(shape: &Shape) -> u64 {
        shape.bytes()
    }

    fn build(shape: &Shape) -> Result<Self, Error> {
        let &Shape { geometry, capacity, .. } = shape;
        let words = Words::zeroed(shape.bytes() / BLOCK_BYTES * BLOCK_SECTORS as u64)?;
        Ok(Self { words, capacity, geometry })
    }

    fn try_clone(&self) -> Result<Self, Error> {
        Ok(Self { words: self.words.try_clone()?, ..*self })
    }

    fn fp_rate(&self, len: u64) -> f64 {
        self.shape().fp_rate(len)
    }

    fn estimate<'a>(
        layers: impl Iterator<Item = &'a Self> + Clone,
        sample: usize,
    ) -> LayerEstimate {
        LayerRef::estimate(layers.map(Self::view), sample)
    }

    fn first_byte(common: &Common) -> u64 {
        common.first_byte()
    }

    fn size_bytes(bits_bytes: u64, layers: u32) -> u64 {
        let table = u64::from(layers - 1) * LAYER_BYTES;
        bits_bytes.saturating_add(FILTER_BYTES + table)
    }
}
