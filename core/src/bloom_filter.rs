//! The filter for programs: a builder, and methods without a host's concerns.

mod bytes;
#[cfg(feature = "serde")]
mod with_serde;

use std::alloc::{Layout as MemoryLayout, handle_alloc_error};
use std::cell::Cell;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::any::AnyFilter;
use crate::bloomline::Filter;
use crate::bloomline::sizing::MAX_CAPACITY;
use crate::error::Error;
use crate::estimate::Estimate;
use crate::insertion::Insertion;
use crate::permit::Demand;
use crate::spec::{Growth, Layout, MAX_EXPANSION, Spec};
use crate::window::{MIN_GENERATIONS, Window, WindowSpec, WindowedFilter};

/// A scalable Bloom filter.
///
/// ```
/// use bloomline_core::BloomFilter;
///
/// # fn main() -> Result<(), bloomline_core::Error> {
/// let mut seen = BloomFilter::builder().capacity(1_000).false_positive_rate(0.001).build()?;
/// assert!(seen.insert("user1")?); // was new
/// assert!(!seen.insert("user1")?);
/// assert!(seen.contains("user1"));
/// assert!(!seen.contains("user2"));
///
/// let new = seen.try_extend((0..10_000u32).map(u32::to_le_bytes))?;
/// assert!(new > 9_950); // the others are false positives: they seemed to be there
/// # Ok(())
/// # }
/// ```
///
/// A filter with a [window](Builder::window) forgets old items:
///
/// ```
/// use std::time::Duration;
/// use bloomline_core::{BloomFilter, Window};
///
/// # fn main() -> Result<(), bloomline_core::Error> {
/// let week = Duration::from_secs(7 * 24 * 60 * 60);
/// let mut shown = BloomFilter::builder().capacity(10_000).window(week).build()?;
/// assert!(shown.insert("article:1")?); // forgotten in seven days, or up to 21 hours later
///
/// let mut recent = BloomFilter::builder().capacity(1_000).window(Window::Last).build()?;
/// recent.try_extend((0..100_000u32).map(u32::to_le_bytes))?;
/// assert!((99_000..100_000u32).all(|number| recent.contains(number.to_le_bytes())));
/// assert!(!recent.contains(7u32.to_le_bytes()));
/// # Ok(())
/// # }
/// ```
///
/// Two filters are equal if they have equal parameters, equal numbers of items and equal bits; the
/// memory limit does not matter.
///
/// Hosts that decide about memory layer by layer use [`AnyFilter`], which this is made of.
pub struct BloomFilter {
    filter: AnyFilter,
    memory_limit: u64,
}

/// What a [`BloomFilter`] will be.
#[derive(Clone, Debug)]
#[must_use = "nothing is created before `build`"]
pub struct Builder {
    spec: Spec,
    seed: Option<u64>,
    layout: Layout,
    memory_limit: u64,
    window: Option<Window>,
    generations: Option<u32>,
    refreshes: bool,
}

impl Builder {
    /// Items of the first layer, 1 to 2^40; 100 by default. With a [window](Builder::window), the
    /// distinct items inside one window, at least the number of generations.
    pub fn capacity(mut self, items: u64) -> Self {
        self.spec.capacity = items;
        self
    }

    /// The target rate: the false-positive rate of the whole filter that its size is computed for,
    /// however far it grows. Above 0, at most 0.25 (below 1 with [`Layout::RedisBloom`]); 0.01 by
    /// default.
    ///
    /// Filters that grow stay below it. A full one that is [fixed](Self::fixed) may exceed it where
    /// it is very small: by up to 0.7 % of it down to 1e-9, 3 % at 1e-15.
    pub fn false_positive_rate(mut self, rate: f64) -> Self {
        self.spec.error_rate = rate;
        self
    }

    /// Each further layer has `factor` times the capacity of the layer before it, 1 to 32,768; 2 by
    /// default. Does not matter with [`Window::Last`].
    pub fn expansion(mut self, factor: u32) -> Self {
        self.spec.growth = Growth::Scaling { expansion: factor };
        self
    }

    /// The filter does not grow: a full one refuses new items.
    pub fn fixed(mut self) -> Self {
        self.spec.growth = Growth::Fixed;
        self
    }

    /// The seed of the hash. By default [`Builder::build`] chooses a random one for each filter:
    /// whoever knows the seed can prepare items that collide.
    ///
    /// Filters that are to be [merged](BloomFilter::union) need the same seed, so give them one,
    /// and keep it secret where others choose the items.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// How items map to bits. [`Layout::RedisBloom`] has no seed.
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// The filter forgets: an item is found for the whole window after it was last inserted, and
    /// forgotten at most one generation later. The window is a [`Duration`](std::time::Duration)
    /// from a millisecond on, or a [`Window`]. The rate holds at every moment, and the memory does
    /// not grow with time.
    ///
    /// With a duration, the filter reads the system's clock when items are inserted or tested.
    pub fn window(mut self, window: impl Into<Window>) -> Self {
        self.window = Some(window.into());
        self
    }

