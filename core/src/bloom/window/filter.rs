//! The ring of generations.

use std::fmt;
use std::iter;

use super::generation::{Generation, GenerationRef};
use super::ring::LargeRing;
use super::size::{complete_bytes, size_with};
use super::spec::{Window, WindowSpec};
use super::state::{RingState, WindowKind};
use crate::bloom::bloomline::{BlockedParams, BlockedShape, Filter, LayerRef};
use crate::bloom::layer::Rules;
use crate::bloom::scalable::Increase;
use crate::bloom::small::record::Record;
use crate::bloom::small::ring::SmallRing;
use crate::bloom::word::{RingMut, RingRef, WindowedFilter};
use crate::error::Error;
use crate::memory::try_box;
use crate::permit::{Demand, Permit, request};
use crate::spec::Layout;

/// The latest time at which a generation can be opened, in milliseconds, so that times can be added
/// without overflow. A later time counts as this one.
pub(crate) const MAX_TIME: u64 = 1 << 62;

/// The most bytes of bits of all generations over the life of a filter, so that offsets can be
/// added without overflow: 4 EiB.
pub(super) const MAX_OFFSET: u64 = 1 << 62;

/// The most overflow layers of one generation.
pub const MAX_OVERFLOW_LAYERS: u32 = 64;

impl fmt::Debug for WindowedFilter {
    /// Writes the numbers of the filter, not its bits.
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.debug_struct("WindowedFilter")
            .field("spec", &self.spec())
            .field("items", &self.len())
            .field("newest", &self.number())
            .field("generations", &self.generation_count())
            .field("bytes", &self.size_bytes())
            .finish_non_exhaustive()
    }
}

impl WindowedFilter {
    /// An empty filter whose items are hashed with `seed`. Its first generation is opened at `now`,
    /// in milliseconds. `permit` must grant the filter with all its generations: one that could
    /// not be complete would refuse additions later.
    ///
    /// # Errors
    ///
    /// [`Error::Capacity`], [`Error::ErrorRate`], [`Error::Expansion`], [`Error::Window`],
    /// [`Error::Generations`] or [`Error::ErrorRateTooSmall`] for a number of `spec` that is out of
    /// range; [`Error::Refused`] by `permit`; [`Error::OutOfMemory`].
    pub fn new(spec: WindowSpec, seed: u64, now: u64, permit: Permit) -> Result<Self, Error> {
        spec.check()?;
        let (_, plan) = BlockedParams::first(spec.regular(), seed)?;
        let millis = spec.times().map_or(0, |(window, _)| window);
        let is_small_ring = SmallRing::fits(&plan, millis, 0, 0);
        let complete = complete_bytes(plan.bytes(), spec.generations);
        let size = |bytes| size_with(is_small_ring, bytes, 1, 0).max(complete);
        request(permit, Layout::Bloomline, [plan.bytes()], size)?;
        let now = now.min(MAX_TIME);
        let clock = if spec.window == Window::Last { now } else { 0 };
        let state = RingState { clock, ..RingState::of(&spec, seed, &plan, 1) };
        if is_small_ring {
            return SmallRing::new(&state, iter::empty(), Some(now)).map(Self::from);
        }
        LargeRing::new(state, Generation::new(&plan, now)?, Box::default()).map(Self::from)
    }

    /// A filter equal to this one. `permit` must grant it with all its generations, as for a new
    /// one.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] by `permit`, [`Error::OutOfMemory`].
    pub fn try_clone(&self, permit: Permit) -> Result<Self, Error> {
        let bytes = self.layers().map(|layer| layer.bytes());
        let RingState { geometry, generations, .. } = self.state();
        let complete = complete_bytes(geometry.bytes(), generations.into());
        let size = self.size_bytes().max(complete);
        request(permit, Layout::Bloomline, bytes, |_| size)?;
        match self.ring() {
            RingRef::Small(ring) => ring.try_clone().map(Self::from),
            RingRef::Large(ring) => ring.try_clone().map(Self::from),
        }
    }

    #[inline(always)]
    pub(crate) fn state(&self) -> RingState {
        match self.ring() {
            RingRef::Small(ring) => ring.state(),
            RingRef::Large(ring) => ring.state,
        }
    }

    /// Overwrites the state; the number of generations and their layers must be as before.
    pub(super) fn set_state(&mut self, state: &RingState) {
        match self.ring_mut() {
            RingMut::Small(ring) => ring.set_state(state),
            RingMut::Large(ring) => ring.state = *state,
        }
    }

    /// What the filter was created with.
    #[inline(never)]
    pub fn spec(&self) -> WindowSpec {
        self.state().spec()
    }

    #[inline(always)]
    pub fn seed(&self) -> u64 {
        self.state().seed
    }

    /// The generations and their numbers, oldest first. At least one, and at most one more than
    /// [`WindowSpec::generations`].
    pub fn generations(&self) -> impl Iterator<Item = (u64, GenerationRef<'_>)> {
        let RingState { number, count, .. } = self.state();
        let oldest = number - (u64::from(count) - 1);
        (oldest..).zip(self.all())
    }

