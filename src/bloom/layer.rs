//! One Bloom filter of fixed capacity, a member of the series that a [`Filter`](super::Filter) is.

use std::hint::black_box;

use bitvec::order::Lsb0;
use bitvec::slice::BitSlice;

use super::error::Error;
use super::hash::ItemHash;
use super::layout::bloomline::{first_line, first_line_mut, further_lines};
use super::layout::prefetch;
use super::layout::probe::{Line, Probe};
use super::rate;
use super::sizing::{Geometry, LINE_WORDS};
use super::spec::Shape;
use super::words::Words;

/// Words of a page.
const PAGE_WORDS: usize = 512;

/// Pages in which [`Layer::fill`] counts.
const SAMPLED_PAGES: usize = 4096;

/// Bits of a fixed number, and how items map to them.
pub struct Layer {
    words: Words,
    capacity: u64,
    geometry: Geometry,
}

/// Which lines of a layer are worth fetching before the items of a group are looked at one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefetch {
    /// The layer lives in a near cache: fetching would cost more than it gains.
    Nothing,
    /// A further line is needed only if the first one passes.
    FirstLine,
    /// The layer is so far away that waiting twice would be worse.
    AllLines,
}

impl Layer {
    /// An empty layer of this shape.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(super) fn new(shape: &Shape) -> Result<Self, Error> {
        let &Shape { geometry, capacity, .. } = shape;
        let words = Words::zeroed(geometry.lines() * LINE_WORDS as u64)?;
        Ok(Self { words, capacity, geometry })
    }

    /// Items the layer is sized for (n).
    #[inline]
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The layer's shape.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Whether all bits of the item are set; `pattern` is that of its hash, prepared.
    #[inline(always)]
    pub fn contains<P: Probe>(&self, probe: P, hash: &ItemHash, pattern: P::Pattern) -> bool {
        let (lines, bits) = (self.lines(), self.geometry.bits_per_line());
        if !probe.test(first_line(hash, lines), pattern, bits) {
            return false;
        }
        for (index, pattern) in further_lines(*hash, self.geometry) {
            let Some(line) = lines.get(index) else { return false };
            if !probe.test(line, probe.prepare(pattern), bits) {
                return false;
            }
        }
        true
    }

    /// Sets all bits of the item.
    #[inline(always)]
    pub fn insert<P: Probe>(&mut self, probe: P, hash: &ItemHash, pattern: P::Pattern) {
        let bits = self.geometry.bits_per_line();
        let (lines, _) = self.words.as_mut_slice().as_chunks_mut();
        probe.set(first_line_mut(hash, lines), pattern, bits);
        for (index, pattern) in further_lines(*hash, self.geometry) {
            if let Some(line) = lines.get_mut(index) {
                probe.set(line, probe.prepare(pattern), bits);
            }
        }
    }

    /// Whether the item's page may never have been touched, in a layer with `len` items.
    ///
    /// With four items a page on average, 98 % of the pages have been. Small layers do not matter.
    #[inline(always)]
    pub fn is_fresh(&self, len: u64) -> bool {
        const ITEMS_A_PAGE: u64 = 4;
        const FROM_PAGES: u64 = 256;
        let pages = self.geometry.pages();
        len < pages * ITEMS_A_PAGE && pages >= FROM_PAGES
    }

    /// Touches the item's page for writing.
    ///
    /// The system gives an untouched page at the first access, but one that is only read it gives again when it is written:
    /// reading first would take two page faults an item, 2 us each.
    #[inline(always)]
    pub fn claim(&mut self, hash: &ItemHash) {
        let (lines, _) = self.words.as_mut_slice().as_chunks_mut::<LINE_WORDS>();
        let [word, ..] = first_line_mut(hash, lines);
        // One instruction that reads and writes; the compiler does not know that it changes nothing.
        *word |= black_box(0);
    }

    /// What a group of lookups should fetch of this layer, one of `layers`.
    ///
    /// Measured: below 128 KiB a prefetch costs more than it gains; from 8 MiB on, waiting for the further lines when
    /// they are needed costs 15 ns an item.
    pub fn prefetch_rule(&self, layers: u32) -> Prefetch {
        const FAR: u64 = 8 << 20;
        const FAR_IF_ALONE: u64 = 1 << 20;
        const NEAR: u64 = 128 << 10;
        match self.geometry.bytes() {
            FAR.. => Prefetch::AllLines,
            FAR_IF_ALONE.. if layers == 1 => Prefetch::AllLines,
            NEAR.. => Prefetch::FirstLine,
            _ => Prefetch::Nothing,
        }
    }

    /// Asks for the lines of an item.
    #[inline(always)]
    pub fn prefetch(&self, hash: &ItemHash, which: Prefetch) {
        if which == Prefetch::Nothing {
            return;
        }
        let lines = self.lines();
        prefetch(first_line(hash, lines));
        if which == Prefetch::AllLines {
            for (index, _) in further_lines(*hash, self.geometry) {
                prefetch(lines.as_ptr().wrapping_add(index));
            }
        }
    }

    /// A layer equal to this one.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn try_clone(&self) -> Result<Self, Error> {
        Ok(Self { words: self.words.try_clone()?, ..*self })
    }

    /// Share of the bits that are set, in [0, 1].
    ///
    /// Counted in at most 4,096 pages spread evenly over the layer: a millisecond at most, and exact up to 16 MiB; above, the
    /// standard error is below 0.0001.
    pub fn fill(&self) -> f64 {
        let pages = self.words.as_slice().chunks(PAGE_WORDS);
        let step = pages.len().div_ceil(SAMPLED_PAGES).max(1);
        let (mut ones, mut bits) = (0, 0);
        for page in pages.step_by(step) {
            let page = BitSlice::<u64, Lsb0>::from_slice(page);
            ones += page.count_ones();
            bits += page.len();
        }
        ones as f64 / bits as f64
    }

    /// Rate of false positives computed from the share of bits that are set.
    pub fn fp_rate_of_fill(&self, fill: f64) -> f64 {
        rate::fp_rate_of_fill(&self.geometry, fill)
    }

    /// The memory of the bits, to be looked at or moved.
    pub fn words(&self) -> &Words {
        &self.words
    }

    /// The same, to be written.
    pub fn words_mut(&mut self) -> &mut Words {
        &mut self.words
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

    #[inline(always)]
    fn lines(&self) -> &[Line] {
        self.words.as_slice().as_chunks().0
    }
}