    /// Into how many generations the window is divided, 2 to 64. By default 2 to 8: the most that
    /// take at most 1/16 more memory than the best of these numbers. More generations forget closer
    /// to the window, and take longer to test.
    pub fn generations(mut self, generations: u32) -> Self {
        self.generations = Some(generations);
        self
    }

    /// An item is forgotten a window after it was first inserted, even if it is inserted again.
    pub fn without_refreshing(mut self) -> Self {
        self.refreshes = false;
        self
    }

    /// Bytes that the filter may take; no limit by default.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// An empty filter.
    ///
    /// # Errors
    ///
    /// A number out of its range, [`Error::Layout`] for a window in [`Layout::RedisBloom`] and for
    /// [`Layout::ValkeyBloom`], [`Error::Refused`] by the memory limit, [`Error::OutOfMemory`].
    pub fn build(self) -> Result<BloomFilter, Error> {
        let Self { spec, seed, layout, memory_limit, window, generations, refreshes } = self;
        let mut permit = within(memory_limit);
        let filter = match (layout, window) {
            // Filters of valkey-bloom are read, and not created here.
            (Layout::ValkeyBloom, _) | (Layout::RedisBloom, Some(_)) => {
                return Err(Error::Layout(layout));
            }
            (Layout::Bloomline, None) => {
                let seed = seed.unwrap_or_else(random_seed);
                Filter::new(spec, seed, &mut permit)?.into()
            }
            (Layout::Bloomline, Some(window)) => {
                let spec = WindowSpec::new(spec, window, MIN_GENERATIONS, refreshes);
                let generations = generations.unwrap_or_else(|| spec.default_generations());
                let spec = WindowSpec { generations, ..spec };
                let seed = seed.unwrap_or_else(random_seed);
                WindowedFilter::new(spec, seed, millis_of(SystemTime::now()), &mut permit)?.into()
            }
            (Layout::RedisBloom, None) => {
                if spec.capacity > MAX_CAPACITY {
                    return Err(Error::Capacity(spec.capacity));
                }
                // A filter that grows gives half of the rate to its first layer.
                if spec.error_rate >= 1.0 {
                    return Err(Error::ErrorRate(spec.error_rate));
                }
                let expansion = match spec.growth {
                    Growth::Scaling { expansion } if !(1..=MAX_EXPANSION).contains(&expansion) => {
                        return Err(Error::Expansion(expansion));
                    }
                    growth => growth.expansion(),
                };
                AnyFilter::redisbloom(spec, expansion, &mut permit)?
            }
        };
        Ok(BloomFilter { filter, memory_limit })
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            spec: Spec {
                capacity: 100,
                error_rate: 0.01,
                growth: Growth::Scaling { expansion: 2 },
            },
            seed: None,
            layout: Layout::Bloomline,
            memory_limit: u64::MAX,
            window: None,
            generations: None,
            refreshes: true,
        }
    }
}

impl BloomFilter {
    /// A builder with the defaults of its methods.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Inserts an item; true if it was new.
    ///
    /// Cost: one hash, and a cache miss per layer and block that is not in cache.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] if a fixed filter is full; [`Error::Refused`], [`Error::OutOfMemory`] or
    /// [`Error::TooManyLayers`] if it cannot grow or rotate. The item is not inserted then.
    pub fn insert(&mut self, item: impl AsRef<[u8]>) -> Result<bool, Error> {
        self.insert_bytes(item.as_ref(), self.now())
    }

    /// Inserts an item as at the time `now`, which never runs backwards for a filter: a time before
    /// that of the last rotation counts as that time. Only filters with a window use the time.
    ///
    /// # Errors
    ///
    /// Those of [`BloomFilter::insert`].
    pub fn insert_at(&mut self, item: impl AsRef<[u8]>, now: SystemTime) -> Result<bool, Error> {
        self.insert_bytes(item.as_ref(), millis_of(now))
    }

    /// Inserts the item of a hash that was computed elsewhere: the item of its eight bytes,
    /// little-endian, which are hashed with the filter's seed.
    ///
    /// ```
    /// # fn main() -> Result<(), bloomline_core::Error> {
    /// let mut filter = bloomline_core::BloomFilter::builder().build()?;
    /// assert!(filter.insert_hash(42)?);
    /// assert!(filter.contains_hash(42) && filter.contains(42u64.to_le_bytes()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`BloomFilter::insert`].
    #[inline]
    pub fn insert_hash(&mut self, hash: u64) -> Result<bool, Error> {
        self.insert(hash.to_le_bytes())
    }

