//! One Bloom filter of fixed capacity in the Bloomline layout.

use std::hint::black_box;

use super::Filter;
use super::geometry::Geometry;
use super::growth::{Common, Shape};
use super::hash::{ItemHash, item_hash};
use super::locate::{first_block, first_block_mut, further_blocks};
use super::rate;
use crate::batch::group::{Chosen, PreparedGroup, indexes};
use crate::error::Error;
use crate::layer::{Layer, Lines};
use crate::memory::words::Words;
use crate::simd::{BLOCK_SECTORS, Backend, Block, prefetch};
use crate::spec::Layout;

/// Bits of a fixed number, and how items map to them.
pub struct BlockedLayer {
    words: Words,
    capacity: u64,
    geometry: Geometry,
}

impl BlockedLayer {
    /// The layer's shape.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Whether the item's bits in its first line are set.
    #[inline(always)]
    fn first_contains<P: Backend>(&self, backend: P, hash: &ItemHash) -> bool {
        backend.test_once(
            first_block(hash, self.blocks()),
            hash.pattern,
            self.geometry.bits_per_block(),
        )
    }

    /// Which of the asked items have all bits of their first lines set.
    ///
    /// If most are asked, all are looked at, and the others' answers dropped: one after the other,
    /// without looking for the next asked one, an item takes half the time.
    #[inline(always)]
    fn first_contain_of<P: Backend, const N: usize>(
        &self,
        backend: P,
        group: &PreparedGroup<Self, P, N>,
        asked: Chosen,
    ) -> Chosen {
        let (lines, bits) = (self.blocks(), self.geometry.bits_per_block());
        let mut passed = 0;
        if asked.count_ones() as usize * 2 >= group.hashes().len() {
            for (hashes, prepared) in group.fours().rev() {
                for (hash, &prepared) in hashes.iter().zip(prepared).rev() {
                    let has = backend.test(first_block(hash, lines), prepared, bits);
                    passed = passed << 1 | Chosen::from(has);
                }
            }
            return passed & asked;
        }
        for index in indexes(asked) {
            let has =
                backend.test(first_block(group.hash(index), lines), group.prepared(index), bits);
            passed |= Chosen::from(has) << index;
        }
        passed
    }

    /// Whether the item's bits in its further lines are set.
    #[inline(always)]
    fn further_contain<P: Backend>(&self, backend: P, hash: &ItemHash) -> bool {
        let (lines, bits) = (self.blocks(), self.geometry.bits_per_block());
        for (index, pattern) in further_blocks(*hash, self.geometry) {
            let Some(line) = lines.get(index) else { return false };
            if !backend.test_once(line, pattern, bits) {
                return false;
            }
        }
        true
    }

    /// Rate of false positives computed from the share of bits that are set.
    pub fn fp_rate_of_fill(&self, fill: f64) -> f64 {
        rate::fp_rate_of_fill(&self.geometry, fill)
    }

    /// Computed rate of false positives with `len` items in it.
    pub fn fp_rate(&self, len: u64) -> f64 {
        rate::fp_rate(&self.geometry, len)
    }

    /// The bits, as bytes: word by word, little-endian.
    pub fn as_bytes(&self) -> &[u8] {
        self.words.as_bytes()
    }

    /// The bits, as bytes to be written.
    pub fn as_mut_bytes(&mut self) -> &mut [u8] {
        self.words.as_mut_bytes()
    }

    /// Asks for the item's further lines.
    #[inline(always)]
    fn prefetch_further(&self, hash: &ItemHash) {
        for (index, _) in further_blocks(*hash, self.geometry) {
            prefetch(self.blocks().as_ptr().wrapping_add(index));
        }
    }

    #[inline(always)]
    fn blocks(&self) -> &[Block] {
        self.words.as_slice().as_chunks().0
    }
}

impl Layer for BlockedLayer {
    const LAYOUT: Layout = Layout::Bloomline;
    type Common = Common;
    type Shape = Shape;
    type Hash = ItemHash;
    type Prepared<P: Backend> = P::Pattern;

    #[inline(always)]
    fn hash(common: &Common, item: &[u8]) -> ItemHash {
        item_hash(item, common.seed)
    }

    #[inline(always)]
    fn prepare<P: Backend>(backend: P, hash: &ItemHash) -> P::Pattern {
        backend.prepare(hash.pattern)
    }

