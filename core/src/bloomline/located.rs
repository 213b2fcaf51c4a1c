//! The items of a group, located in one layer of the Bloomline layout by vector instructions.

use std::iter;

use super::geometry::Geometry;
use super::hash::{ItemHash, mix};
use super::layer::BlockedLayer;
use super::locate::{FURTHER, next_within, stride};
use crate::layer::{Part, Probe};
use crate::located::{GROUP_ITEMS, Located};
use crate::scale::ShortRange;
use crate::simd::{Backend, Block, prefetch};

/// Items that are located together: those of one vector, or of a few.
const LANES: usize = 8;
/// The most blocks per item.
const BLOCKS: usize = 4;

/// A number per item.
type Numbers = [u64; GROUP_ITEMS];

/// Items of a group, and the indexes of their blocks in one layer.
///
/// An array per number and no array of items, so that compilers locate several items per vector
/// instruction. In one layer in cache, lookups of present items take 0.75 of the time.
pub struct LocatedBlocks {
    len: usize,
    places: Numbers,
    patterns: Numbers,
    /// The indexes of the first blocks, then those of the second, and so on.
    blocks: [Numbers; BLOCKS],
}

/// The number of an item. The remainder spares a check of the index, as indexes are below
/// [`GROUP_ITEMS`].
#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "the remainder is below the length")]
fn of(numbers: &Numbers, index: usize) -> u64 {
    numbers[index % GROUP_ITEMS]
}

#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "the remainder is below the length")]
fn put(numbers: &mut Numbers, index: usize, number: u64) {
    numbers[index % GROUP_ITEMS] = number;
}

impl LocatedBlocks {
    /// The further blocks of an item: index among all blocks of the layer, and pattern.
    #[inline(always)]
    fn further(&self, geometry: &Geometry, index: usize) -> impl Iterator<Item = (usize, u64)> {
        let pattern = of(&self.patterns, index);
        let [_, further @ ..] = &self.blocks;
        let pairs = further.iter().zip(&FURTHER).take(geometry.further_blocks().into());
        pairs.map(move |(block, &multiplier)| (of(block, index) as usize, mix(pattern, multiplier)))
    }

    /// Locates items one by one.
    fn locate_each(&mut self, layer: &BlockedLayer) {
        for index in 0..self.len {
            let spot = layer.locate(&self.hash(index));
            let further = spot.further(&layer.geometry).map(|(block, _)| block);
            for (block, to) in iter::once(spot.first).chain(further).zip(&mut self.blocks) {
                put(to, index, block as u64);
            }
        }
    }
}

impl Located<BlockedLayer> for LocatedBlocks {
    #[inline(always)]
    fn new() -> Self {
        let [places, patterns] = [[0; GROUP_ITEMS]; 2];
        Self { len: 0, places, patterns, blocks: [[0; GROUP_ITEMS]; BLOCKS] }
    }

    #[inline(always)]
    fn clear(&mut self) {
        self.len = 0;
    }

    #[inline(always)]
    fn push(&mut self, hash: ItemHash) {
        put(&mut self.places, self.len, hash.place);
        put(&mut self.patterns, self.len, hash.pattern);
        self.len += 1;
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.len
    }

    /// Plain loops, and no closures: these do not carry the target features of the backend.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "lanes and items are below their numbers")]
    fn locate(&mut self, layer: &BlockedLayer) {
        let geometry = &layer.geometry;
        // Fewer than the blocks.
        let pages = ShortRange::new(geometry.pages());
        let ranges = ShortRange::new(geometry.blocks()).zip(pages);
        let Some((blocks, pages)) = ranges.filter(|_| !geometry.is_folded()) else {
            return self.locate_each(layer);
        };
        let (page_blocks, strides) = (geometry.blocks_per_page(), geometry.strides());
        let further = usize::from(geometry.further_blocks());
        let [firsts, seconds, thirds, fourths] = &mut self.blocks;
        // Whole vectors: what stands after the last item is located too, and not used.
        for start in (0..self.len.min(GROUP_ITEMS)).step_by(LANES) {
            let [mut page, mut within, mut step] = [[0; LANES]; 3];
            for lane in 0..LANES {
                let (place, pattern) = (self.places[start + lane], self.patterns[start + lane]);
                let first = blocks.scale(place);
                page[lane] = pages.scale(place) * page_blocks;
                within[lane] = first - page[lane];
                step[lane] = stride(pattern, strides);
                firsts[start + lane] = first;
            }
            for to in [&mut *seconds, &mut *thirds, &mut *fourths].into_iter().take(further) {
                for lane in 0..LANES {
                    within[lane] = next_within(within[lane], step[lane], page_blocks);
                    to[start + lane] = page[lane] + within[lane];
                }
            }
        }
    }

    #[inline(always)]
    fn hash(&self, index: usize) -> ItemHash {
        ItemHash { place: of(&self.places, index), pattern: of(&self.patterns, index) }
    }

    #[inline(always)]
    fn prefetch(&self, layer: &BlockedLayer, index: usize, part: Part) {
        let blocks = Block::of(layer.words.as_slice()).as_ptr();
        let [firsts, further @ ..] = &self.blocks;
        match part {
            Part::First => prefetch(blocks.wrapping_add(of(firsts, index) as usize)),
            Part::Rest => {
                for block in further.iter().take(layer.geometry.further_blocks().into()) {
                    prefetch(blocks.wrapping_add(of(block, index) as usize));
                }
            }
        }
    }

    #[inline(always)]
    fn test_first<B: Backend>(&self, backend: B, layer: &BlockedLayer, index: usize) -> bool {
        let (blocks, [firsts, ..]) = (Block::of(layer.words.as_slice()), &self.blocks);
        // No closure around the backend.
        let Some(block) = blocks.get(of(firsts, index) as usize) else { return false };
        backend.test_once(block, of(&self.patterns, index), layer.geometry.bits_per_block())
    }

    #[inline(always)]
    fn test_rest<B: Backend>(&self, backend: B, layer: &BlockedLayer, index: usize) -> bool {
        let (blocks, bits) = (Block::of(layer.words.as_slice()), layer.geometry.bits_per_block());
        for (block, pattern) in self.further(&layer.geometry, index) {
            let Some(block) = blocks.get(block) else { return false };
            if !backend.test_once(block, pattern, bits) {
                return false;
            }
        }
        true
    }

    #[inline(always)]
    fn set<B: Backend>(&self, backend: B, layer: &mut BlockedLayer, index: usize) {
        let ([firsts, ..], geometry) = (&self.blocks, layer.geometry);
        let bits = geometry.bits_per_block();
        let blocks = Block::of_mut(layer.words.as_mut_slice());
        if let Some(block) = blocks.get_mut(of(firsts, index) as usize) {
            backend.set(block, of(&self.patterns, index), bits);
        }
        for (block, pattern) in self.further(&geometry, index) {
            if let Some(block) = blocks.get_mut(block) {
                backend.set(block, pattern, bits);
            }
        }
    }
}