    /// True if the item may have been inserted: always true for one that was, if the filter has no
    /// window or the item was inserted within it.
    pub fn contains(&self, item: impl AsRef<[u8]>) -> bool {
        self.filter.contains(item.as_ref(), self.now())
    }

    /// True if the item may have been inserted within the window before `now`.
    pub fn contains_at(&self, item: impl AsRef<[u8]>, now: SystemTime) -> bool {
        self.filter.contains(item.as_ref(), millis_of(now))
    }

    /// [`BloomFilter::contains`] for the item of a hash; see [`BloomFilter::insert_hash`].
    #[inline]
    pub fn contains_hash(&self, hash: u64) -> bool {
        self.contains(hash.to_le_bytes())
    }

    /// Inserts all items as [`BloomFilter::insert_batch`] does, and as fast; the number of new
    /// ones. With a window of time, the clock is read again after some thousand items.
    ///
    /// # Errors
    ///
    /// That of the first item that could not be inserted; those before it were.
    pub fn try_extend(
        &mut self,
        items: impl IntoIterator<Item: AsRef<[u8]>>,
    ) -> Result<u64, Error> {
        /// Items between two readings of the clock: whole groups.
        const BATCH: usize = 4096;
        let (mut items, mut new) = (items.into_iter().peekable(), 0);
        while items.peek().is_some() {
            let failure = Cell::new(None);
            // No more items are taken after one that could not be inserted.
            let batch = items.by_ref().take(BATCH).take_while(|_| failure.get().is_none());
            self.insert_batch(batch, |result| match result {
                Ok(is_new) => new += u64::from(is_new),
                Err(error) => failure.set(failure.get().or(Some(error))),
            });
            if let Some(error) = failure.get() {
                return Err(error);
            }
        }
        Ok(new)
    }

    /// Inserts items in groups whose cache misses overlap: two to five times as fast as one by one
    /// out of cache. Answers for each item in turn as [`BloomFilter::insert`] does; the first
    /// [`Error::Full`] is the last answer.
    ///
    /// If a filter with a window must rotate and cannot, no item is inserted, and each answer is
    /// that error.
    pub fn insert_batch(
        &mut self,
        items: impl IntoIterator<Item: AsRef<[u8]>>,
        mut answer: impl FnMut(Result<bool, Error>),
    ) {
        if let Err(error) = self.advance(self.now()) {
            return items.into_iter().for_each(|_| answer(Err(error)));
        }
        let mut permit = within(self.memory_limit);
        self.filter.insert_batch(items.into_iter(), &mut permit, |result| {
            answer(result.map(Insertion::is_new));
        });
    }

    /// Tests items in groups whose cache misses overlap, and answers for each in turn whether it
    /// may have been inserted.
    pub fn contains_batch(
        &self,
        items: impl IntoIterator<Item: AsRef<[u8]>>,
        answer: impl FnMut(bool),
    ) {
        self.filter.contains_batch(items.into_iter(), self.now(), answer);
    }

    /// Opens a generation of a filter with [`Window::Manual`], and drops the oldest if there are
    /// more than the given number of older ones.
    ///
    /// # Errors
    ///
    /// [`Error::Rotation`] if the filter does not rotate by hand, [`Error::Refused`],
    /// [`Error::OutOfMemory`]. The filter is unchanged then.
    pub fn rotate(&mut self) -> Result<(), Error> {
        let mut permit = within(self.memory_limit);
        let is_manual = |filter: &&mut WindowedFilter| filter.spec().window == Window::Manual;
        let filter = self.filter.windowed_mut().filter(is_manual).ok_or(Error::Rotation)?;
        filter.rotate(millis_of(SystemTime::now()), &mut permit)?;
        drop(filter.take_dropped());
        Ok(())
    }

    /// Forgets all items: an empty filter with the same parameters and seed. Like a collection of
    /// the standard library, it ends the process if there is no memory for its first layer.
    pub fn clear(&mut self) {
        let now = self.now();
        self.filter = unless_out_of_memory(self.filter.emptied(now, &mut |_| true));
    }