    #[inline(always)]
    fn contains<P: Backend>(&self, backend: P, hash: &ItemHash) -> bool {
        self.first_contains(backend, hash) && self.further_contain(backend, hash)
    }

    /// Looks at all first lines without a branch, then at the further lines of the items that have
    /// passed.
    ///
    /// Absent items pass by chance, one of some dozen: a branch for each would be mispredicted once
    /// or twice an item.
    #[inline(always)]
    fn contains_of<P: Backend, const N: usize>(
        &self,
        backend: P,
        group: &PreparedGroup<Self, P, N>,
        asked: Chosen,
    ) -> Chosen {
        let passed = self.first_contain_of(backend, group, asked);
        if self.is_far() {
            for index in indexes(passed) {
                self.prefetch_further(group.hash(index));
            }
        }
        let mut found = 0;
        for index in indexes(passed) {
            found |= Chosen::from(self.further_contain(backend, group.hash(index))) << index;
        }
        found
    }

    #[inline(always)]
    fn insert<P: Backend>(&mut self, backend: P, hash: &ItemHash) {
        let bits = self.geometry.bits_per_block();
        let (lines, _) = self.words.as_mut_slice().as_chunks_mut();
        backend.set(first_block_mut(hash, lines), hash.pattern, bits);
        for (index, pattern) in further_blocks(*hash, self.geometry) {
            if let Some(line) = lines.get_mut(index) {
                backend.set(line, pattern, bits);
            }
        }
    }

    /// Touches the item's page for writing if it may never have been touched.
    ///
    /// The system gives an untouched page at the first access, but one that is only read it gives
    /// again when it is written: reading first would take two page faults an item, 2 us each.
    /// With four items a page on average, 98 % of the pages have been touched; small layers do
    /// not matter.
    #[inline(always)]
    fn expect(&mut self, len: u64, hash: &ItemHash) {
        const ITEMS_A_PAGE: u64 = 4;
        const FROM_PAGES: u64 = 256;
        let pages = self.geometry.pages();
        if len < pages * ITEMS_A_PAGE && pages >= FROM_PAGES {
            let (lines, _) = self.words.as_mut_slice().as_chunks_mut::<BLOCK_SECTORS>();
            let [word, ..] = first_block_mut(hash, lines);
            // One instruction that reads and writes; the compiler does not know that it changes
            // nothing.
            *word |= black_box(0);
        }
    }

    /// Asks for the lines that are far enough away for it.
    ///
    /// Measured: below 128 KiB a prefetch costs more than it gains.
    #[inline(always)]
    fn prefetch<'a>(&self, hashes: impl Iterator<Item = &'a ItemHash>, wanted: Lines) {
        const NEAR: u64 = 128 << 10;
        if self.geometry.bytes() < NEAR {
            return;
        }
        let lines = self.blocks();
        for hash in hashes {
            prefetch(first_block(hash, lines));
            if wanted == Lines::All {
                self.prefetch_further(hash);
            }
        }
    }

    #[inline(always)]
    fn is_far(&self) -> bool {
        const FAR: u64 = 8 << 20;
        self.geometry.bytes() >= FAR
    }

    #[inline(always)]
    fn prefetch_rest<P: Backend>(&self, backend: P, hash: &ItemHash) {
        if self.first_contains(backend, hash) {
            self.prefetch_further(hash);
        }
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

    fn words(&self) -> &Words {
        &self.words
    }

    fn words_mut(&mut self) -> &mut Words {
        &mut self.words
    }

    fn successor(&self, common: &Common, index: u32) -> Result<(Common, Shape), Error> {
        common.successor(&Shape { capacity: self.capacity, geometry: self.geometry }, index)
    }

    fn shape_bytes(shape: &Shape) -> u64 {
        shape.geometry.bytes()
    }

    fn build(shape: &Shape) -> Result<Self, Error> {
        let &Shape { geometry, capacity } = shape;
        let words = Words::zeroed(geometry.blocks() * BLOCK_SECTORS as u64)?;
        Ok(Self { words, capacity, geometry })
    }

    fn try_clone(&self) -> Result<Self, Error> {
        Ok(Self { words: self.words.try_clone()?, ..*self })
    }

    fn size_bytes(bits_bytes: u64, layers: u32) -> u64 {
        let table = u64::from(layers - 1) * size_of::<Self>() as u64;
        bits_bytes.saturating_add(size_of::<Filter>() as u64 + table)
    }
}
