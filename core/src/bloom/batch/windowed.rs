//! The batches in a windowed filter.
//!
//! Lookups take the layers of all generations that answer, newest first, as those of one filter.
//! Insertions test the newest generation and the older ones apart: an item that only an older one
//! contains is written to the newest.

use std::ops::ControlFlow;

use arrayvec::ArrayVec;

use super::generations::Generations;
use super::group::Group;
use super::layers::test_layers;
use crate::bloom::bloomline::BlockedShape;
use crate::bloom::bloomline::locate::{Spot, locate};
use crate::bloom::bloomline::shape::set_bits;
use crate::bloom::layer::Part;
use crate::bloom::small::record::Record;
use crate::bloom::window::GenerationRef;
use crate::bloom::window::ring::in_ring;
use crate::bloom::window::state::RingState;
use crate::bloom::word::{RingMut, RingRef, WindowedFilter};
use crate::error::Error;
use crate::hash::xxh3::ItemHash;
use crate::insertion::Insertion;
use crate::mask::Mask;
use crate::memory::words::WordsRef;
use crate::permit::Permit;
use crate::simd::Backend;

impl Generations for WindowedFilter {
    type Shape = BlockedShape;

    #[inline(always)]
    fn seed(&self) -> u64 {
        self.state().seed
    }

    /// Regular layers are never folded.
    #[inline(always)]
    fn locate(&self, hash: &ItemHash) -> Spot {
        let geometry = self.state().geometry;
        locate(hash, &geometry, geometry.blocks())
    }

    #[inline(always)]
    fn contains_hash<B: Backend>(&self, backend: B, hash: &ItemHash, now: u64) -> bool {
        let (now, lifetime) = (self.time_at(now), self.state().lifetime());
        in_ring!(self, all => {
            for generation in all.rev() {
                if !generation.answers(now, lifetime) {
                    break;
                }
                if generation_contains(&generation, backend, hash) {
                    return true;
                }
            }
        });
        false
    }

    #[inline(always)]
    fn test_group<B: Backend>(&self, backend: B, group: &Group<BlockedShape, B>, now: u64) -> Mask {
        let (now, lifetime) = (self.time_at(now), self.state().lifetime());
        in_ring!(self, all => {
            let answering = all.rev().take_while(|one| one.answers(now, lifetime));
            let mut layers = answering.flat_map(|one| one.layers().rev()).peekable();
            if let Some(first) = layers.peek() {
                group.prefetch(first, group.all(), Part::First);
            }
            test_layers::<_, WordsRef, B>(backend, group, layers, group.all())
        })
    }

    #[inline(always)]
    fn insert_spot<B: Backend>(
        &mut self,
        backend: B,
        spot: Spot,
        now: u64,
        permit: Permit,
    ) -> Result<Insertion, Error> {
        // A small ring is backed by memory.
        if let RingMut::Large(ring) = self.ring_mut() {
            let newest = &mut ring.newest;
            newest.regular.prefault(newest.regular_len, &spot);
        }
        self.insert_unknown(backend, &spot, now, permit)
    }

    #[inline(always)]
    fn insert_group<B: Backend>(
        &mut self,
        backend: B,
        group: &Group<BlockedShape, B>,
        now: u64,
        permit: Permit,
        answer: &mut impl FnMut(Result<Insertion, Error>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let RingState { geometry, number, count, .. } = self.state();
        let spots: ArrayVec<Spot, { Mask::ITEMS }> =
            group.hashes().iter().map(|hash| locate(hash, &geometry, geometry.blocks())).collect();
        if let RingMut::Large(ring) = self.ring_mut() {
            let newest = &mut ring.newest;
            for spot in &spots {
                newest.regular.prefault(newest.regular_len, spot);
            }
        }
        let known = in_ring!(self, all => Known::of(all, usize::from(count) - 1, backend, group));
        // What is known of a group is valid until the ring rotates.
        let mut is_valid = true;
        for (index, spot) in spots.iter().enumerate() {
            let result = if !is_valid {
                self.insert_unknown(backend, spot, now, permit)
            } else if known.in_newest.contains(index) || self.newest_contains(backend, spot) {
                // Another item of the group may be the same.
                Ok(Insertion::Present)
            } else {
                let result = self.insert_in_newest(backend, spot, known.origin(index), now, permit);
                is_valid = self.number() == number;
                result
            };
            answer(result)?;
        }
        ControlFlow::Continue(())
    }
}

impl WindowedFilter {
    /// Inserts an item of which nothing is known.
    #[inline(always)]
    fn insert_unknown<B: Backend>(
        &mut self,
        backend: B,
        spot: &Spot,
        now: u64,
        permit: Permit,
    ) -> Result<Insertion, Error> {
        let newest = self.generation_count() - 1;
        match in_ring!(self, all => newest_with(all, newest, backend, &spot.hash)) {
            Some(index) if index == newest => Ok(Insertion::Present),
            origin => self.insert_in_newest(backend, spot, origin, now, permit),
        }
    }

    /// True if the newest generation contains an item. The spot is that in its regular layer.
    #[inline(always)]
    fn newest_contains<B: Backend>(&self, backend: B, spot: &Spot) -> bool {
        let newest = self.newest();
        newest.regular.contains(backend, spot)
            || newest.overflow.is_some_and(|filter| filter.contains_hash(backend, &spot.hash, 0))
    }