    /// Adds the items of another filter with equal parameters and seed: the union of the two. True
    /// if the filter changed.
    ///
    /// The seeds are equal if [`Builder::seed`] gave both filters the same one, or if one filter is
    /// a copy of the other. [`Layout::RedisBloom`] has no seed. Filters with windows also need
    /// generations that were opened at equal times, as those of copies are.
    ///
    /// ```
    /// # fn main() -> Result<(), bloomline_core::Error> {
    /// let builder = bloomline_core::BloomFilter::builder().capacity(1_000).seed(42);
    /// let (mut one, mut other) = (builder.clone().build()?, builder.build()?);
    /// one.insert("user1")?;
    /// other.insert("user2")?;
    /// assert!(one.union(&other)?);
    /// assert!(one.contains("user1") && one.contains("user2"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`AnyFilter::union`]. Nothing has changed then.
    pub fn union(&mut self, other: &Self) -> Result<bool, Error> {
        self.filter.union(&[&other.filter], &mut within(self.memory_limit))
    }

    /// Gives back the memory that the items do not need, and returns the number of bytes; see
    /// [`Filter::compact`].
    pub fn compact(&mut self) -> u64 {
        self.filter.compact()
    }

    /// The number of distinct items that were added, estimated from the bits; see
    /// [`AnyFilter::estimate`].
    pub fn estimate(&self) -> Estimate {
        self.filter.estimate()
    }

    /// The computed false-positive rate with the present items, in [0, 1]: at most the target rate
    /// while no layer has more items than its capacity.
    pub fn false_positive_rate(&self) -> f64 {
        self.filter.fp_rate()
    }

    /// The target rate; see [`Builder::false_positive_rate`].
    pub fn target_rate(&self) -> f64 {
        self.filter.error_rate()
    }

    /// Items that were new when they were inserted; with a window, those that are still found.
    pub fn len(&self) -> u64 {
        self.filter.len_at(self.now())
    }

    /// True if there is no item.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Items that all present layers are sized for.
    pub fn capacity(&self) -> u64 {
        self.filter.capacity()
    }

    /// Bytes of the filter: its header, its table of layers and its bits.
    pub fn size_bytes(&self) -> u64 {
        self.filter.size_bytes()
    }

    /// A filter equal to this one.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn try_clone(&self) -> Result<Self, Error> {
        let filter = self.filter.try_clone(&mut |_| true)?;
        Ok(Self { filter, memory_limit: self.memory_limit })
    }

    /// The filter for hosts, which this one is made of.
    pub fn into_inner(self) -> AnyFilter {
        self.filter
    }

    #[inline]
    fn insert_bytes(&mut self, item: &[u8], now: u64) -> Result<bool, Error> {
        self.advance(now)?;
        self.filter.insert(item, &mut within(self.memory_limit)).map(Insertion::is_new)
    }

    /// The present time in milliseconds; 0 if the filter has no window, which ignores it.
    #[inline]
    fn now(&self) -> u64 {
        if self.filter.windowed().is_some() { millis_of(SystemTime::now()) } else { 0 }
    }

    /// Brings a filter with a window to a time, before items are inserted.
    #[inline]
    fn advance(&mut self, now: u64) -> Result<(), Error> {
        let Some(filter) = self.filter.windowed_mut() else { return Ok(()) };
        filter.advance(now, &mut within(self.memory_limit))?;
        drop(filter.take_dropped());
        Ok(())
    }
}

/// A copy of all bits. Like a collection of the standard library, it ends the process if there is
/// no memory for them; [`BloomFilter::try_clone`] returns the error.
impl Clone for BloomFilter {
    fn clone(&self) -> Self {
        unless_out_of_memory(self.try_clone())
    }
}

impl PartialEq for BloomFilter {
    fn eq(&self, other: &Self) -> bool {
        self.filter == other.filter
    }
}

impl fmt::Debug for BloomFilter {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        fmt::Debug::fmt(&self.filter, to)
    }
}

/// The value, unless there is no memory for it: then the process ends.
fn unless_out_of_memory<T>(result: Result<T, Error>) -> T {
    result.unwrap_or_else(|error| {
        // Nothing else can fail: the parameters are those of a filter, and no permit refuses.
        let bytes = if let Error::OutOfMemory(bytes) = error { bytes } else { 0 };
        let layout = usize::try_from(bytes).ok().and_then(|n| MemoryLayout::array::<u8>(n).ok());
        handle_alloc_error(layout.unwrap_or(MemoryLayout::new::<u8>()))
    })
}

/// Milliseconds since 1970; 0 before.
fn millis_of(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A seed that nobody can guess: the hash of nothing by SipHash, with the random keys of the
/// standard library. On targets without random numbers, such as wasm32-unknown-unknown, these keys
/// are not random.
fn random_seed() -> u64 {
    RandomState::new().hash_one(())
}

/// A permit for filters of at most a given number of bytes.
fn within(memory_limit: u64) -> impl FnMut(Demand) -> bool {
    move |demand| demand.filter_bytes <= memory_limit
}
