//! Testing and inserting items, one or many per call.
//!
//! Many are taken in groups: all hashed, their blocks prefetched, then tested.
//!
//! * One layer: all items are located together, by vector instructions where the layout has them.
//!   Then they are tested item by item, the rest of the blocks only if the first part is set.
//! * One layer and at most 16 items, or a small layer: located one by one, without a group.
//! * Many layers, layer by layer: all first parts without a branch between them, then the rest of
//!   the few items that passed. Item by item a branch is mispredicted once or twice per item.
//!
//! All filters are taken as rings of generations; one without a window has one generation and never
//! rotates. `layers` and `windowed` hold what differs. The insertion of a group differs too,
//! because a shared loop takes longer. `docs/explanation/performance.md` has the numbers.

mod generations;
mod group;
mod layers;
mod windowed;

use std::ops::ControlFlow;

use arrayvec::ArrayVec;

use self::generations::{Generations, LocatedOf, SeedOf, SpotOf};
use self::group::Group;
use crate::bloom::layer::{Layer, LayerShape, Located, Part, Rules};
use crate::bloom::scalable::ScalableFilter;
use crate::bloom::window::WindowedFilter;
use crate::error::Error;
use crate::insertion::Insertion;
use crate::mask::Mask;
use crate::permit::Permit;
use crate::simd::{self, Backend, Task};

/// Testing and inserting items in a filter of any kind.
pub(crate) trait GenerationsExt: Generations {
    /// True if the item may have been inserted, as of the time `now` in milliseconds, which filters
    /// without a window ignore.
    fn test(&self, item: &[u8], now: u64) -> bool {
        dispatch_single::<Self, _>(ContainsOne { filter: self, item, now })
    }

    /// Inserts an item. A rotation by count that it causes happens at the time `now`.
    fn add(&mut self, item: &[u8], now: u64, permit: Permit) -> Result<Insertion, Error> {
        dispatch_single::<Self, _>(InsertOne { filter: self, item, now, permit })
    }

    /// Answers for each item in turn as [`GenerationsExt::test`] does.
    fn test_batch(
        &self,
        items: impl Iterator<Item: AsRef<[u8]>>,
        now: u64,
        answer: impl FnMut(bool),
    ) {
        dispatch::<Self, _>(ContainsBatch { filter: self, items, now, answer });
    }

    /// Inserts each item in turn and answers as [`GenerationsExt::add`] does, up to the answer that
    /// stops: later items are not inserted.
    fn add_batch(
        &mut self,
        items: impl Iterator<Item: AsRef<[u8]>>,
        now: u64,
        permit: Permit,
        answer: impl FnMut(Result<Insertion, Error>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        dispatch::<Self, _>(InsertBatch { filter: self, items, now, permit, answer })
    }
}

impl<F: Generations> GenerationsExt for F {}

impl<S: LayerShape> ScalableFilter<S> {
    /// True if the item may have been inserted: always true for one that was.
    pub fn contains(&self, item: &[u8]) -> bool {
        self.test(item, 0)
    }

    /// Inserts an item; true if it was new.
    ///
    /// An item that the filter seems to contain is not inserted again and not counted.
    ///
    /// # Errors
    ///
    /// [`Error::Full`], or why the next layer could not be created. The item is not inserted then.
    pub fn insert(&mut self, item: &[u8], permit: Permit) -> Result<bool, Error> {
        self.add(item, 0, permit).map(Insertion::is_new)
    }

    /// Answers for each item in turn whether it may have been inserted.
    pub fn contains_batch(
        &self,
        items: impl Iterator<Item: AsRef<[u8]>>,
        answer: impl FnMut(bool),
    ) {
        self.test_batch(items, 0, answer);
    }

    /// Inserts each item in turn and answers as [`ScalableFilter::insert`] does, up to the answer
    /// that stops: later items are not inserted.
    ///
    /// An item that occurs twice in one call is new once.
    pub fn insert_batch(
        &mut self,
        items: impl Iterator<Item: AsRef<[u8]>>,
        permit: Permit,
        mut answer: impl FnMut(Result<bool, Error>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.add_batch(items, 0, permit, |result| answer(result.map(Insertion::is_new)))
    }
}

impl WindowedFilter {
    /// True if the item may have been inserted within the window before `now`, in milliseconds:
    /// always true for one that was.
    pub fn contains(&self, item: &[u8], now: u64) -> bool {
        self.test(item, now)
    }

