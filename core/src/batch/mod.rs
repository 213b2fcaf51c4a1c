//! Looking items up and adding them, one or many in a call.
//!
//! Many are taken in groups: all hashed, their lines fetched ahead, then looked at.
//!
//! * In one layer item by item: the further lines are looked for at once if the first one passes.
//! * In many layer by layer: all first lines without a branch between them, then the further lines
//!   of the few items that have passed. Item by item a branch is mispredicted once or twice an
//!   item: 1.2 to 1.4 times the time on 14 or 100 layers.

pub mod group;
mod layers;

use crate::error::Error;
use crate::layer::{Layer, Lines};
use crate::scalable::ScalableFilter;
use crate::simd::{Backend, Task, dispatch};
use crate::spec::Permit;
use group::{Group, PreparedGroup};

/// Items of a group: the fetches that can be under way at once. 1 KiB of hashes, and 8 KiB of what
/// is prepared for many layers.
const GROUP: usize = 64;
/// The same for calls with few items, to which zeroing that to begin with would matter.
const SMALL_GROUP: usize = 16;

impl<L: Layer> ScalableFilter<L> {
    /// Whether the item may have been added: never false for one that was.
    pub fn contains(&self, item: &[u8]) -> bool {
        dispatch(ContainsOne { filter: self, item })
    }

    /// Adds an item; true if it was new.
    ///
    /// An item that the filter seems to have is not added again and not counted.
    ///
    /// # Errors
    ///
    /// [`Error::Full`], or why the next layer can't be had. The item is not added then.
    pub fn insert(&mut self, item: &[u8], permit: Permit) -> Result<bool, Error> {
        dispatch(InsertOne { filter: self, item, permit })
    }

    /// Answers for each item in turn whether it may have been added.
    pub fn contains_batch<'a>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        answer: impl FnMut(bool),
    ) {
        if is_few(&items) {
            dispatch(Contains::<_, _, _, SMALL_GROUP> { filter: self, items, answer });
        } else {
            dispatch(Contains::<_, _, _, GROUP> { filter: self, items, answer });
        }
    }

    /// Adds each item in turn and answers as [`ScalableFilter::insert`] does; the first [`Error::Full`] is
    /// the last answer.
    ///
    /// An item twice in one call is new once. After any other error the rest is tried all the same.
    pub fn insert_batch<'a>(
        &mut self,
        items: impl Iterator<Item = &'a [u8]>,
        permit: Permit,
        answer: impl FnMut(Result<bool, Error>),
    ) {
        if is_few(&items) {
            dispatch(Insert::<_, _, _, SMALL_GROUP> { filter: self, items, permit, answer });
        } else {
            dispatch(Insert::<_, _, _, GROUP> { filter: self, items, permit, answer });
        }
    }
}

/// Whether the items surely fit a small group.
fn is_few(items: &impl Iterator) -> bool {
    items.size_hint().1.is_some_and(|most| most <= SMALL_GROUP)
}

/// The work of [`ScalableFilter::contains`].
struct ContainsOne<'f, 'a, L: Layer> {
    filter: &'f ScalableFilter<L>,
    item: &'a [u8],
}

impl<L: Layer> Task for ContainsOne<'_, '_, L> {
    type Output = bool;

    #[inline(always)]
    fn run<P: Backend>(self, backend: P) -> bool {
        let hash = L::hash(self.filter.common(), self.item);
        self.filter.contains_hash(backend, &hash)
    }
}

/// The work of [`ScalableFilter::insert`].
struct InsertOne<'f, 'a, 'p, L: Layer> {
    filter: &'f mut ScalableFilter<L>,
    item: &'a [u8],
    permit: Permit<'p>,
}

impl<L: Layer> Task for InsertOne<'_, '_, '_, L> {
    type Output = Result<bool, Error>;

    #[inline(always)]
    fn run<P: Backend>(self, backend: P) -> Result<bool, Error> {
        let hash = L::hash(self.filter.common(), self.item);
        self.filter.insert_hash(backend, &hash, self.permit)
    }
}

