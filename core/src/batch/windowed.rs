//! Testing and inserting items in a windowed filter, one or many per call.
//!
//! Lookups take the layers of all generations that answer, newest first, as those of one filter.
//! Insertions test the newest generation and the older ones apart: an item that only an older one
//! contains is written to the newest.

use super::contains_spot;
use super::group::Group;
use super::layers::test_layers;
use super::mask::Mask;
use crate::bloomline::hash::{ItemHash, item_hash};
use crate::bloomline::layer::set_bits;
use crate::bloomline::{BlockedLayer, LayerRef};
use crate::error::Error;
use crate::insertion::Insertion;
use crate::layer::{Layer, Part, Probe};
use crate::simd::{self, Backend, Task};
use crate::spec::Permit;
use crate::window::ring::{Ring, in_ring};
use crate::window::{GenerationRef, WindowedFilter};

impl WindowedFilter {
    /// True if the item may have been inserted within the window before `now`, in milliseconds:
    /// always true for one that was.
    pub fn contains(&self, item: &[u8], now: u64) -> bool {
        simd::dispatch_single(ContainsOne { filter: self, item, now })
    }

    /// Inserts an item. Before, the filter must have been brought to the present time by
    /// [`WindowedFilter::advance`].
    ///
    /// # Errors
    ///
    /// [`Error::Full`], or why the next layer or generation could not be created. The item is not
    /// inserted then.
    pub fn insert(&mut self, item: &[u8], permit: Permit) -> Result<Insertion, Error> {
        simd::dispatch_single(InsertOne { filter: self, item, permit })
    }

    /// Answers for each item in turn as [`WindowedFilter::contains`] does.
    pub fn contains_batch(
        &self,
        items: impl Iterator<Item: AsRef<[u8]>>,
        now: u64,
        answer: impl FnMut(bool),
    ) {
        simd::dispatch(Contains { filter: self, items, now, answer });
    }

    /// Inserts each item in turn and answers as [`WindowedFilter::insert`] does; the first
    /// [`Error::Full`] is the last answer.
    pub fn insert_batch(
        &mut self,
        items: impl Iterator<Item: AsRef<[u8]>>,
        permit: Permit,
        answer: impl FnMut(Result<Insertion, Error>),
    ) {
        simd::dispatch(Insert { filter: self, items, permit, answer });
    }

    /// Inserts an item of which nothing is known.
    #[inline(always)]
    fn insert_hash<B: Backend>(
        &mut self,
        backend: B,
        hash: &ItemHash,
        permit: Permit,
    ) -> Result<Insertion, Error> {
        let newest = self.generation_count() - 1;
        match in_ring!(self, all => newest_with(all, newest, backend, hash)) {
            Some(index) if index == newest => Ok(Insertion::Present),
            origin => self.insert_in_newest(backend, hash, origin, permit),
        }
    }

    /// Inserts an item that the newest generation does not contain. `origin` is the index of the
    /// newest of the older generations that contains it.
    #[inline(always)]
    fn insert_in_newest<B: Backend>(
        &mut self,
        backend: B,
        hash: &ItemHash,
        mut origin: Option<usize>,
        permit: Permit,
    ) -> Result<Insertion, Error> {
        let insertion = if origin.is_some() { Insertion::Refreshed } else { Insertion::New };
        if origin.is_some() && !self.refreshes {
            return Ok(Insertion::Present);
        }
        let present = self.generation_count();
        if self.rotate_by_count(permit)? {
            // If the generations are as many as before, the first one was dropped.
            let dropped = present + 1 - self.generation_count();
            origin = origin.and_then(|index| index.checked_sub(dropped));
        }
        self.write(backend, hash, permit)?;
        // An item is live in one generation only. If the origin has no live items, it contains this
        // one by mistake, and the item is live in another one, which cannot be found.
        let live = match origin.and_then(|index| self.live_mut(index)) {
            Some(live) => {
                let moved = (*live).min(1);
                *live -= moved;
                moved
            }
            None => 1,
        };
        if let Some(newest) = self.live_mut(self.generation_count() - 1) {
            *newest += live;
        }
        Ok(insertion)
    }

    /// Writes an item to the newest generation.
    #[inline(always)]
    fn write<B: Backend>(
        &mut self,
        backend: B,
        hash: &ItemHash,
        permit: Permit,
    ) -> Result<(), Error> {
        let (capacity, geometry) = (self.regular_capacity, self.geometry);
        if let Ring::Large(large) = &mut self.ring {
            let newest = &mut large.newest;
            if newest.regular_len < capacity {
                let spot = newest.regular.locate(hash);
                newest.regular.set(backend, &spot);
                newest.regular_len += 1;
                return Ok(());
            }
        } else if let Some((bits, [_, len, _])) = self.newest_in_words()
            && *len < capacity
            && let Some(layer) = LayerRef::new(bits, capacity, geometry)
        {
            let spot = layer.locate(hash);
            set_bits(bits, geometry, backend, &spot);
            *len += 1;
            return Ok(());
        }
        self.write_overflow(backend, hash, permit)
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
        let Ring::Large(large) = &mut self.ring else { return Ok(()) };
        let Some(overflow) = &mut large.newest.overflow else { return Ok(()) };
        let spot = overflow.newest.locate(hash);
        // There is room, so no memory is requested.
        overflow.push(backend, spot, permit).map(drop)
    }

