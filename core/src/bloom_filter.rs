//! The filter for programs: a builder, and methods without a host's concerns.

#[cfg(feature = "serde")]
mod with_serde;

use std::fmt;

use crate::any::AnyFilter;
use crate::bloomline::Filter;
use crate::bloomline::header::EXTENDED_VERSION;
use crate::error::{Error, HeaderError};
use crate::estimate::Estimate;
use crate::insertion::Insertion;
use crate::spec::{Demand, Growth, Layout, Permit, Spec};

/// The time for filters that forget nothing.
const NO_TIME: u64 = 0;

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
    seed: u64,
    layout: Layout,
    memory_limit: u64,
}

impl Builder {
    /// Items of the first layer, 1 to 2^40; 100 by default.
    pub fn capacity(mut self, items: u64) -> Self {
        self.spec.capacity = items;
        self
    }

    /// The highest false-positive rate of the whole filter, however far it grows: above 0, at most
    /// 0.25; 0.01 by default.
    pub fn false_positive_rate(mut self, rate: f64) -> Self {
        self.spec.error_rate = rate;
        self
    }

    /// Each further layer has `factor` times the capacity of the layer before it, 1 to 32,768; 2 by
    /// default.
    pub fn expansion(mut self, factor: u32) -> Self {
        self.spec.growth = Growth::Scaling { expansion: factor };
        self
    }

    /// The filter does not grow: a full one refuses new items.
    pub fn fixed(mut self) -> Self {
        self.spec.growth = Growth::Fixed;
        self
    }

    /// The seed of the hash; 0 by default. Choose a random one where others choose the items:
    /// whoever knows it can prepare items that collide.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How items map to bits. [`Layout::RedisBloom`] has no seed.
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
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
    /// A number out of its range, [`Error::Refused`] by the memory limit, [`Error::OutOfMemory`].
    pub fn build(self) -> Result<BloomFilter, Error> {
        let Self { spec, seed, layout, memory_limit } = self;
        let mut permit = within(memory_limit);
        let filter = match layout {
            Layout::Bloomline => Filter::new(spec, seed, &mut permit)?.into(),
            Layout::RedisBloom => {
                let expansion = match spec.growth {
                    Growth::Scaling { expansion } => expansion,
                    Growth::Fixed => 0,
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
            seed: 0,
            layout: Layout::Bloomline,
            memory_limit: u64::MAX,
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
    /// [`Error::TooManyLayers`] if it cannot grow. The item is not inserted then.
    pub fn insert(&mut self, item: impl AsRef<[u8]>) -> Result<bool, Error> {
        self.filter.insert(item.as_ref(), &mut within(self.memory_limit)).map(Insertion::is_new)
    }

    /// True if the item may have been inserted: always true for one that was.
    pub fn contains(&self, item: impl AsRef<[u8]>) -> bool {
        self.filter.contains(item.as_ref(), NO_TIME)
    }

    /// Inserts all items, one after the other; the number of new ones.
    ///
    /// # Errors
    ///
    /// That of the first item that could not be inserted; those before it were.
    pub fn try_extend(
        &mut self,
        items: impl IntoIterator<Item: AsRef<[u8]>>,
    ) -> Result<u64, Error> {
        let mut new = 0;
        for item in items {
            new += u64::from(self.insert(item)?);
        }
        Ok(new)
    }

    /// Inserts items in groups whose cache misses overlap: two to five times as fast as one by one
    /// out of cache. Answers for each item in turn as [`BloomFilter::insert`] does; the first
    /// [`Error::Full`] is the last answer.
    pub fn insert_batch<'a>(
        &mut self,
        items: impl IntoIterator<Item = &'a [u8]>,
        mut answer: impl FnMut(Result<bool, Error>),
    ) {
        let mut permit = within(self.memory_limit);
        self.filter.insert_batch(items.into_iter(), &mut permit, |result| {
            answer(result.map(Insertion::is_new));
        });
    }

    /// Tests items in groups whose cache misses overlap, and answers for each in turn whether it
    /// may have been inserted.
    pub fn contains_batch<'a>(
        &self,
        items: impl IntoIterator<Item = &'a [u8]>,
        answer: impl FnMut(bool),
    ) {
        self.filter.contains_batch(items.into_iter(), NO_TIME, answer);
    }

    /// Adds the items of another filter with equal parameters and seed: the union of the two. True
    /// if the filter changed.
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

    /// Items that were new when they were inserted.
    pub fn len(&self) -> u64 {
        self.filter.len()
    }

    /// True if nothing was inserted.
    pub fn is_empty(&self) -> bool {
        self.filter.is_empty()
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

    /// Everything about the filter but its bits, in the format of `docs/format.md`.
    pub fn header(&self) -> Vec<u8> {
        self.filter.encode_header()
    }

    /// The bits of all layers, oldest first, in chunks of at most 16 MiB.
    pub fn chunks(&self) -> impl Iterator<Item = &[u8]> {
        let mut offset = 0;
        std::iter::from_fn(move || {
            let chunk = self.filter.chunk(offset)?;
            offset += chunk.len() as u64;
            Some(chunk)
        })
    }

    /// The filter of a header and its chunks. The bytes may come from anywhere.
    ///
    /// # Errors
    ///
    /// [`Error::Header`], [`Error::Chunk`], [`Error::Refused`] if the header describes more than
    /// `memory_limit` bytes, or what [`Builder::build`] refuses. Missing chunks are zeros.
    pub fn from_parts<'a>(
        header: &[u8],
        chunks: impl IntoIterator<Item = &'a [u8]>,
        memory_limit: u64,
    ) -> Result<Self, Error> {
        let mut filter = decode_header(header, &mut within(memory_limit))?;
        let mut offset = 0;
        for chunk in chunks {
            filter.write_chunk(offset, chunk)?;
            offset += chunk.len() as u64;
        }
        Ok(Self { filter, memory_limit })
    }

    /// The filter for hosts, which this one is made of.
    pub fn into_inner(self) -> AnyFilter {
        self.filter
    }
}

impl fmt::Debug for BloomFilter {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        fmt::Debug::fmt(&self.filter, to)
    }
}

/// The filter of a header, which must not be one that forgets.
fn decode_header(header: &[u8], permit: Permit) -> Result<AnyFilter, Error> {
    match AnyFilter::decode_header(header, permit)? {
        AnyFilter::Windowed(_) => Err(HeaderError::Version(EXTENDED_VERSION).into()),
        filter => Ok(filter),
    }
}

/// A permit for filters of at most so many bytes.
fn within(memory_limit: u64) -> impl FnMut(Demand) -> bool {
    move |demand| demand.filter_bytes <= memory_limit
}