/// The work of [`ScalableFilter::contains_batch`] in groups of `N`.
struct Contains<'f, L: Layer, I, A, const N: usize> {
    filter: &'f ScalableFilter<L>,
    items: I,
    answer: A,
}

impl<'a, L, I, A, const N: usize> Task for Contains<'_, L, I, A, N>
where
    L: Layer,
    I: Iterator<Item = &'a [u8]>,
    A: FnMut(bool),
{
    type Output = ();

    #[inline(always)]
    fn run<P: Backend>(self, backend: P) {
        if self.filter.layer_count() == 1 {
            self.in_one_layer(backend)
        } else {
            self.in_layers(backend)
        }
    }
}

impl<'a, L, I, A, const N: usize> Contains<'_, L, I, A, N>
where
    L: Layer,
    I: Iterator<Item = &'a [u8]>,
    A: FnMut(bool),
{
    #[inline(always)]
    fn in_one_layer<P: Backend>(mut self, backend: P) {
        let mut group = Group::<L, N>::empty();
        let layer = self.filter.newest();
        let lines = if layer.is_far() { Lines::First } else { Lines::All };
        while group.fill(self.filter.common(), &mut self.items) {
            layer.prefetch(group.hashes().iter(), lines);
            if layer.is_far() {
                // By now the first lines of the first items are there.
                for hash in group.hashes() {
                    layer.prefetch_rest(backend, hash);
                }
            }
            for hash in group.hashes() {
                (self.answer)(self.filter.contains_hash(backend, hash));
            }
        }
    }

    #[inline(always)]
    fn in_layers<P: Backend>(mut self, backend: P) {
        let mut group = PreparedGroup::<L, P, N>::empty(backend);
        while group.fill(backend, self.filter.common(), &mut self.items) {
            let found = self.filter.contains_of(backend, &group, Lines::First);
            for index in 0..group.hashes().len() {
                (self.answer)(found >> index & 1 == 1);
            }
        }
    }
}

/// The work of [`ScalableFilter::insert_batch`] in groups of `N`.
struct Insert<'f, 'p, L: Layer, I, A, const N: usize> {
    filter: &'f mut ScalableFilter<L>,
    items: I,
    permit: Permit<'p>,
    answer: A,
}

impl<'a, L, I, A, const N: usize> Task for Insert<'_, '_, L, I, A, N>
where
    L: Layer,
    I: Iterator<Item = &'a [u8]>,
    A: FnMut(Result<bool, Error>),
{
    type Output = ();

    #[inline(always)]
    fn run<P: Backend>(mut self, backend: P) {
        let mut group = Group::<L, N>::empty();
        while self.filter.layer_count() == 1 {
            if !group.fill(self.filter.common(), &mut self.items) {
                return;
            }
            self.filter.newest().prefetch(group.hashes().iter(), Lines::All);
            for hash in group.hashes() {
                let result = self.filter.insert_hash(backend, hash, self.permit);
                (self.answer)(result);
                if matches!(result, Err(Error::Full(_))) {
                    return;
                }
            }
        }
        self.in_layers(backend);
    }
}

impl<'a, L, I, A, const N: usize> Insert<'_, '_, L, I, A, N>
where
    L: Layer,
    I: Iterator<Item = &'a [u8]>,
    A: FnMut(Result<bool, Error>),
{
    #[inline(always)]
    fn in_layers<P: Backend>(mut self, backend: P) {
        let mut group = PreparedGroup::<L, P, N>::empty(backend);
        while group.fill(backend, self.filter.common(), &mut self.items) {
            self.filter.expect(group.hashes());
            // What is found stays found. What is not may come in with another item of the group,
            // into the newest layer.
            let mut found = self.filter.contains_of(backend, &group, Lines::All);
            for (index, hash) in group.hashes().iter().enumerate() {
                if found >> index & 1 == 1 {
                    (self.answer)(Ok(false));
                    continue;
                }
                let layers = self.filter.layer_count();
                let result = self.filter.insert_in_newest(backend, hash, self.permit);
                if self.filter.layer_count() > layers {
                    found |= self.filter.last_full_contains_of(backend, &group);
                }
                (self.answer)(result);
                if matches!(result, Err(Error::Full(_))) {
                    return;
                }
            }
        }
    }
}
