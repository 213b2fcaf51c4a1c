//! One Bloom filter of fixed capacity in the Bloomline layout.

use std::hint::{assert_unchecked, black_box};

use super::growth::BlockedParams;
use super::locate::{Spot, locate};
use super::located::LocatedBlocks;
use super::rate::fp_rate;
use super::sectors;
use super::shape::{
    BlockedLayer, BlockedPlan, BlockedShape, FILTER_BYTES, LAYER_BYTES, set_bits, test_blocks,
};
use crate::bloom::layer::{Layer, LayerShape, Part, Readable, Rules, sealed};
use crate::error::Error;
use crate::hash::xxh3::{ItemHash, item_hash};
use crate::math::estimate::LayerEstimate;
use crate::memory::fill::fill_of_union;
use crate::simd::{Backend, Block, prefetch};
use crate::spec::Layout;

impl sealed::Sealed for BlockedShape {}

impl Rules for BlockedShape {
    const LAYOUT: Layout = Layout::Bloomline;
    type Params = BlockedParams;
    type Seed = u64;
    type Hash = ItemHash;
    /// No remainders: hashes are scaled.
    type Divisor = ();

    #[inline(always)]
    fn seed(params: &BlockedParams) -> u64 {
        params.seed
    }

    #[inline(always)]
    fn hash(seed: &u64, item: &[u8]) -> ItemHash {
        item_hash(item, *seed)
    }

    #[inline]
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn successor(
        params: &BlockedParams,
        last: &BlockedPlan,
        index: u32,
        capacity: u64,
    ) -> Result<(BlockedParams, BlockedPlan), Error> {
        params.successor(last, index, capacity)
    }

    fn first_byte(params: &BlockedParams) -> u64 {
        params.first_byte()
    }

    fn size_bytes(bits_bytes: u64, layers: u32) -> u64 {
        let table = u64::from(layers - 1) * LAYER_BYTES;
        bits_bytes.saturating_add(FILTER_BYTES + table)
    }
}

impl LayerShape for BlockedShape {
    // Smaller layers are in cache: a prefetch costs more than it gains.
    const PREFETCH_FROM: u64 = 128 << 10;
    const STAGED_FROM: u64 = 8 << 20;
    const IS_VECTORIZED: bool = true;
    type Spot = Spot;
    type Prepared<B: Backend> = B::Pattern;
    type Located = LocatedBlocks;

    #[inline(always)]
    fn is_small(&self) -> bool {
        self.geometry.is_small()
    }

    #[inline(always)]
    fn with_small(params: &BlockedParams, older: usize) -> usize {
        params.with_small(older)
    }

    #[inline(always)]
    fn small_contains<W: Readable>(layer: &Layer<Self, W>, spot: &Spot) -> bool {
        sectors::test(layer.words.as_slice(), spot, layer.shape.geometry.bits_per_block())
    }

    #[inline(always)]
    fn prepare<B: Backend>(backend: B, hash: &ItemHash) -> B::Pattern {
        backend.prepare(hash.pattern)
    }

    #[inline(always)]
    fn locate<W: Readable>(layer: &Layer<Self, W>, hash: &ItemHash) -> Spot {
        let geometry = layer.shape.geometry;
        let blocks = layer.blocks().len();
        let spot = locate(hash, &geometry, blocks as u64);
        if geometry.is_whole() {
            // SAFETY: a hash scaled to the number of blocks is below it if that is not 0, which
            // `Layer::words` guarantees. The compiler, which cannot know that, drops the check of
            // the index where a spot is used at once.
            unsafe { assert_unchecked(spot.first < blocks) };
        }
        spot
    }

    #[inline(always)]
    fn prefetch<W: Readable>(layer: &Layer<Self, W>, spot: &Spot, part: Part) {
        let blocks = layer.blocks().as_ptr();
        match part {
            Part::First => prefetch(blocks.wrapping_add(spot.first)),
            Part::Rest => {
                for (index, _) in spot.further(&layer.shape.geometry) {
                    prefetch(blocks.wrapping_add(index));
                }
            }
        }
    }

    #[inline(always)]
    fn test_first<B: Backend, W: Readable>(
        backend: B,
        layer: &Layer<Self, W>,
        spot: &Spot,
        prepared: Option<&B::Pattern>,
    ) -> bool {
        let Some(block) = layer.blocks().get(spot.first) else { return false };
        let bits = layer.shape.geometry.bits_per_block();
        match prepared {
            Some(&pattern) => backend.test(block, pattern, bits),
            None => backend.test_once(block, spot.hash.pattern, bits),
        }
    }

    #[inline(always)]
    fn test_rest<B: Backend, W: Readable>(backend: B, layer: &Layer<Self, W>, spot: &Spot) -> bool {
        let geometry = layer.shape.geometry;
        test_blocks(backend, layer.blocks(), geometry, spot.further(&geometry))
    }

    #[inline(always)]
    fn set<B: Backend>(backend: B, layer: &mut BlockedLayer, spot: &Spot) {
        set_bits(layer.words.as_mut_slice(), layer.shape.geometry, backend, spot);
    }

    /// The operating system backs a page at its first access, and again at its first write if it
    /// was only read: reading first would cost two page faults per item. With four items per page
    /// on average, `1 - e^-4` or 98 % of the pages are backed; small layers do not matter.
    #[inline(always)]
    fn prefault(layer: &mut BlockedLayer, len: u64, spot: &Spot) {
        const ITEMS_PER_PAGE: u64 = 4;
        const FROM_PAGES: u64 = 256;
        let pages = layer.shape.geometry.pages();
        if len < pages * ITEMS_PER_PAGE
            && pages >= FROM_PAGES
            && let Some(Block([sector, ..])) =
                Block::of_mut(layer.words.as_mut_slice()).get_mut(spot.first)
        {
            // One instruction that reads and writes; the compiler does not know that it changes
            // nothing.
            *sector |= black_box(0);
        }
    }

    fn fp_rate(&self, bytes: u64, len: u64) -> f64 {
        if self.geometry.is_folded() {
            self.fold(bytes).fp_rate(&self.geometry, len)
        } else {
            fp_rate(&self.geometry, len)
        }
    }

    fn estimate<'a>(
        &self,
        layers: impl Iterator<Item = &'a [u64]> + Clone,
        sample: usize,
    ) -> LayerEstimate {
        let bytes = layers.clone().next().map_or(0, size_of_val);
        let fold = self.fold(bytes as u64);
        let page_words = self.geometry.page_bytes() as usize / size_of::<u64>();
        let mut start = 0;
        let fills = fold.shared_pages().map(|shared| {
            let len = shared.pages as usize * page_words;
            let range = start..start + len;
            start += len;
            let words = layers.clone().map(|all| all.get(range.clone()).unwrap_or_default());
            // The sample is divided by size, and each part has at least one page.
            fill_of_union(words, (sample as u64 * shared.pages / fold.stored()) as usize)
        });
        fold.estimate(&self.geometry, fills)
    }
}
