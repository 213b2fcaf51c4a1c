//! The ring of generations.

use std::fmt;
use std::iter;

use super::generation::{Generation, GenerationRef};
use super::record::{Record, newest_opened, newest_record, records};
use super::ring::{Large, Ring};
use super::size::{complete_bytes, is_small, size_with};
use super::spec::{MAX_GENERATIONS, Window, WindowSpec};
use crate::bloom::bloomline::geometry::Geometry;
use crate::bloom::bloomline::{BlockedParams, BlockedPlan, BlockedShape, Filter, LayerRef};
use crate::bloom::layer::Rules;
use crate::bloom::scalable::Increase;
use crate::error::Error;
use crate::memory::lists::try_collect;
use crate::memory::try_box;
use crate::permit::{Demand, Permit, request};
use crate::spec::{Growth, Layout, MAX_EXPANSION};

/// The latest time at which a generation can be opened, in milliseconds, so that times can be added
/// without overflow. A later time counts as this one.
pub(crate) const MAX_TIME: u64 = 1 << 62;

/// The most bytes of bits of all generations over the life of a filter, so that offsets can be
/// added without overflow: 4 EiB.
pub(super) const MAX_OFFSET: u64 = 1 << 62;

/// The most overflow layers of one generation.
pub const MAX_OVERFLOW_LAYERS: u32 = 64;

/// A windowed filter: a ring of generations.
///
/// An item is hashed once for all layers of all generations.
///
/// [`WindowSpec`] is flattened, so that the filter fits into 96 bytes together with the kind of the
/// filter.
pub struct WindowedFilter {
    /// Items that a regular layer is sized for.
    pub(crate) regular_capacity: u64,
    pub(crate) error_rate: f64,
    /// The length of a window: milliseconds of time, or with a window of items their number.
    /// Otherwise 0.
    pub(crate) extent: u64,
    pub(crate) seed: u64,
    /// The number of the newest generation. The first one has number 0.
    pub(crate) number: u64,
    /// Bytes of the bits of all generations that were dropped: where the bits of the oldest
    /// generation begin, counted over the life of the filter.
    pub(crate) dropped_bytes: u64,
    /// With a window of items, the earliest time of the next rotation. With a window of time, by
    /// how many milliseconds the time of the filter is ahead of the clock;
    /// [`rotation`](super::rotation) has the reason. Otherwise 0.
    pub(crate) clock: u64,
    /// Of a regular layer.
    pub(crate) geometry: Geometry,
    pub(crate) ring: Ring,
    /// 0 if the filter does not grow.
    pub(crate) expansion: u16,
    /// Older generations that were specified.
    pub(crate) generations: u8,
    /// Items by which the capacity is below that of `generations` regular layers. With a window of
    /// items 0: there `extent` is the capacity.
    pub(crate) capacity_rounding: u8,
    pub(crate) kind: WindowKind,
    pub(crate) refreshes: bool,
    /// Generations that exist.
    pub(crate) count: u8,
}

/// [`Window`] without its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowKind {
    Time,
    Last,
    Manual,
}

const _: () = assert!(MAX_GENERATIONS < u8::MAX as u32 && MAX_EXPANSION <= u16::MAX as u32);

