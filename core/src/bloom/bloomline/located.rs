//! The items of a group, located in one layer of the Bloomline layout by vector instructions.

use std::iter;

use super::geometry::Geometry;
use super::locate::{FURTHER, locate, next_within, stride};
use super::shape::{BlockedLayer, BlockedShape, set_blocks, test_blocks};
use crate::bloom::layer::{Located, Part};
use crate::hash::xxh3::{ItemHash, mix};
use crate::mask::Mask;
use crate::math::scale::ShortRange;
use crate::simd::{Backend, Block, prefetch};

/// Items that are located together: those of one vector, or of a few.
const LANES: usize = 8;
/// The most blocks per item.
const BLOCKS: usize = 4;

type PerItem = [u64; Mask::ITEMS];

/// Items of a group, and the indexes of their blocks in one layer.
///
/// An array per number and no array of items, so that compilers locate several items per vector
/// instruction; see docs/explanation/performance.md.
pub struct LocatedBlocks {
    len: usize,
    block_hashes: PerItem,
    patterns: PerItem,
    /// The indexes of the first blocks, then those of the second, and so on.
    blocks: [PerItem; BLOCKS],
}

/// The number of an item. The remainder spares a check of the index, as indexes are below
/// [`Mask::ITEMS`].
#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "the remainder is below the length")]
fn of(numbers: &PerItem, index: usize) -> u64 {
    numbers[index % Mask::ITEMS]
}

#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "the remainder is below the length")]
fn put(numbers: &mut PerItem, index: usize, number: u64) {
    numbers[index % Mask::ITEMS] = number;
}

impl Located<BlockedShape> for LocatedBlocks {
    #[inline(always)]
    fn new() -> Self {
        let [block_hashes, patterns] = [[0; Mask::ITEMS]; 2];
        Self { len: 0, block_hashes, patterns, blocks: [[0; Mask::ITEMS]; BLOCKS] }
    }

    #[inline(always)]
    fn clear(&mut self) {
        self.len = 0;
    }

    #[inline(always)]
    fn push(&mut self, hash: ItemHash) {
        put(&mut self.block_hashes, self.len, hash.block_hash);
        put(&mut self.patterns, self.len, hash.pattern);
        self.len += 1;
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn locate(&mut self, layer: &BlockedLayer) {
        self.locate_all(&layer.shape.geometry, Block::of(layer.words.as_slice()).len() as u64);
    }

    #[inline(always)]
    fn hash(&self, index: usize) -> ItemHash {
        ItemHash { block_hash: of(&self.block_hashes, index), pattern: of(&self.patterns, index) }
    }

    #[inline(always)]
    fn prefetch(&self, layer: &BlockedLayer, index: usize, part: Part) {
        let blocks = Block::of(layer.words.as_slice()).as_ptr();
        match part {
            Part::First => prefetch(blocks.wrapping_add(self.first(index).0)),
            Part::Rest => {
                for (block, _) in self.further(&layer.shape.geometry, index) {
                    prefetch(blocks.wrapping_add(block));
                }
            }
        }
    }

    #[inline(always)]
    fn test_first<B: Backend>(&self, backend: B, layer: &BlockedLayer, index: usize) -> bool {
        let blocks = Block::of(layer.words.as_slice());
        test_blocks(backend, blocks, layer.shape.geometry, iter::once(self.first(index)))
    }

    #[inline(always)]
    fn test_rest<B: Backend>(&self, backend: B, layer: &BlockedLayer, index: usize) -> bool {
        let blocks = Block::of(layer.words.as_slice());
        test_blocks(
            backend,
            blocks,
            layer.shape.geometry,
            self.further(&layer.shape.geometry, index),
        )
    }

    #[inline(always)]
    fn set<B: Backend>(&self, backend: B, layer: &mut BlockedLayer, index: usize) {
        let geometry = layer.shape.geometry;
        let blocks = Block::of_mut(layer.words.as_mut_slice());
        set_blocks(backend, blocks, geometry, iter::once(self.first(index)));
        set_blocks(backend, blocks, geometry, self.further(&geometry, index));
    }
}

impl LocatedBlocks {
    /// Locates all items in a layer that stores a given number of blocks.
    ///
    /// Plain loops, and no closures: these do not carry the target features of the backend.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "lanes and items are below their numbers")]
    fn locate_all(&mut self, geometry: &Geometry, blocks: u64) {
        // Fewer than the blocks.
        let pages = ShortRange::new(geometry.pages());
        let ranges = ShortRange::new(blocks).zip(pages);
        let Some((ranges, pages)) = ranges.filter(|_| geometry.is_whole()) else {
            return self.locate_each(geometry, blocks);
        };
        let (page_blocks, strides) = (geometry.blocks_per_page(), geometry.strides());
        let [firsts, further @ ..] = &mut self.blocks;
        // Whole vectors: what stands after the last item is located too, and not used.
        for start in (0..self.len.min(Mask::ITEMS)).step_by(LANES) {
            let [mut page, mut within, mut step] = [[0; LANES]; 3];
            for lane in 0..LANES {
                let (block_hash, pattern) =
                    (self.block_hashes[start + lane], self.patterns[start + lane]);
                let first = ranges.scale(block_hash);
                page[lane] = pages.scale(block_hash) * page_blocks;
                within[lane] = first - page[lane];
                step[lane] = stride(pattern, strides);
                firsts[start + lane] = first;
            }
            for to in further.iter_mut().take(geometry.further_blocks().into()) {
                for lane in 0..LANES {
                    within[lane] = next_within(within[lane], step[lane], page_blocks);
                    to[start + lane] = page[lane] + within[lane];
                }
            }
        }
    }

    fn locate_each(&mut self, geometry: &Geometry, blocks: u64) {
        for index in 0..self.len {
            let spot = locate(&self.hash(index), geometry, blocks);
            let further = spot.further(geometry).map(|(block, _)| block);
            for (block, to) in iter::once(spot.first).chain(further).zip(&mut self.blocks) {
                put(to, index, block as u64);
            }
        }
    }

    /// The first block of an item: index among all blocks of the layer, and pattern.
    #[inline(always)]
    fn first(&self, index: usize) -> (usize, u64) {
        let [firsts, ..] = &self.blocks;
        (of(firsts, index) as usize, of(&self.patterns, index))
    }

    /// The further blocks of an item, in the same form.
    #[inline(always)]
    fn further(&self, geometry: &Geometry, index: usize) -> impl Iterator<Item = (usize, u64)> {
        let pattern = of(&self.patterns, index);
        let [_, further @ ..] = &self.blocks;
        let pairs = further.iter().zip(&FURTHER).take(geometry.further_blocks().into());
        pairs.map(move |(block, &multiplier)| (of(block, index) as usize, mix(pattern, multiplier)))
    }
}
