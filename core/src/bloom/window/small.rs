//! The generations of a ring in memory.
//!
//! Generations have allocations of their own, so that each can be dropped alone. If their bits are
//! few, those would take less memory than what describes them. So a ring of small generations is
//! one allocation, and what is equal in all generations stands once in the filter:
//!
//! ```text
//! | bits of the oldest | ... | bits of the newest | opened, len, live of the oldest | ... |
//! ```
//!
//! A small ring has regular layers only. It becomes a large one when a generation gets an overflow
//! layer, and a small one again when the last such generation was dropped. What a filter is said to
//! take follows from its layers alone, whatever ring it has at the moment.

use std::iter;

use super::filter::WindowedFilter;
use super::generation::{Generation, GenerationRef};
use super::ring::{Large, Ring, is_small, no_memory};
use super::size::RECORD_BYTES;
use crate::bloom::bloomline::{BlockedLayer, BlockedPlan, LayerRef};
use crate::error::Error;
use crate::memory::try_box;

/// Words that a small ring has for a generation besides its bits.
const RECORD_WORDS: usize = RECORD_BYTES as usize / size_of::<u64>();

/// What a small ring has for a generation besides its bits: when it was opened, its items, and
/// those of them that are live.
pub(crate) type GenerationWords = [u64; RECORD_WORDS];

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
        words: &'a [u64],
    ) -> impl DoubleEndedIterator<Item = GenerationRef<'a>> + Clone + use<'a> {
        let (len, count) = (self.layer_words(), usize::from(self.present));
        let (capacity, geometry) = (self.regular_capacity, self.geometry);
        (0..count).filter_map(move |index| {
            let bits = words.get(index * len..(index + 1) * len)?;
            let record: &GenerationWords =
                words.get(count * len + index * RECORD_WORDS..)?.first_chunk()?;
            let regular = LayerRef::new(bits, capacity, geometry)?;
            let &[opened, regular_len, live] = record;
            Some(GenerationRef { regular, regular_len, overflow: None, live, opened })
        })
    }

    /// The newest generation of a small ring.
    #[inline(always)]
    pub(super) fn newest_of<'a>(&self, words: &'a [u64]) -> GenerationRef<'a> {
        self.in_words(words).next_back().unwrap_or(GenerationRef::NONE)
    }

    /// The bits of the newest generation of a small ring, and its record.
    #[inline(always)]
    pub(crate) fn newest_in_words(&mut self) -> Option<(&mut [u64], &mut GenerationWords)> {
        let (len, count) = (self.layer_words(), usize::from(self.present));
        let Ring::Small(words) = &mut self.ring else { return None };
        let (bits, records) = words.split_at_mut_checked(count * len)?;
        Some((bits.get_mut((count - 1) * len..)?, records.last_chunk_mut()?))
    }

    /// The items of a generation that are live; the oldest has index 0.
    #[inline(always)]
    pub(crate) fn live_mut(&mut self, index: usize) -> Option<&mut u64> {
        let at = self.layer_words() * usize::from(self.present) + RECORD_WORDS * index;
        match &mut self.ring {
            Ring::Small(words) => {
                let [_, _, live] = words.get_mut(at..)?.first_chunk_mut()?;
                Some(live)
            }
            Ring::Large(large) => {
                let Large { newest, older, .. } = &mut **large;
                let generation =
                    if index == older.len() { newest } else { older.get_mut(index)? };
                Some(&mut generation.live)
            }
        }
    }

    /// True if a ring of these generations can be small.
    pub(super) fn can_be_small<'a>(
        &self,
        mut generations: impl Iterator<Item = GenerationRef<'a>>,
    ) -> bool {
        is_small(&self.plan()) && generations.all(|one| one.overflow.is_none())
    }

    /// A small ring of these generations, and of an empty one that was opened at a time.
    pub(super) fn small_ring<'a>(
        plan: &BlockedPlan,
        generations: impl Iterator<Item = GenerationRef<'a>> + Clone,
        opened: Option<u64>,
    ) -> Result<Ring, Error> {
        let len = plan.bytes() as usize / size_of::<u64>();
        let count = generations.clone().count() + usize::from(opened.is_some());
        let size = count * (len + RECORD_WORDS);
        let mut words = Vec::new();
        // With exactly this capacity it is not allocated again when it is boxed.
        words.try_reserve_exact(size).map_err(no_memory(size * size_of::<u64>()))?;
        for generation in generations.clone() {
            words.extend_from_slice(generation.regular.words().as_slice());
        }
        words.resize(count * len, 0);
        for one in generations {
            words.extend([one.opened, one.regular_len, one.live]);
        }
        words.extend(opened.into_iter().flat_map(|opened| [opened, 0, 0]));
        Ok(Ring::Small(words.into_boxed_slice()))
    }

    /// Makes the ring a small one if it can be, and if there is memory for it. Otherwise it stays.
    pub(super) fn pack(&mut self) {
        let Ring::Large(large) = &self.ring else { return };
        if !large.dropped.is_empty() || !self.can_be_small(large.all()) {
            return;
        }
        let all = large.older.iter().chain(iter::once(&large.newest)).map(Generation::view);
        if let Ok(ring) = Self::small_ring(&self.plan(), all, None) {
            self.ring = ring;
        }
    }

    /// Makes the ring a large one.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]. The ring is unchanged then.
    pub(super) fn unpack(&mut self) -> Result<&mut Large, Error> {
        if let Ring::Small(words) = &self.ring {
            let (plan, count) = (self.plan(), usize::from(self.present));
            let mut generations = Vec::new();
            let table = no_memory(size_of::<Generation>() * count);
            // The table is that of the older ones.
            generations.try_reserve_exact(count - 1).map_err(table)?;
            let large = |view: GenerationRef| {
                let mut regular = BlockedLayer::build(&plan)?;
                let bits = view.regular.words().as_slice();
                let words = regular.words_mut().as_mut_slice();
                words.iter_mut().zip(bits).for_each(|(to, &from)| *to = from);
                let GenerationRef { regular_len, live, opened, .. } = view;
                Ok::<_, Error>(Generation { regular, regular_len, overflow: None, live, opened })
            };
            for view in self.in_words(words).take(count - 1) {
                generations.push(large(view)?);
            }
            let newest = large(self.newest_of(words))?;
            let older = generations.into_boxed_slice();
            self.ring = Ring::Large(try_box(Large { newest, older, dropped: Vec::new() })?);
        }
        match &mut self.ring {
            Ring::Large(large) => Ok(large),
            Ring::Small(words) => Err(Error::OutOfMemory(size_of_val(&**words) as u64)),
        }
    }
}