    /// Inserts an item that the newest generation does not contain. `origin` is the index of the
    /// newest of the older generations that contains it.
    #[inline(always)]
    fn insert_in_newest<B: Backend>(
        &mut self,
        backend: B,
        spot: &Spot,
        mut origin: Option<usize>,
        now: u64,
        permit: Permit,
    ) -> Result<Insertion, Error> {
        let insertion = if origin.is_some() { Insertion::Refreshed } else { Insertion::New };
        if origin.is_some() && !self.state().refreshes {
            return Ok(Insertion::Present);
        }
        let present = self.generation_count();
        if self.rotate_by_count(now, permit)? {
            // If the generations are as many as before, the first one was dropped.
            let dropped = present + 1 - self.generation_count();
            origin = origin.and_then(|index| index.checked_sub(dropped));
        }
        // The regular layers of a new generation and of the last one have the same shape.
        self.write(backend, spot, permit)?;
        // An item is live in one generation only. If the origin has no live items, it contains this
        // one by mistake, and the item is live in another one, which cannot be found.
        let live = origin.and_then(|index| self.update_live(index, |live| live.saturating_sub(1)));
        if live != Some(0) {
            self.update_live(self.generation_count() - 1, |live| live + 1);
        }
        Ok(insertion)
    }

    /// Writes an item to the newest generation.
    #[inline(always)]
    fn write<B: Backend>(&mut self, backend: B, spot: &Spot, permit: Permit) -> Result<(), Error> {
        let RingState { regular_capacity, geometry, .. } = self.state();
        match self.ring_mut() {
            RingMut::Large(ring) if ring.newest.regular_len < regular_capacity => {
                ring.newest.regular.set(backend, spot);
                ring.newest.regular_len += 1;
                return Ok(());
            }
            RingMut::Small(ring) => {
                if let Some((record, bits)) = ring.newest_mut()
                    && Record(*record).len() < regular_capacity
                {
                    set_bits(bits, geometry, backend, spot);
                    *record += Record::ITEM;
                    return Ok(());
                }
            }
            RingMut::Large(_) => {}
        }
        self.write_overflow(backend, &spot.hash, permit)
    }

    /// Writes an item to the overflow layers of the newest generation.
    #[inline(never)]
    fn write_overflow<B: Backend>(
        &mut self,
        backend: B,
        hash: &ItemHash,
        permit: Permit,
    ) -> Result<(), Error> {
        if self.newest().overflow.is_none_or(|overflow| overflow.room() == 0) {
            self.grow_overflow(permit)?;
        }
        let RingMut::Large(ring) = self.ring_mut() else { return Ok(()) };
        let Some(overflow) = &mut ring.newest.overflow else { return Ok(()) };
        let spot = overflow.newest.locate(hash);
        // There is room, so no memory is requested.
        overflow.push(backend, spot, permit).map(drop)
    }
}

/// The index of the newest generation that contains an item, of those up to index `newest`.
#[inline(always)]
fn newest_with<'a, B: Backend>(
    all: impl DoubleEndedIterator<Item = GenerationRef<'a>>,
    newest: usize,
    backend: B,
    hash: &ItemHash,
) -> Option<usize> {
    for (generation, index) in all.rev().zip((0..=newest).rev()) {
        if generation_contains(&generation, backend, hash) {
            return Some(index);
        }
    }
    None
}

/// True if a layer of the generation contains the item.
#[inline(always)]
fn generation_contains<B: Backend>(
    generation: &GenerationRef,
    backend: B,
    hash: &ItemHash,
) -> bool {
    // A filter without a window answers at any time.
    if let Some(overflow) = generation.overflow
        && overflow.contains_hash(backend, hash, 0)
    {
        return true;
    }
    generation.regular.contains_hash(backend, hash)
}

/// Where the items of a group are.
struct Known {
    /// Those that the newest generation contains.
    in_newest: Mask,
    /// Those that an older generation contains.
    in_older: Mask,
    /// For those, the index of the newest of these generations.
    origins: [u8; Mask::ITEMS],
}

impl Known {
    /// Tests the items in all generations, oldest first, the newest of which has index `newest`.
    /// Prefetches their blocks in its regular layer.
    #[inline(always)]
    fn of<'a, B: Backend>(
        all: impl DoubleEndedIterator<Item = GenerationRef<'a>>,
        newest: usize,
        backend: B,
        group: &Group<BlockedShape, B>,
    ) -> Self {
        let mut known =
            Self { in_newest: Mask::EMPTY, in_older: Mask::EMPTY, origins: [0; Mask::ITEMS] };
        let mut missing = group.all();
        let mut all = all.rev();
        if let Some(newest) = all.next() {
            group.prefetch(&newest.regular, missing, Part::First);
            group.prefetch(&newest.regular, missing, Part::Rest);
            let layers = newest.layers().rev();
            known.in_newest = test_layers::<_, WordsRef, B>(backend, group, layers, missing);
            missing = missing.without(known.in_newest);
        }
        let mut next = all.next();
        if let Some(last) = &next {
            group.prefetch(&last.regular, missing, Part::First);
        }
        for index in (0..newest).rev() {
            let Some(generation) = next.filter(|_| !missing.is_empty()) else { break };
            next = all.next();
            if let Some(next) = &next {
                group.prefetch(&next.regular, missing, Part::First);
            }
            let layers = generation.layers().rev();
            let found = test_layers::<_, WordsRef, B>(backend, group, layers, missing);
            missing = missing.without(found);
            known.in_older = known.in_older.or(found);
            for item in found {
                if let Some(origin) = known.origins.get_mut(item) {
                    *origin = index as u8;
                }
            }
        }
        known
    }

    /// The index of the newest of the older generations that contains an item.
    #[inline(always)]
    fn origin(&self, item: usize) -> Option<usize> {
        let index = self.origins.get(item).copied().filter(|_| self.in_older.contains(item))?;
        Some(index.into())
    }
}