    /// Inserts an item. A filter that remembers by time must have been brought to the present time
    /// by [`WindowedFilter::advance`] before. One that remembers by count rotates if its newest
    /// generation is full, at the time `now` in milliseconds; a time before that of its last
    /// rotation counts as that time.
    ///
    /// # Errors
    ///
    /// [`Error::Full`], or why the next layer or generation could not be created. The item is not
    /// inserted then.
    pub fn insert(&mut self, item: &[u8], now: u64, permit: Permit) -> Result<Insertion, Error> {
        self.add(item, now, permit)
    }
}

/// Does the work for a batch with the fastest backend for this layout.
#[inline(always)]
fn dispatch<F: Generations, T: Task>(task: T) -> T::Output {
    if F::Shape::IS_VECTORIZED { simd::dispatch(task) } else { simd::dispatch_scalar(task) }
}

/// Does the work for one item with the fastest backend for this layout.
#[inline(always)]
fn dispatch_single<F: Generations, T: Task>(task: T) -> T::Output {
    if F::Shape::IS_VECTORIZED { simd::dispatch_single(task) } else { simd::dispatch_scalar(task) }
}

/// The most items of a call that are few: for these a group takes longer to prepare than it saves.
const FEW: usize = 16;

/// The spots of a few items in the only layer of a filter.
type Spots<F> = ArrayVec<SpotOf<F>, FEW>;

/// True if a call has a few items only.
#[inline(always)]
fn are_few(items: &impl Iterator) -> bool {
    items.size_hint().1.is_some_and(|most| most <= FEW)
}

/// Locates the next few items in the only layer, and prefetches their blocks. False at the end.
#[inline(always)]
fn locate_few<F: Generations>(
    spots: &mut Spots<F>,
    seed: &SeedOf<F>,
    layer: &Layer<F::Shape>,
    items: &mut impl Iterator<Item: AsRef<[u8]>>,
) -> bool {
    spots.clear();
    F::Shape::hash_all(seed, items.take(FEW), |hash| {
        // There is room: no more items are taken than that.
        let _ = spots.try_push(layer.locate(&hash));
    });
    if layer.bytes() >= F::Shape::PREFETCH_FROM {
        for spot in &*spots {
            layer.prefetch(spot, Part::First);
            layer.prefetch(spot, Part::Rest);
        }
    }
    !spots.is_empty()
}

/// Locates the next items in the only layer, as many as there is room for. False at the end.
#[inline(always)]
fn locate_next<F: Generations>(
    located: &mut LocatedOf<F>,
    seed: &SeedOf<F>,
    layer: &Layer<F::Shape>,
    items: &mut impl Iterator<Item: AsRef<[u8]>>,
) -> bool {
    located.clear();
    F::Shape::hash_all(seed, items.take(Mask::ITEMS), |hash| located.push(hash));
    located.locate(layer);
    !located.is_empty()
}

/// Hashes the next items, as many as there is room for. False at the end.
#[inline(always)]
fn hash_next<F: Generations, B: Backend>(
    group: &mut Group<F::Shape, B>,
    backend: B,
    seed: &SeedOf<F>,
    items: &mut impl Iterator<Item: AsRef<[u8]>>,
) -> bool {
    group.clear();
    F::Shape::hash_all(seed, items.take(Mask::ITEMS), |hash| group.push(hash));
    group.prepare(backend);
    !group.hashes().is_empty()
}

struct ContainsOne<'f, 'a, F> {
    filter: &'f F,
    item: &'a [u8],
    now: u64,
}

impl<F: Generations> Task for ContainsOne<'_, '_, F> {
    type Output = bool;

    #[inline(always)]
    fn run<B: Backend>(self, backend: B) -> bool {
        let hash = F::Shape::hash(&self.filter.seed(), self.item);
        self.filter.contains_hash(backend, &hash, self.now)
    }
}

struct InsertOne<'f, 'a, 'p, F> {
    filter: &'f mut F,
    item: &'a [u8],
    now: u64,
    permit: Permit<'p>,
}

impl<F: Generations> Task for InsertOne<'_, '_, '_, F> {
    type Output = Result<Insertion, Error>;

