//! One Bloom filter of fixed capacity in the Bloomline layout.

use std::hint::black_box;

use super::error::Error;
use super::filter::Filter;
use super::group::{Chosen, PreparedGroup, indexes};
use super::hash::{ItemHash, item_hash};
use super::layout::bloomline::{first_line, first_line_mut, further_lines};
use super::layout::prefetch;
use super::layout::probe::{Line, Probe};
use super::member::{Lines, Member};
use super::rate;
use super::sizing::{Geometry, LINE_WORDS};
use super::spec::{Common, Layout, Shape};
use super::words::Words;

/// Bits of a fixed number, and how items map to them.
pub struct Layer {
    words: Words,
    capacity: u64,
    geometry: Geometry,
}

impl Layer {
    /// The layer's shape.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Whether the item's bits in its first line are set.
    #[inline(always)]
    fn first_contains<P: Probe>(&self, probe: P, hash: &ItemHash) -> bool {
        probe.test_once(first_line(hash, self.lines()), hash.pattern, self.geometry.bits_per_line())
    }

    /// Which of the asked items have all bits of their first lines set.
    ///
    /// If most are asked, all are looked at, and the others' answers dropped: one after the other,
    /// without looking for the next asked one, an item takes half the time.
    #[inline(always)]
    fn first_contain_of<P: Probe, const N: usize>(
        &self,
        probe: P,
        group: &PreparedGroup<Self, P, N>,
        asked: Chosen,
    ) -> Chosen {
        let (lines, bits) = (self.lines(), self.geometry.bits_per_line());
        let mut passed = 0;
        if asked.count_ones() as usize * 2 >= group.hashes().len() {
            for (hashes, prepared) in group.fours().rev() {
                for (hash, &prepared) in hashes.iter().zip(prepared).rev() {
                    let has = probe.test(first_line(hash, lines), prepared, bits);
                    passed = passed << 1 | Chosen::from(has);
                }
            }
            return passed & asked;
        }
        for index in indexes(asked) {
            let has = probe.test(first_line(group.hash(index), lines), group.prepared(index), bits);
            passed |= Chosen::from(has) << index;
        }
        passed
    }

    /// Whether the item's bits in its further lines are set.
    #[inline(always)]
    fn further_contain<P: Probe>(&self, probe: P, hash: &ItemHash) -> bool {
        let (lines, bits) = (self.lines(), self.geometry.bits_per_line());
        for (index, pattern) in further_lines(*hash, self.geometry) {
            let Some(line) = lines.get(index) else { return false };
            if !probe.test_once(line, pattern, bits) {
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
        for (index, _) in further_lines(*hash, self.geometry) {
            prefetch(self.lines().as_ptr().wrapping_add(index));
        }
    }

    #[inline(always)]
    fn lines(&self) -> &[Line] {
        self.words.as_slice().as_chunks().0
    }
}

impl Member for Layer {
    const LAYOUT: Layout = Layout::Bloomline;
    type Common = Common;
    type Shape = Shape;
    type Hash = ItemHash;
    type Prepared<P: Probe> = P::Pattern;

    #[inline(always)]
    fn hash(common: &Common, item: &[u8]) -> ItemHash {
        item_hash(item, common.seed)
    }

    #[inline(always)]
    fn prepare<P: Probe>(probe: P, hash: &ItemHash) -> P::Pattern {
        probe.prepare(hash.pattern)
    }

    #[inline(always)]
    fn contains<P: Probe>(&self, probe: P, hash: &ItemHash) -> bool {
        self.first_contains(probe, hash) && self.further_contain(probe, hash)
    }

    /// Looks at all first lines without a branch, then at the further lines of the items that have
    /// passed.
    ///
    /// Absent items pass by chance, one of some dozen: a branch for each would be mispredicted once
    /// or twice an item.
    #[inline(always)]
    fn contains_of<P: Probe, const N: usize>(
        &self,
        probe: P,
        group: &PreparedGroup<Self, P, N>,
        asked: Chosen,
    ) -> Chosen {
        let passed = self.first_contain_of(probe, group, asked);
        if self.is_far() {
            for index in indexes(passed) {
                self.prefetch_further(group.hash(index));
            }
        }
        let mut found = 0;
        for index in indexes(passed) {
            found |= Chosen::from(self.further_contain(probe, group.hash(index))) << index;
        }
        found
    }

    #[inline(always)]
    fn insert<P: Probe>(&mut self, probe: P, hash: &ItemHash) {
        let bits = self.geometry.bits_per_line();
        let (lines, _) = self.words.as_mut_slice().as_chunks_mut();
        probe.set(first_line_mut(hash, lines), hash.pattern, bits);
        for (index, pattern) in further_lines(*hash, self.geometry) {
            if let Some(line) = lines.get_mut(index) {
                probe.set(line, pattern, bits);
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
            let (lines, _) = self.words.as_mut_slice().as_chunks_mut::<LINE_WORDS>();
            let [word, ..] = first_line_mut(hash, lines);
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
        let lines = self.lines();
        for hash in hashes {
            prefetch(first_line(hash, lines));
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
    fn prefetch_rest<P: Probe>(&self, probe: P, hash: &ItemHash) {
        if self.first_contains(probe, hash) {
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
        let words = Words::zeroed(geometry.lines() * LINE_WORDS as u64)?;
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