    /// The generations, oldest first. Slower than [`in_ring`].
    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = GenerationRef<'_>> + Clone {
        let (small, large) = match self.ring() {
            RingRef::Small(ring) => (Some(ring.all()), None),
            RingRef::Large(ring) => (None, Some(ring.all())),
        };
        small.into_iter().flatten().chain(large.into_iter().flatten())
    }

    /// The number of generations, 1 to [`WindowSpec::generations`] + 1.
    #[inline(always)]
    pub fn generation_count(&self) -> usize {
        self.state().count.into()
    }

    #[inline]
    pub fn newest(&self) -> GenerationRef<'_> {
        match self.ring() {
            RingRef::Small(ring) => ring.newest(),
            RingRef::Large(ring) => ring.newest.view(),
        }
    }

    /// When the newest generation was opened, in milliseconds of the host's time.
    #[inline]
    pub fn opened(&self) -> u64 {
        match self.ring() {
            RingRef::Small(ring) => ring.opened(),
            RingRef::Large(ring) => ring.newest.opened,
        }
    }

    /// The number of the newest generation, counted from 0: rotations since the creation.
    #[inline]
    pub fn number(&self) -> u64 {
        self.state().number
    }

    /// The layers, oldest first: generation by generation, the regular layer of each before its
    /// overflow layers.
    pub fn layers(&self) -> impl Iterator<Item = LayerRef<'_>> {
        self.all().flat_map(|generation| generation.layers())
    }

    /// Distinct items in all generations: each counts in the newest one that contains it.
    pub fn len(&self) -> u64 {
        self.sums().items
    }

    /// True if no generation has an item.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The generations that answer when the clock shows `now`, newest first.
    pub(super) fn answering(&self, now: u64) -> impl Iterator<Item = GenerationRef<'_>> {
        let (now, lifetime) = (self.time_at(now), self.state().lifetime());
        self.all().rev().take_while(move |one| one.answers(now, lifetime))
    }

    /// Distinct items in the generations that answer when the clock shows `now`.
    pub fn len_at(&self, now: u64) -> u64 {
        self.answering(now).map(|one| one.live()).fold(0, u64::saturating_add)
    }

    /// [`capacity`](Self::capacity) with the overflow layers of the generations that answer when
    /// the clock shows `now`.
    pub fn capacity_at(&self, now: u64) -> u64 {
        let overflow = self.answering(now).filter_map(|one| one.overflow);
        let overflow = overflow.map(|filter| filter.capacity());
        overflow.fold(self.state().specified_capacity(), u64::saturating_add)
    }

    /// The number of layers of the generations that do not answer when the clock shows `now`. They
    /// are the oldest ones.
    pub fn expired_layers(&self, now: u64) -> u32 {
        self.layer_count() - self.answering(now).map(|one| one.layer_count()).sum::<u32>()
    }

    /// Distinct items inside one window that the filter is sized for: what was specified, and the
    /// capacity of all overflow layers.
    pub fn capacity(&self) -> u64 {
        self.sums().capacity
    }

    /// Items in the newest generation.
    pub(crate) fn newest_len(&self) -> u64 {
        match self.ring() {
            RingRef::Small(ring) => ring.records().next_back().map_or(0, Record::len),
            RingRef::Large(ring) => ring.newest.view().len(),
        }
    }

    /// Items that can be written before the newest layer is full.
    #[inline(never)]
    pub fn room(&self) -> u64 {
        let newest = self.newest();
        match newest.overflow {
            Some(filter) => filter.room(),
            None => newest.regular.capacity().saturating_sub(newest.regular_len),
        }
    }

    /// The number of layers of all generations.
    pub fn layer_count(&self) -> u32 {
        self.sums().layers
    }

    /// The sums over all generations: items, layers, capacity, and the bytes of the filter.
    ///
    /// Cost: one step per generation.
    #[inline(never)]
    pub(crate) fn sums(&self) -> Increase {
        let state = self.state();
        let (count, capacity) = (state.count, state.specified_capacity());
        let mut sums = Increase { items: 0, layers: count.into(), capacity, bytes: 0 };
        match self.ring() {
            RingRef::Small(ring) => sums.items = ring.records().map(Record::live).sum(),
            RingRef::Large(ring) => {
                for one in ring.owned() {
                    sums.items = sums.items.saturating_add(one.live);
                    if let Some(overflow) = &one.overflow {
                        sums.layers += overflow.layer_count();
                        sums.capacity = sums.capacity.saturating_add(overflow.capacity());
                        sums.bytes = sums.bytes.saturating_add(overflow.size_bytes());
                    }
                }
            }
        }
        let regular = state.geometry.bytes() * u64::from(count);
        sums.bytes = size_with(self.can_be_small(), regular, count.into(), sums.bytes);
        sums
    }

    /// The computed false-positive rate of all generations: at most the target rate.
    pub fn fp_rate(&self) -> f64 {
        self.all().map(|one| one.fp_rate()).sum()
    }

    /// Bytes of the filter: its header, its tables and its bits. They follow from the geometry
    /// alone, so they are equal on every server.
    pub fn size_bytes(&self) -> u64 {
        self.sums().bytes
    }

    /// Bytes of the filter if its ring is a large one.
    fn large_size_bytes(&self) -> u64 {
        let RingState { geometry, count, .. } = self.state();
        let overflow = self.all().map(|one| one.overflow_bytes()).sum();
        size_with(false, geometry.bytes() * u64::from(count), count.into(), overflow)
    }

    /// Takes the generations that the last rotation dropped, so that a host can free their memory
    /// elsewhere. What is not taken is freed by the next rotation. A small ring has none: the
    /// memory of its generations is used again.
    pub fn take_dropped(&mut self) -> Vec<Generation> {
        let RingMut::Large(ring) = self.ring_mut() else { return Vec::new() };
        let dropped = std::mem::take(&mut ring.dropped);
        self.make_small();
        dropped
    }

    /// True if the ring can be a small one: it has no overflow layers, and its numbers fit.
    fn can_be_small(&self) -> bool {
        let RingRef::Large(ring) = self.ring() else { return true };
        let oldest = ring.older.first().unwrap_or(&ring.newest);
        let span = ring.newest.opened - oldest.opened;
        SmallRing::fits(&ring.state.plan(), ring.state.extent, ring.state.number, span)
            && ring.owned().all(|one| one.overflow.is_none())
    }

    /// Makes the ring a small one if it can be, and if there is memory for it. Otherwise it stays.
    fn make_small(&mut self) {
        let RingRef::Large(ring) = self.ring() else { return };
        if ring.dropped.is_empty()
            && self.can_be_small()
            && let Ok(ring) = SmallRing::new(&ring.state, ring.all(), None)
        {
            *self = ring.into();
        }
    }

    /// The ring as a large one.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]. The ring is unchanged then.
    pub(super) fn make_large(&mut self) -> Result<&mut LargeRing, Error> {
        if let RingRef::Small(ring) = self.ring() {
            *self = LargeRing::of_small(ring)?.into();
        }
        match self.ring_mut() {
            RingMut::Large(ring) => Ok(ring),
            RingMut::Small(_) => Err(Error::OutOfMemory(size_of::<LargeRing>() as u64)),
        }
    }

    /// Replaces the number of live items of a generation, and returns the old one; none if there is
    /// no such generation. The oldest has index 0.
    #[inline(always)]
    pub(crate) fn update_live(
        &mut self,
        index: usize,
        update: impl FnOnce(u64) -> u64,
    ) -> Option<u64> {
        match self.ring_mut() {
            RingMut::Small(ring) => ring.update_live(index, update),
            RingMut::Large(ring) => ring.update_live(index, update),
        }
    }

    /// Adds an overflow layer to the newest generation.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] if generations have no overflow layers, [`Error::TooManyOverflowLayers`],
    /// and those of [`Filter::new`]. The filter is unchanged then.
    #[cold]
    pub(crate) fn grow_overflow(&mut self, permit: Permit) -> Result<(), Error> {
        let state = self.state();
        let spec = state.spec().overflow().ok_or(Error::Full(state.regular_capacity))?;
        let others = self.large_size_bytes() - self.newest().overflow_bytes();
        let mut permit = beside(others, self.end(), permit);
        let seed = state.seed;
        let overflow = match self.newest().overflow {
            None => {
                let (_, first) = BlockedParams::first(spec, seed)?;
                let size = |bits| BlockedShape::size_bytes(bits, 1);
                request(&mut permit, Layout::Bloomline, [first.bytes()], size)?;
                Some(try_box(Filter::part(spec, seed, &[first], 0)?)?)
            }
            Some(filter) if filter.layer_count() >= MAX_OVERFLOW_LAYERS => {
                return Err(Error::TooManyOverflowLayers(MAX_OVERFLOW_LAYERS));
            }
            Some(_) => None,
        };
        let newest = &mut self.make_large()?.newest;
        match &mut newest.overflow {
            Some(filter) => filter.grow(&mut permit),
            none => {
                *none = overflow;
                Ok(())
            }
        }
    }

    /// True if the filter remembers by time.
    pub fn has_time(&self) -> bool {
        self.state().kind == WindowKind::Time
    }
}

/// The permit for a part of a filter whose other parts take `others` bytes, and whose bits end at
/// byte `end`. It refuses bits beyond [`MAX_OFFSET`], so that the header of a filter stays valid.
pub(super) fn beside(others: u64, end: u64, permit: Permit) -> impl FnMut(Demand) -> bool {
    move |part| {
        let filter_bytes = part.filter_bytes.saturating_add(others);
        end.saturating_add(part.new_bytes) <= MAX_OFFSET && permit(Demand { filter_bytes, ..part })
    }
}