impl fmt::Debug for WindowedFilter {
    /// Writes the numbers of the filter, not its bits.
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.debug_struct("WindowedFilter")
            .field("spec", &self.spec())
            .field("items", &self.len())
            .field("newest", &self.number)
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
        let is_small = is_small(&plan, millis, 0, 0);
        let complete = complete_bytes(plan.bytes(), spec.generations);
        let size = |bytes| size_with(is_small, bytes, 1, 0).max(complete);
        request(permit, Layout::Bloomline, [plan.bytes()], size)?;
        let now = now.min(MAX_TIME);
        let ring = if is_small {
            Self::small_ring(&plan, iter::empty(), Some(now))?
        } else {
            let newest = Generation::new(&plan, now)?;
            let (older, dropped) = (Box::default(), Vec::new());
            Ring::Large(try_box(Large { newest, older, dropped })?)
        };
        let clock = if spec.window == Window::Last { now } else { 0 };
        Ok(Self { clock, ..Self::of(&spec, seed, &plan, ring, 1) })
    }

    /// A filter with this ring of `count` generations, of which none was dropped.
    pub(super) fn of(
        spec: &WindowSpec,
        seed: u64,
        plan: &BlockedPlan,
        ring: Ring,
        count: usize,
    ) -> Self {
        let all = plan.capacity().saturating_mul(spec.generations.into());
        let rounding = all.saturating_sub(spec.capacity) as u8;
        let (kind, extent, capacity_rounding) = match spec.window {
            Window::Time { millis } => (WindowKind::Time, millis, rounding),
            Window::Last => (WindowKind::Last, spec.capacity, 0),
            Window::Manual => (WindowKind::Manual, 0, rounding),
        };
        let expansion = spec.growth.expansion() as u16;
        Self {
            regular_capacity: plan.capacity(),
            error_rate: spec.error_rate,
            extent,
            seed,
            number: count as u64 - 1,
            dropped_bytes: 0,
            clock: 0,
            geometry: *plan.geometry(),
            ring,
            expansion,
            generations: spec.generations as u8,
            capacity_rounding,
            kind,
            refreshes: spec.refreshes,
            count: count as u8,
        }
    }

    /// A filter equal to this one. `permit` must grant it with all its generations, as for a new
    /// one.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] by `permit`, [`Error::OutOfMemory`].
    pub fn try_clone(&self, permit: Permit) -> Result<Self, Error> {
        let bytes = self.layers().map(|layer| layer.bytes());
        let complete = complete_bytes(self.geometry.bytes(), self.generations.into());
        let size = self.size_bytes().max(complete);
        request(permit, Layout::Bloomline, bytes, |_| size)?;
        let ring = match &self.ring {
            Ring::Small(words) => Self::small_ring(&self.plan(), self.in_words(words), None)?,
            Ring::Large(large) => {
                let older = large.older.iter().map(Generation::try_clone);
                let older = try_collect(large.older.len(), older)?;
                let dropped = Vec::new();
                let newest = large.newest.try_clone()?;
                Ring::Large(try_box(Large { newest, older, dropped })?)
            }
        };
        Ok(Self { ring, ..*self })
    }

    /// What the filter was created with.
    #[inline(never)]
    pub fn spec(&self) -> WindowSpec {
        let generations = u32::from(self.generations);
        WindowSpec {
            capacity: self.specified_capacity(),
            error_rate: self.error_rate,
            growth: Growth::of(self.expansion.into()),
            window: match self.kind {
                WindowKind::Time => Window::Time { millis: self.extent },
                WindowKind::Last => Window::Last,
                WindowKind::Manual => Window::Manual,
            },
            generations,
            refreshes: self.refreshes,
        }
    }

    fn specified_capacity(&self) -> u64 {
        if self.kind == WindowKind::Last {
            return self.extent;
        }
        let all = self.regular_capacity.saturating_mul(self.generations.into());
        all - u64::from(self.capacity_rounding)
    }

    /// A regular layer.
    pub(crate) fn plan(&self) -> BlockedPlan {
        BlockedPlan::new(self.regular_capacity, self.geometry)
    }

    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The generations and their numbers, oldest first. At least one, and at most one more than
    /// [`WindowSpec::generations`].
    pub fn generations(&self) -> impl Iterator<Item = (u64, GenerationRef<'_>)> {
        let oldest = self.number - (u64::from(self.count) - 1);
        (oldest..).zip(self.all())
    }

    /// The generations, oldest first. Slower than [`in_ring`].
    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = GenerationRef<'_>> + Clone {
        let (small, large) = match &self.ring {
            Ring::Small(words) => (Some(self.in_words(words)), None),
            Ring::Large(large) => (None, Some(large.all())),
        };
        small.into_iter().flatten().chain(large.into_iter().flatten())
    }

    /// The number of generations, 1 to [`WindowSpec::generations`] + 1.
    pub fn generation_count(&self) -> usize {
        self.count.into()
    }

    #[inline]
    pub fn newest(&self) -> GenerationRef<'_> {
        match &self.ring {
            Ring::Small(words) => self.newest_of(words),
            Ring::Large(large) => large.newest.view(),
        }
    }

    /// When the newest generation was opened, in milliseconds of the host's time.
    #[inline]
    pub fn opened(&self) -> u64 {
        match &self.ring {
            Ring::Small(words) => newest_opened(words),
            Ring::Large(large) => large.newest.opened,
        }
    }

    /// The number of the newest generation, counted from 0: rotations since the creation.
    #[inline]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// For how long a generation answers, in milliseconds since it was opened.
    #[inline(always)]
    pub(crate) fn lifetime(&self) -> u64 {
        self.times().map_or(u64::MAX, |(window, slot)| slot + window)
    }

    /// Milliseconds of window and slot; see [`WindowSpec::times`].
    #[inline(always)]
    pub(crate) fn times(&self) -> Option<(u64, u64)> {
        let slot = || self.extent.div_ceil(self.generations.max(1).into());
        (self.kind == WindowKind::Time).then(|| (self.extent, slot()))
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
        let (now, lifetime) = (self.time_at(now), self.lifetime());
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
        overflow.fold(self.specified_capacity(), u64::saturating_add)
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
        match &self.ring {
            Ring::Small(words) => newest_record(words, self.count).len(),
            Ring::Large(large) => large.newest.view().len(),
        }
    }

    /// Items that can be written before the newest layer is full.
    #[inline(never)]
    pub fn room(&self) -> u64 {
        let newest = self.newest();
        match newest.overflow {
            Some(filter) => filter.room(),
            None => self.regular_capacity.saturating_sub(newest.regular_len),
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
        let count = self.count.into();
        let capacity = self.specified_capacity();
        let mut sums = Increase { items: 0, layers: self.count.into(), capacity, bytes: 0 };
        match &self.ring {
            Ring::Small(words) => sums.items = records(words, self.count).map(Record::live).sum(),
            Ring::Large(large) => {
                for one in large.older.iter().chain([&large.newest]) {
                    sums.items = sums.items.saturating_add(one.live);
                    if let Some(overflow) = &one.overflow {
                        sums.layers += overflow.layer_count();
                        sums.capacity = sums.capacity.saturating_add(overflow.capacity());
                        sums.bytes = sums.bytes.saturating_add(overflow.size_bytes());
                    }
                }
            }
        }
        let regular = self.geometry.bytes() * u64::from(self.count);
        sums.bytes = size_with(self.can_be_small(), regular, count, sums.bytes);
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
        let regular = self.geometry.bytes() * u64::from(self.count);
        let overflow = self.all().map(|one| one.overflow_bytes()).sum();
        size_with(false, regular, self.generation_count(), overflow)
    }

    /// Takes the generations that the last rotation dropped, so that a host can free their memory
    /// elsewhere. What is not taken is freed by the next rotation. A small ring has none: the
    /// memory of its generations is used again.
    pub fn take_dropped(&mut self) -> Vec<Generation> {
        let Ring::Large(large) = &mut self.ring else { return Vec::new() };
        let dropped = std::mem::take(&mut large.dropped);
        self.make_small();
        dropped
    }

    /// Adds an overflow layer to the newest generation.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] if generations have no overflow layers, [`Error::TooManyOverflowLayers`],
    /// and those of [`Filter::new`]. The filter is unchanged then.
    #[cold]
    pub(crate) fn grow_overflow(&mut self, permit: Permit) -> Result<(), Error> {
        let spec = self.spec().overflow().ok_or(Error::Full(self.regular_capacity))?;
        let others = self.large_size_bytes() - self.newest().overflow_bytes();
        let mut permit = beside(others, self.end(), permit);
        let seed = self.seed;
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
        self.kind == WindowKind::Time
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
