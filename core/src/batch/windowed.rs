//! Testing and inserting items in a filter that forgets, one or many per call.
//!
//! Lookups take the layers of all generations that answer, newest first, as those of one filter.
//! Insertions test the newest generation and the older ones apart: an item that only an older one
//! contains is written to the newest.

use super::contains_spot;
use super::group::Group;
use super::layers::test_layers;
use super::mask::Mask;
use crate::bloomline::BlockedLayer;
use crate::bloomline::hash::ItemHash;
use crate::error::Error;
use crate::insertion::Insertion;
use crate::layer::{Layer, Part};
use crate::simd::{self, Backend, Task};
use crate::spec::Permit;
use crate::window::{Generation, WindowedFilter};

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
    pub fn contains_batch<'a>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        now: u64,
        answer: impl FnMut(bool),
    ) {
        simd::dispatch(Contains { filter: self, items, now, answer });
    }

    /// Inserts each item in turn and answers as [`WindowedFilter::insert`] does; the first
    /// [`Error::Full`] is the last answer.
    pub fn insert_batch<'a>(
        &mut self,
        items: impl Iterator<Item = &'a [u8]>,
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
        if generation_contains(&self.newest, backend, hash) {
            return Ok(Insertion::Present);
        }
        let mut origin = None;
        for (index, generation) in self.older.iter().enumerate().rev() {
            if generation_contains(generation, backend, hash) {
                origin = Some(index);
                break;
            }
        }
        self.insert_in_newest(backend, hash, origin, permit)
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
        if origin.is_some() && !self.spec.refreshes {
            return Ok(Insertion::Present);
        }
        let present = self.older.len();
        if self.rotate_by_count(permit)? {
            // If the older generations are as many as before, the first one was dropped.
            let dropped = present + 1 - self.older.len();
            origin = origin.and_then(|index| index.checked_sub(dropped));
        }
        self.write(backend, hash, permit)?;
        // An item is live in one generation only. If the origin has no live items, it contains this
        // one by mistake, and the item is live in another one, which cannot be found.
        let live = match origin.and_then(|index| self.older.get_mut(index)) {
            Some(origin) => {
                let moved = origin.live.min(1);
                origin.live -= moved;
                moved
            }
            None => 1,
        };
        self.newest.live += live;
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
        let newest = &mut self.newest;
        if newest.regular_len < newest.regular.capacity() {
            let spot = newest.regular.locate(hash);
            newest.regular.set(backend, &spot);
            newest.regular_len += 1;
            return Ok(());
        }
        if newest.overflow.as_ref().is_none_or(|overflow| overflow.room() == 0) {
            self.grow_overflow(permit)?;
        }
        let Some(overflow) = &mut self.newest.overflow else { return Ok(()) };
        let spot = overflow.newest.locate(hash);
        // There is room, so no memory is requested.
        overflow.push(backend, spot, permit).map(drop)
    }
}

/// True if a layer of the generation contains the item.
#[inline(always)]
fn generation_contains<B: Backend>(generation: &Generation, backend: B, hash: &ItemHash) -> bool {
    if let Some(overflow) = &generation.overflow
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
        let hash = BlockedLayer::hash(&self.filter.common, self.item);
        for generation in self.filter.answering(self.now) {
            if generation_contains(generation, backend, &hash) {
                return true;
            }
        }
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
        let hash = BlockedLayer::hash(&self.filter.common, self.item);
        self.filter.newest.prefault(&hash);
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

impl<'a, I, A> Task for Contains<'_, I, A>
where
    I: Iterator<Item = &'a [u8]>,
    A: FnMut(bool),
{
    type Output = ();

    #[inline(always)]
    fn run<B: Backend>(mut self, backend: B) {
        let mut group = Group::<BlockedLayer, B>::new();
        while group.fill(backend, &self.filter.common, &mut self.items) {
            let answering = self.filter.answering(self.now);
            let mut layers = answering.flat_map(|generation| generation.layers().rev()).peekable();
            if let Some(&first) = layers.peek() {
                group.prefetch(first, group.all(), Part::First);
            }
            let found = test_layers(backend, &group, layers, group.all());
            for index in 0..group.hashes().len() {
                (self.answer)(found.contains(index));
            }
        }
    }
}

/// The work of [`WindowedFilter::insert_batch`].
struct Insert<'f, 'p, I, A> {
    filter: &'f mut WindowedFilter,
    items: I,
    permit: Permit<'p>,
    answer: A,
}

impl<'a, I, A> Task for Insert<'_, '_, I, A>
where
    I: Iterator<Item = &'a [u8]>,
    A: FnMut(Result<Insertion, Error>),
{
    type Output = ();

    #[inline(always)]
    fn run<B: Backend>(mut self, backend: B) {
        let mut group = Group::new();
        while group.fill(backend, &self.filter.common, &mut self.items) {
            let known = Known::of(self.filter, backend, &group);
            let number = self.filter.number;
            for (index, hash) in group.hashes().iter().enumerate() {
                // What is known of a group is valid until the ring rotates.
                let result = if self.filter.number != number {
                    self.filter.insert_hash(backend, hash, self.permit)
                } else if known.in_newest.contains(index)
                    || generation_contains(&self.filter.newest, backend, hash)
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
    /// Tests the items, and prefetches their blocks in the regular layer of the newest generation.
    #[inline(always)]
    fn of<B: Backend>(
        filter: &mut WindowedFilter,
        backend: B,
        group: &Group<BlockedLayer, B>,
    ) -> Self {
        for hash in group.hashes() {
            filter.newest.prefault(hash);
        }
        let newest = &filter.newest;
        group.prefetch(&newest.regular, group.all(), Part::First);
        group.prefetch(&newest.regular, group.all(), Part::Rest);
        let in_newest = test_layers(backend, group, newest.layers().rev(), group.all());
        let mut known = Self { in_newest, in_older: Mask::EMPTY, origins: [0; Mask::ITEMS] };
        let mut missing = group.all().without(in_newest);
        if let Some(last) = filter.older.last() {
            group.prefetch(&last.regular, missing, Part::First);
        }
        for (index, generation) in filter.older.iter().enumerate().rev() {
            if missing.is_empty() {
                break;
            }
            if let Some(next) = index.checked_sub(1).and_then(|index| filter.older.get(index)) {
                group.prefetch(&next.regular, missing, Part::First);
            }
            let found = test_layers(backend, group, generation.layers().rev(), missing);
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