    #[inline(always)]
    fn run<B: Backend>(self, backend: B) -> Result<Insertion, Error> {
        let hash = F::Shape::hash(&self.filter.seed(), self.item);
        let spot = self.filter.locate(&hash);
        self.filter.insert_spot(backend, spot, self.now, self.permit)
    }
}

struct ContainsBatch<'f, F, I, A> {
    filter: &'f F,
    items: I,
    now: u64,
    answer: A,
}

impl<F, I, A> Task for ContainsBatch<'_, F, I, A>
where
    F: Generations,
    I: Iterator<Item: AsRef<[u8]>>,
    A: FnMut(bool),
{
    type Output = ();

    #[inline(always)]
    fn run<B: Backend>(mut self, backend: B) {
        let Some(layer) = self.filter.only_layer() else {
            let (mut group, seed) = (Group::new(), self.filter.seed());
            while hash_next::<F, B>(&mut group, backend, &seed, &mut self.items) {
                let found = self.filter.test_group(backend, &group, self.now);
                for index in 0..group.hashes().len() {
                    (self.answer)(found.contains(index));
                }
            }
            return;
        };
        let seed = self.filter.seed();
        let is_staged = layer.bytes() >= F::Shape::STAGED_FROM;
        if are_few(&self.items) {
            let mut spots = Spots::<F>::new();
            while locate_few::<F>(&mut spots, &seed, layer, &mut self.items) {
                for spot in &spots {
                    (self.answer)(layer.contains(backend, spot));
                }
            }
            return;
        }
        let mut located = LocatedOf::<F>::new();
        while locate_next::<F>(&mut located, &seed, layer, &mut self.items) {
            if !is_staged {
                located.prefetch_all(layer);
                for index in 0..located.len() {
                    (self.answer)(located.is_in(backend, layer, index));
                }
                continue;
            }
            for index in 0..located.len() {
                located.prefetch(layer, index, Part::First);
            }
            // By now the first blocks of the first items have arrived.
            let mut passed = Mask::EMPTY;
            for index in 0..located.len() {
                if located.test_first(backend, layer, index) {
                    located.prefetch(layer, index, Part::Rest);
                    passed.insert_if(index, true);
                }
            }
            for index in 0..located.len() {
                let is_in = passed.contains(index) && located.test_rest(backend, layer, index);
                (self.answer)(is_in);
            }
        }
    }
}

struct InsertBatch<'f, 'p, F, I, A> {
    filter: &'f mut F,
    items: I,
    now: u64,
    permit: Permit<'p>,
    answer: A,
}

impl<F, I, A> Task for InsertBatch<'_, '_, F, I, A>
where
    F: Generations,
    I: Iterator<Item: AsRef<[u8]>>,
    A: FnMut(Result<Insertion, Error>) -> ControlFlow<()>,
{
    type Output = ControlFlow<()>;

    #[inline(always)]
    fn run<B: Backend>(mut self, backend: B) -> ControlFlow<()> {
        let seed = self.filter.seed();
        if are_few(&self.items) {
            let mut spots = Spots::<F>::new();
            while let Some(layer) = self.filter.only_layer() {
                if !locate_few::<F>(&mut spots, &seed, layer, &mut self.items) {
                    return ControlFlow::Continue(());
                }
                for &spot in &spots {
                    let mut spot = spot;
                    // Another of the items may have filled the layer in which the spot is.
                    if self.filter.only_layer().is_none() {
                        spot = self.filter.locate(&spot.into());
                    }
                    (self.answer)(self.filter.insert_spot(backend, spot, self.now, self.permit))?;
                }
            }
        }
        let mut located = LocatedOf::<F>::new();
        while let Some(layer) = self.filter.only_layer() {
            if !locate_next::<F>(&mut located, &seed, layer, &mut self.items) {
                return ControlFlow::Continue(());
            }
            located.prefetch_all(layer);
            for index in 0..located.len() {
                let result =
                    self.filter.insert_located(backend, &located, index, self.now, self.permit);
                (self.answer)(result)?;
            }
        }
        let mut group = Group::new();
        while hash_next::<F, B>(&mut group, backend, &seed, &mut self.items) {
            self.filter.insert_group(backend, &group, self.now, self.permit, &mut self.answer)?;
        }
        ControlFlow::Continue(())
    }
}
