//! The shape of a layer in the Bloomline layout, and the blocks of its bits.

use std::iter;

use super::fold::Fold;
use super::geometry::Geometry;
use super::locate::Spot;
use super::sectors;
use crate::bloom::layer::{Extent, Layer, Plan, Readable, Unbuilt};
use crate::memory::words::WordsRef;
use crate::simd::{BLOCK_SECTORS, Backend, Block};

/// Bytes of a filter besides the bits of its layers and the table of its older layers: the size of
/// [`Filter`](super::Filter) on a 64-bit machine.
pub(crate) const FILTER_BYTES: u64 = 96;

/// Bytes of an older layer besides its bits: the size of [`BlockedLayer`] on a 64-bit machine.
/// Sizes must not depend on the machine that computes them.
pub(crate) const LAYER_BYTES: u64 = 32;

/// The capacity of a layer, and the geometry that maps items to its bits. Of a folded layer, the
/// number of stored pages follows from that of its bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockedShape {
    pub(crate) capacity: u64,
    pub(crate) geometry: Geometry,
}

/// A layer in the Bloomline layout.
pub type BlockedLayer = Layer<BlockedShape>;

/// A layer in the Bloomline layout to be read, whose bits may be a part of other memory.
pub type LayerRef<'a> = Layer<BlockedShape, WordsRef<'a>>;

/// A layer in the Bloomline layout, before it is built.
pub type BlockedPlan = Plan<BlockedShape>;

impl<W: Extent> Layer<BlockedShape, W> {
    /// The geometry: of a folded layer, that of the hashed pages.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        &self.shape.geometry
    }

    /// How the hashed pages share the stored ones.
    pub fn fold(&self) -> Fold {
        self.shape.fold(self.words.bytes())
    }
}

impl<W: Readable> Layer<BlockedShape, W> {
    #[inline(always)]
    pub(super) fn blocks(&self) -> &[Block] {
        Block::of(self.words.as_slice())
    }
}

impl BlockedLayer {
    /// The layer, to be read.
    #[inline(always)]
    pub fn view(&self) -> LayerRef<'_> {
        debug_assert!(
            self.geometry().is_small() || self.words.len() >= BLOCK_SECTORS as u64,
            "a layer without a block"
        );
        self.with(self.words.view())
    }
}

impl BlockedPlan {
    /// A layer that is not folded.
    pub(crate) fn new(capacity: u64, geometry: Geometry) -> Self {
        let words = Unbuilt { bytes: geometry.bytes() };
        Self { words, shape: BlockedShape { capacity, geometry }, divisor: () }
    }

    /// The plan with fewer pages in memory, and another capacity.
    pub(crate) fn folded(self, fold: Fold, capacity: u64) -> Self {
        let geometry = self.shape.geometry.with_folds(fold.folds());
        let words = Unbuilt { bytes: fold.stored() * self.shape.geometry.page_bytes() };
        Self { words, shape: BlockedShape { capacity, geometry }, divisor: () }
    }
}

impl LayerRef<'static> {
    /// A layer of one block, without items.
    pub(crate) const NONE: Self = Self {
        words: WordsRef::new(&[0; BLOCK_SECTORS]),
        shape: BlockedShape { capacity: 1, geometry: Geometry::of_pages(1, 1, 1, 1) },
        divisor: (),
    };
}

impl<'a> LayerRef<'a> {
    /// An unfolded layer with these bits; `None` without a block of them, if it is not small.
    #[inline(always)]
    pub(crate) fn new(words: &'a [u64], capacity: u64, geometry: Geometry) -> Option<Self> {
        let is_layer = geometry.is_small() || !Block::of(words).is_empty();
        let shape = BlockedShape { capacity, geometry };
        is_layer.then_some(Self { words: WordsRef::new(words), shape, divisor: () })
    }
}

impl BlockedShape {
    /// How the hashed pages share the pages of `bytes` bytes.
    pub(super) fn fold(&self, bytes: u64) -> Fold {
        Fold::new(self.geometry.pages(), bytes / self.geometry.page_bytes())
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
    if geometry.is_small() {
        return sectors::set(words, spot, geometry.bits_per_block());
    }
    let blocks = Block::of_mut(words);
    set_blocks(backend, blocks, geometry, iter::once((spot.first, spot.hash.pattern)));
    set_blocks(backend, blocks, geometry, spot.further(&geometry));
}
