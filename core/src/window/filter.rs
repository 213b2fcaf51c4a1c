//! The ring of generations.

use std::fmt;
use std::iter;

use super::generation::Generation;
use super::spec::{Window, WindowSpec};
use crate::bloomline::{BlockedLayer, Common, Filter, Shape};
use crate::error::Error;
use crate::layer::Layer;
use crate::memory::try_box;
use crate::spec::{Demand, Permit};

/// Bytes of a filter besides its bits, the table of its older generations and their overflow
/// layers: the size of [`WindowedFilter`] on a 64-bit machine.
const FILTER_BYTES: u64 = 240;

/// Bytes of an older generation besides the bits of its layers: the size of [`Generation`] on a
/// 64-bit machine.
const GENERATION_BYTES: u64 = 64;

/// The latest time at which a generation can be opened, in milliseconds, so that times can be added
/// without overflow. A later time counts as this one.
pub(super) const MAX_TIME: u64 = 1 << 62;

/// The most bytes of bits of all generations over the life of a filter, so that offsets can be
/// added without overflow: 4 EiB.
pub(super) const MAX_OFFSET: u64 = 1 << 62;

/// The most overflow layers of one generation.
pub const MAX_OVERFLOW_LAYERS: u32 = 64;

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<WindowedFilter>() as u64 == FILTER_BYTES);
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Generation>() as u64 == GENERATION_BYTES);

/// A filter that forgets: a ring of generations.
///
/// An item is hashed once for all layers of all generations.
pub struct WindowedFilter {
    pub(crate) spec: WindowSpec,
    /// Of the regular layers; the seed is that of all layers.
    pub(crate) common: Common,
    /// Of a regular layer.
    pub(crate) shape: Shape,
    /// The number of the newest generation. The first one has number 0.
    pub(crate) number: u64,
    /// Bytes of the bits of all generations that were dropped: where the bits of the oldest
    /// generation begin, counted over the life of the filter.
    pub(crate) dropped_bytes: u64,
    /// The time that a rotation by count takes as its own: the host's last one.
    pub(crate) clock: u64,
    pub(crate) newest: Generation,
    /// Oldest first.
    pub(crate) older: Box<[Generation]>,
    /// Generations that the last rotation dropped, until the host takes them.
    pub(super) dropped: Vec<Generation>,
}

impl fmt::Debug for WindowedFilter {
    /// Writes the numbers of the filter, not its bits.
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.debug_struct("WindowedFilter")
            .field("spec", &self.spec)
            .field("items", &self.len())
            .field("newest", &self.number)
            .field("generations", &self.generation_count())
            .field("bytes", &self.size_bytes())
            .finish_non_exhaustive()
    }
}

impl WindowedFilter {
    /// An empty filter whose items are hashed with `seed`. Its first generation is opened at `now`,
    /// in milliseconds.
    ///
    /// # Errors
    ///
    /// [`Error::Capacity`], [`Error::ErrorRate`], [`Error::Expansion`], [`Error::Window`],
    /// [`Error::Generations`] or [`Error::ErrorRateTooSmall`] for a number of `spec` that is out of
    /// range; [`Error::Refused`] by `permit`; [`Error::OutOfMemory`].
    pub fn new(spec: WindowSpec, seed: u64, now: u64, permit: Permit) -> Result<Self, Error> {
        spec.check()?;
        let (common, shape) = Common::first(spec.regular(), seed)?;
        request(permit, [shape.bytes()], size_bytes(shape.bytes(), 1, 0))?;
        let now = now.min(MAX_TIME);
        Ok(Self {
            spec,
            common,
            shape,
            number: 0,
            dropped_bytes: 0,
            clock: now,
            newest: Generation::new(&shape, now)?,
            older: Box::default(),
            dropped: Vec::new(),
        })
    }

    /// A filter equal to this one.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] by `permit`, [`Error::OutOfMemory`].
    pub fn try_clone(&self, permit: Permit) -> Result<Self, Error> {
        request(permit, self.layers().map(|layer| layer.words().bytes()), self.size_bytes())?;
        let mut older = Vec::new();
        let no_memory = |_| Error::OutOfMemory(self.size_bytes());
        older.try_reserve_exact(self.older.len()).map_err(no_memory)?;
        for generation in &self.older {
            older.push(generation.try_clone()?);
        }
        let newest = self.newest.try_clone()?;
        Ok(Self { newest, older: older.into_boxed_slice(), dropped: Vec::new(), ..*self })
    }

    /// What the filter was created with.
    pub fn spec(&self) -> &WindowSpec {
        &self.spec
    }

    /// The seed of the hash.
    pub fn seed(&self) -> u64 {
        self.common.seed
    }

    /// The generations and their numbers, oldest first. At least one, and at most one more than
    /// [`WindowSpec::generations`].
    pub fn generations(&self) -> impl Iterator<Item = (u64, &Generation)> {
        let oldest = self.number - self.older.len() as u64;
        (oldest..).zip(self.all())
    }

    /// The generations, oldest first.
    #[inline(always)]
    pub(super) fn all(&self) -> impl DoubleEndedIterator<Item = &Generation> {
        self.older.iter().chain(iter::once(&self.newest))
    }

    /// The number of generations, 1 to [`WindowSpec::generations`] + 1.
    pub fn generation_count(&self) -> usize {
        self.older.len() + 1
    }

    /// The newest generation.
    pub fn newest(&self) -> &Generation {
        &self.newest
    }

    /// The number of the newest generation, counted from 0: rotations since the creation.
    #[inline]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The generations that answer at a time, newest first.
    #[inline(always)]
    pub(crate) fn answering(&self, now: u64) -> impl Iterator<Item = &Generation> {
        // Generations that do not expire answer at the end of time too.
        let now = now.min(u64::MAX - 1);
        self.all().rev().take_while(move |generation| now < self.expires(generation))
    }