    /// See [`Generation::prefault`]. A small ring is backed by memory.
    #[inline(always)]
    fn prefault(&mut self, hash: &ItemHash) {
        if let Ring::Large(large) = &mut self.ring {
            large.newest.prefault(hash);
        }
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
    if let Some(overflow) = generation.overflow
        && overflow.contains_hash(backend, hash)
    {
        return true;
    }
    let layer = &generation.regular;
    contains_spot(layer, backend, &layer.locate(hash))
}

/// The work of [`WindowedFilter::contains`].
struct ContainsOne<'f, 'a> {
    filter: &'f WindowedFilter,
    item: &'a [u8],
    now: u64,
}

impl Task for ContainsOne<'_, '_> {
    type Output = bool;

    #[inline(always)]
    fn run<B: Backend>(self, backend: B) -> bool {
        let hash = item_hash(self.item, self.filter.seed());
        let lifetime = self.filter.lifetime();
        in_ring!(self.filter, all => {
            for generation in all.rev() {
                if !generation.answers(self.now, lifetime) {
                    break;
                }
                if generation_contains(&generation, backend, &hash) {
                    return true;
                }
            }
        });
        false
    }
}

/// The work of [`WindowedFilter::insert`].
struct InsertOne<'f, 'a, 'p> {
    filter: &'f mut WindowedFilter,
    item: &'a [u8],
    permit: Permit<'p>,
}

impl Task for InsertOne<'_, '_, '_> {
    type Output = Result<Insertion, Error>;

    #[inline(always)]
    fn run<B: Backend>(self, backend: B) -> Result<Insertion, Error> {
        let hash = item_hash(self.item, self.filter.seed());
        self.filter.prefault(&hash);
        self.filter.insert_hash(backend, &hash, self.permit)
    }
}

/// The work of [`WindowedFilter::contains_batch`].
struct Contains<'f, I, A> {
    filter: &'f WindowedFilter,
    items: I,
    now: u64,
    answer: A,
}

impl<I, A> Task for Contains<'_, I, A>
where
    I: Iterator<Item: AsRef<[u8]>>,
    A: FnMut(bool),
{
    type Output = ();

    #[inline(always)]
    fn run<B: Backend>(mut self, backend: B) {
        let mut group = Group::<BlockedLayer, B>::new();
        let (seed, lifetime) = (self.filter.seed(), self.filter.lifetime());
        while group.fill(backend, |item| item_hash(item, seed), &mut self.items) {
            let found = in_ring!(self.filter, all => {
                let answering = all.rev().take_while(|one| one.answers(self.now, lifetime));
                test_generations(backend, &group, answering)
            });
            for index in 0..group.hashes().len() {
                (self.answer)(found.contains(index));
            }
        }
    }
}

/// Which items of a group any of these generations contains, newest first.
#[inline(always)]
fn test_generations<'a, B: Backend>(
    backend: B,
    group: &Group<BlockedLayer, B>,
    generations: impl Iterator<Item = GenerationRef<'a>>,
) -> Mask {
    let mut layers = generations.flat_map(|one| one.layers().rev()).peekable();
    if let Some(first) = layers.peek() {
        group.prefetch(first, group.all(), Part::First);
    }
    test_layers::<_, _, LayerRef>(backend, group, layers, group.all())
}

/// The work of [`WindowedFilter::insert_batch`].
struct Insert<'f, 'p, I, A> {
    filter: &'f mut WindowedFilter,
    items: I,
    permit: Permit<'p>,
    answer: A,
}

impl<I, A> Task for Insert<'_, '_, I, A>
where
    I: Iterator<Item: AsRef<[u8]>>,
    A: FnMut(Result<Insertion, Error>),
{
    type Output = ();

    #[inline(always)]
    fn run<B: Backend>(mut self, backend: B) {
        let mut group = Group::new();
        let seed = self.filter.seed();
        while group.fill(backend, |item| item_hash(item, seed), &mut self.items) {
            for hash in group.hashes() {
                self.filter.prefault(hash);
            }
            let newest = self.filter.generation_count() - 1;
            let known = in_ring!(self.filter, all => Known::of(all, newest, backend, &group));
            let number = self.filter.number;
            for (index, hash) in group.hashes().iter().enumerate() {
                // What is known of a group is valid until the ring rotates.
                let result = if self.filter.number != number {
                    self.filter.insert_hash(backend, hash, self.permit)
                } else if known.in_newest.contains(index)
                    || generation_contains(&self.filter.newest(), backend, hash)
                {
                    // Another item of the group may be the same.
                    Ok(Insertion::Present)
                } else {
                    let origin = known.origin(index);
                    self.filter.insert_in_newest(backend, hash, origin, self.permit)
                };
                let is_full = matches!(result, Err(Error::Full(_)));
                (self.answer)(result);
                if is_full {
                    return;
                }
            }
        }
    }
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
        group: &Group<BlockedLayer, B>,
    ) -> Self {
        let mut known =
            Self { in_newest: Mask::EMPTY, in_older: Mask::EMPTY, origins: [0; Mask::ITEMS] };
        let mut missing = group.all();
        let mut all = all.rev();
        if let Some(newest) = all.next() {
            group.prefetch(&newest.regular, missing, Part::First);
            group.prefetch(&newest.regular, missing, Part::Rest);
            let layers = newest.layers().rev();
            known.in_newest = test_layers::<_, _, LayerRef>(backend, group, layers, missing);
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
            let found = test_layers::<_, _, LayerRef>(backend, group, layers, missing);
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
