//! The generations of a ring in memory.
//!
//! Generations have allocations of their own, so that each can be dropped alone. If their bits are
//! few, those would take less memory than what describes them. So a ring of small generations is
//! one allocation, which has room for the numbers of the filter too:
//!
//! ```text
//! | header | numbers | records, oldest first | bits of the oldest | ... | bits of the newest |
//!
//! ```
//!
//! Header and numbers are those of [`packed`](super::packed). While the filter is used they mean
//! nothing, but for the last one: when the newest generation was opened.
//!
//! A small ring has regular layers only. It becomes a large one when a generation gets an overflow
//! layer, and a small one again when the last such generation was dropped. What a filter is said to
//! take follows from its layers and its times alone, whatever ring it has at the moment.

use super::filter::WindowedFilter;
use super::generation::{Generation, GenerationRef};
use super::record::{Record, newest_opened};
use super::ring::{Large, Ring};
use super::size::{NUMBERS, is_small};
use crate::bloom::bloomline::{BlockedLayer, BlockedPlan, LayerRef};
use crate::error::Error;
use crate::memory::lists::try_collect;
use crate::memory::try_box;
use crate::memory::words::Words;

impl WindowedFilter {
    /// Words of the bits of a regular layer.
    #[inline(always)]
    pub(super) fn layer_words(&self) -> usize {
        self.geometry.bytes() as usize / size_of::<u64>()
    }

    /// The generations of a small ring, oldest first.
    #[inline(always)]
    pub(crate) fn in_words<'a>(
        &self,
        words: &'a Words,
    ) -> impl DoubleEndedIterator<Item = GenerationRef<'a>> + Clone + use<'a> {
        let (len, count) = (self.layer_words(), usize::from(self.count));
        let (capacity, geometry) = (self.regular_capacity, self.geometry);
        let newest = newest_opened(words);
        let rest = words.as_slice().get(NUMBERS..).unwrap_or_default();
        let (records, bits) = rest.split_at_checked(count).unwrap_or_default();
        records.iter().enumerate().filter_map(move |(index, &record)| {
            let bits = bits.get(index * len..(index + 1) * len)?;
            let regular = LayerRef::new(bits, capacity, geometry)?;
            let record = Record(record);
            let opened = newest.wrapping_sub(record.age());
            let (regular_len, live) = (record.len(), record.live());
            Some(GenerationRef { regular, regular_len, overflow: None, live, opened })
        })
    }

    /// The newest generation of a small ring.
    #[inline(always)]
    pub(super) fn newest_of<'a>(&self, words: &'a Words) -> GenerationRef<'a> {
        self.in_words(words).next_back().unwrap_or(GenerationRef::NONE)
    }

    /// The record of the newest generation of a small ring, and its bits.
    #[inline(always)]
    pub(crate) fn newest_in_words(&mut self) -> Option<(&mut u64, &mut [u64])> {
        let (len, count) = (self.layer_words(), usize::from(self.count));
        let Ring::Small(words) = &mut self.ring else { return None };
        let (records, bits) = words.as_mut_slice().split_at_mut_checked(NUMBERS + count)?;
        Some((records.last_mut()?, bits.get_mut((count - 1) * len..)?))
    }

    /// Replaces the number of live items of a generation, and returns the old one; none if there is
    /// no such generation. The oldest has index 0.
    #[inline(always)]
    pub(crate) fn update_live(
        &mut self,
        index: usize,
        update: impl FnOnce(u64) -> u64,
    ) -> Option<u64> {
        match &mut self.ring {
            Ring::Small(words) => {
                let word = words.as_mut_slice().get_mut(NUMBERS + index)?;
                let record = Record(*word);
                let live = record.live();
                *word = Record::of(record.age(), record.len(), update(live)).0;
                Some(live)
            }
            Ring::Large(large) => {
                let Large { newest, older, .. } = &mut **large;
                let generation =
                    if index == older.len() { newest } else { older.get_mut(index)? };
                let live = generation.live;
                generation.live = update(live);
                Some(live)
            }
        }
    }

    /// A small ring of these generations, and of an empty one that was opened at a time.
    pub(super) fn small_ring<'a>(
        plan: &BlockedPlan,
        generations: impl Iterator<Item = GenerationRef<'a>> + Clone,
        opened: Option<u64>,
    ) -> Result<Ring, Error> {
        let len = plan.bytes() as usize / size_of::<u64>();
        let count = generations.clone().count() + usize::from(opened.is_some());
        let newest = || generations.clone().last().map_or(0, |one| one.opened);
        let newest = opened.unwrap_or_else(newest);
        let mut words = Words::with_header((NUMBERS + count * (1 + len)) as u64)?;
        let (numbers, rest) = words.as_mut_slice().split_at_mut(NUMBERS);
        let (records, bits) = rest.split_at_mut(count);
        if let Some(last) = numbers.last_mut() {
            *last = newest;
        }
        for ((one, record), to) in generations.zip(records).zip(bits.chunks_exact_mut(len.max(1))) {
            *record = Record::of(newest - one.opened, one.regular_len, one.live).0;
            to.copy_from_slice(one.regular.words().as_slice());
        }
        Ok(Ring::Small(words))
    }

    /// True if the ring can be a small one: it has no overflow layers, and its numbers fit.
    pub(super) fn can_be_small(&self) -> bool {
        let Ring::Large(large) = &self.ring else { return true };
        let oldest = large.older.first().unwrap_or(&large.newest);
        let span = large.newest.opened - oldest.opened;
        is_small(&self.plan(), self.extent, self.number, span)
            && large.all().all(|one| one.overflow.is_none())
    }

    /// Makes the ring a small one if it can be, and if there is memory for it. Otherwise it stays.
    pub(super) fn make_small(&mut self) {
        let Ring::Large(large) = &self.ring else { return };
        if large.dropped.is_empty()
            && self.can_be_small()
            && let Ok(ring) = Self::small_ring(&self.plan(), large.all(), None)
        {
            self.ring = ring;
        }
    }

    /// Makes the ring a large one.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]. The ring is unchanged then.
    pub(super) fn make_large(&mut self) -> Result<&mut Large, Error> {
        if let Ring::Small(words) = &self.ring {
            let plan = self.plan();
            let large = |view: GenerationRef| {
                let mut regular = BlockedLayer::build(&plan)?;
                let bits = view.regular.words().as_slice();
                regular.words_mut().as_mut_slice().copy_from_slice(bits);
                let GenerationRef { regular_len, live, opened, .. } = view;
                Ok::<_, Error>(Generation { regular, regular_len, overflow: None, live, opened })
            };
            let older = usize::from(self.count) - 1;
            let older = try_collect(older, self.in_words(words).take(older).map(large))?;
            let newest = large(self.newest_of(words))?;
            self.ring = Ring::Large(try_box(Large { newest, older, dropped: Vec::new() })?);
        }
        match &mut self.ring {
            Ring::Large(large) => Ok(large),
            Ring::Small(words) => Err(Error::OutOfMemory(words.bytes())),
        }
    }
}