    /// When a generation stops answering, in milliseconds: a window after its slot. `u64::MAX` if
    /// the filter does not remember by time.
    #[inline]
    pub fn expires(&self, generation: &Generation) -> u64 {
        let Some((window, slot)) = self.spec.times() else { return u64::MAX };
        generation.opened + slot + window
    }

    /// The layers, oldest first: generation by generation, the regular layer of each before its
    /// overflow layers.
    pub fn layers(&self) -> impl Iterator<Item = &BlockedLayer> {
        self.all().flat_map(Generation::layers)
    }

    /// The layers, oldest first, to be written.
    pub fn layers_mut(&mut self) -> impl Iterator<Item = &mut BlockedLayer> {
        let all = self.older.iter_mut().chain(iter::once(&mut self.newest));
        all.flat_map(Generation::layers_mut)
    }

    /// Distinct items in all generations: each counts in the newest one that contains it.
    pub fn len(&self) -> u64 {
        self.all().map(Generation::live).fold(0, u64::saturating_add)
    }

    /// True if no generation has an item.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Distinct items in the generations that answer at a time.
    pub fn len_at(&self, now: u64) -> u64 {
        self.answering(now).map(Generation::live).fold(0, u64::saturating_add)
    }

    /// Distinct items inside one window that the filter is sized for: what was specified, and the
    /// capacity of all overflow layers.
    pub fn capacity(&self) -> u64 {
        self.overflows().map(Filter::capacity).fold(self.spec.capacity, u64::saturating_add)
    }

    /// Items that can be written before the newest layer is full.
    pub fn room(&self) -> u64 {
        match &self.newest.overflow {
            Some(filter) => filter.room(),
            None => self.shape.capacity().saturating_sub(self.newest.regular_len),
        }
    }

    /// The number of layers of all generations.
    pub fn layer_count(&self) -> u32 {
        self.overflows().map(Filter::layer_count).sum::<u32>() + self.generation_count() as u32
    }

    /// The computed false-positive rate of all generations: at most the target rate.
    pub fn fp_rate(&self) -> f64 {
        self.all().map(Generation::fp_rate).sum()
    }

    /// Bytes of the filter: its header, its tables and its bits. They follow from the geometry
    /// alone, so they are equal on every server.
    pub fn size_bytes(&self) -> u64 {
        size_of_all(self.all())
    }

    /// The overflow layers of the generations that have some, oldest first.
    fn overflows(&self) -> impl Iterator<Item = &Filter> {
        self.all().filter_map(|generation| generation.overflow.as_deref())
    }

    /// Takes the generations that the last rotation dropped, so that a host can free their memory
    /// elsewhere. What is not taken is freed by the next rotation.
    pub fn take_dropped(&mut self) -> Vec<Generation> {
        std::mem::take(&mut self.dropped)
    }

    /// Adds an overflow layer to the newest generation.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] if generations have no overflow layers, [`Error::TooManyLayers`], and those
    /// of [`Filter::new`]. The filter is unchanged then.
    #[cold]
    pub(crate) fn grow_overflow(&mut self, permit: Permit) -> Result<(), Error> {
        let spec = self.spec.overflow().ok_or(Error::Full(self.shape.capacity()))?;
        let others = self.size_bytes() - self.newest.overflow_bytes();
        let mut permit = beside(others, self.end(), permit);
        match &mut self.newest.overflow {
            None => {
                let filter = Filter::new(spec, self.common.seed, &mut permit)?;
                self.newest.overflow = Some(try_box(filter)?);
                Ok(())
            }
            Some(filter) if filter.layer_count() >= MAX_OVERFLOW_LAYERS => {
                Err(Error::TooManyLayers(MAX_OVERFLOW_LAYERS))
            }
            Some(filter) => filter.grow(&mut permit),
        }
    }

    /// True if the filter remembers by time.
    pub fn has_time(&self) -> bool {
        matches!(self.spec.window, Window::Time { .. })
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

/// Bytes of a filter of these generations.
pub(super) fn size_of_all<'a>(generations: impl Iterator<Item = &'a Generation>) -> u64 {
    let (mut regular, mut count, mut overflow) = (0, 0, 0);
    for generation in generations {
        regular += generation.regular.words().bytes();
        overflow += generation.overflow_bytes();
        count += 1;
    }
    size_bytes(regular, count, overflow)
}

/// Bytes of a filter of so many generations, at least one, whose regular layers take `regular`
/// bytes together, and whose overflow layers take `overflow` bytes.
pub fn size_bytes(regular: u64, generations: usize, overflow: u64) -> u64 {
    let table = generations.saturating_sub(1) as u64 * GENERATION_BYTES;
    regular.saturating_add(overflow).saturating_add(FILTER_BYTES + table)
}

/// Asks `permit` for new layers, whose bits take `new` bytes each. The filter takes `filter_bytes`
/// with them.
pub(super) fn request(
    permit: Permit,
    new: impl IntoIterator<Item = u64>,
    filter_bytes: u64,
) -> Result<(), Error> {
    let (mut new_bytes, mut largest_layer) = (0u64, 0);
    for bytes in new {
        new_bytes = new_bytes.saturating_add(bytes);
        largest_layer = largest_layer.max(bytes);
    }
    let layout = BlockedLayer::LAYOUT;
    let granted = permit(Demand { new_bytes, largest_layer, filter_bytes, layout });
    if granted { Ok(()) } else { Err(Error::Refused(filter_bytes)) }
}
