//! Cuckoo filters: sets of fingerprints, from which items can be deleted.
//!
//! Each layout has a module and an arm of [`AnyCuckoo`].

pub mod classic;
mod group;
pub mod prefix;

use std::ptr::NonNull;

pub use self::classic::header::HEADER_BYTES;
use self::classic::{ClassicCuckoo, CuckooNumbers, CuckooOptions};
use self::prefix::header::MAGIC;
use self::prefix::{CuckooFilter, CuckooSpec};
use crate::error::Error;
use crate::memory::words::Mover;
use crate::permit::Permit;
use crate::spec::Layout;

/// A cuckoo filter of any layout.
///
/// Methods that say no more than where to look mean the same in both layouts.
#[derive(Debug, PartialEq)]
pub enum AnyCuckoo {
    /// A filter in Bloomline's layout.
    Bloomline(CuckooFilter),
    /// A filter in RedisBloom's layout.
    RedisBloom(ClassicCuckoo),
}

/// Evaluates an expression with the filter of any layout.
macro_rules! any {
    ($any:expr, $filter:ident => $do:expr) => {
        match $any {
            AnyCuckoo::Bloomline($filter) => $do,
            AnyCuckoo::RedisBloom($filter) => $do,
        }
    };
}

impl From<CuckooFilter> for AnyCuckoo {
    fn from(filter: CuckooFilter) -> Self {
        Self::Bloomline(filter)
    }
}

impl From<ClassicCuckoo> for AnyCuckoo {
    fn from(filter: ClassicCuckoo) -> Self {
        Self::RedisBloom(filter)
    }
}

impl AnyCuckoo {
    /// An empty filter in Bloomline's layout; see [`CuckooFilter::new`].
    ///
    /// # Errors
    ///
    /// Those of [`CuckooFilter::new`].
    pub fn bloomline(spec: CuckooSpec, seed: u64, permit: Permit) -> Result<Self, Error> {
        CuckooFilter::new(spec, seed, permit).map(Self::from)
    }

    /// An empty filter in RedisBloom's layout; see [`ClassicCuckoo::new`].
    ///
    /// # Errors
    ///
    /// Those of [`ClassicCuckoo::new`].
    pub fn redisbloom(
        capacity: u64,
        options: CuckooOptions,
        permit: Permit,
    ) -> Result<Self, Error> {
        ClassicCuckoo::new(capacity, options, permit).map(Self::from)
    }

    /// A filter in RedisBloom's layout with these numbers; see [`ClassicCuckoo::with_numbers`].
    ///
    /// # Errors
    ///
    /// Those of [`ClassicCuckoo::with_numbers`].
    pub fn with_numbers(numbers: &CuckooNumbers, permit: Permit) -> Result<Self, Error> {
        ClassicCuckoo::with_numbers(numbers, permit).map(Self::from)
    }

    /// The filter of a header of any layout, with all slots empty; [`AnyCuckoo::load_chunk`] writes
    /// them. The first bytes show which layout it is.
    ///
    /// # Errors
    ///
    /// Those of [`CuckooFilter::decode_header`] and [`ClassicCuckoo::decode_header`].
    pub fn decode_header(bytes: &[u8], permit: Permit) -> Result<Self, Error> {
        match bytes.starts_with(&MAGIC) && bytes.len() != HEADER_BYTES {
            true => CuckooFilter::decode_header(bytes, permit).map(Self::from),
            false => ClassicCuckoo::decode_header(bytes, permit).map(Self::from),
        }
    }

    /// The filter, if it has RedisBloom's layout: for RedisBloom's own formats.
    pub fn as_redisbloom(&self) -> Option<&ClassicCuckoo> {
        match self {
            Self::Bloomline(_) => None,
            Self::RedisBloom(filter) => Some(filter),
        }
    }

    /// The filter, to be written, if it has RedisBloom's layout.
    pub fn as_redisbloom_mut(&mut self) -> Option<&mut ClassicCuckoo> {
        match self {
            Self::Bloomline(_) => None,
            Self::RedisBloom(filter) => Some(filter),
        }
    }

    /// The header, in the filter's own layout.
    pub fn encode_header(&self) -> Vec<u8> {
        any!(self, filter => filter.encode_header())
    }

    /// See [`ClassicCuckoo::check`].
    ///
    /// # Errors
    ///
    /// Those of [`ClassicCuckoo::check`].
    pub fn check(&self) -> Result<(), Error> {
        any!(self, filter => filter.check())
    }

    /// The filter's layout.
    pub fn layout(&self) -> Layout {
        match self {
            Self::Bloomline(_) => Layout::Bloomline,
            Self::RedisBloom(_) => Layout::RedisBloom,
        }
    }

    /// See [`ClassicCuckoo::try_clone`].
    ///
    /// # Errors
    ///
    /// Those of [`ClassicCuckoo::try_clone`].
    pub fn try_clone(&self, permit: Permit) -> Result<Self, Error> {
        any!(self, filter => filter.try_clone(permit).map(Self::from))
    }

    /// See [`ClassicCuckoo::contains`].
    pub fn contains(&self, item: &[u8]) -> bool {
        any!(self, filter => filter.contains(item))
    }

    /// Answers for each item in turn whether it may have been inserted.
    pub fn contains_batch(
        &self,
        items: impl Iterator<Item: AsRef<[u8]>>,
        answer: impl FnMut(bool),
    ) {
        any!(self, filter => group::contains(filter, items, answer))
    }

    /// See [`ClassicCuckoo::count`].
    pub fn count(&self, item: &[u8]) -> u64 {
        any!(self, filter => filter.count(item))
    }

    /// See [`ClassicCuckoo::insert`].
    ///
    /// # Errors
    ///
    /// Those of [`ClassicCuckoo::insert`].
    pub fn insert(&mut self, item: &[u8], permit: Permit) -> Result<(), Error> {
        any!(self, filter => filter.insert(item, permit))
    }

    /// See [`ClassicCuckoo::insert_new`].
    ///
    /// # Errors
    ///
    /// Those of [`ClassicCuckoo::insert`].
    pub fn insert_new(&mut self, item: &[u8], permit: Permit) -> Result<bool, Error> {
        any!(self, filter => filter.insert_new(item, permit))
    }

    /// Inserts each item in turn and answers as [`AnyCuckoo::insert`] does, with true; if `only_new`,
    /// as [`AnyCuckoo::insert_new`].
    ///
    /// After an error the remaining items are tried all the same.
    pub fn insert_batch(
        &mut self,
        items: impl Iterator<Item: AsRef<[u8]>>,
        only_new: bool,
        permit: Permit,
        answer: impl FnMut(Result<bool, Error>),
    ) {
        any!(self, filter => group::insert(filter, items, only_new, permit, answer))
    }

    /// See [`ClassicCuckoo::remove`].
    pub fn remove(&mut self, item: &[u8]) -> bool {
        any!(self, filter => filter.remove(item))
    }

    /// Deletes each item in turn, and answers as [`AnyCuckoo::remove`] does.
    pub fn remove_batch(
        &mut self,
        items: impl Iterator<Item: AsRef<[u8]>>,
        answer: impl FnMut(bool),
    ) {
        any!(self, filter => group::remove(filter, items, answer))
    }

    /// See [`ClassicCuckoo::compact`].
    pub fn compact(&mut self) -> u64 {
        any!(self, filter => filter.compact())
    }

    /// See [`ClassicCuckoo::len`].
    pub fn len(&self) -> u64 {
        any!(self, filter => filter.len())
    }

    /// True if the filter counts no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// See [`ClassicCuckoo::deletes`].
    pub fn deletes(&self) -> u64 {
        any!(self, filter => filter.deletes())
    }

    /// See [`ClassicCuckoo::table_count`].
    pub fn table_count(&self) -> u32 {
        any!(self, filter => filter.table_count())
    }

    /// Buckets of the first table, which are a power of two; in Bloomline's layout the windows of all
    /// tables.
    pub fn buckets(&self) -> u64 {
        match self {
            Self::Bloomline(filter) => filter.windows(),
            Self::RedisBloom(filter) => filter.buckets(),
        }
    }

    /// Items that all tables hold before the filter is full or grows; in RedisBloom's layout their
    /// slots.
    pub fn capacity(&self) -> u64 {
        match self {
            Self::Bloomline(filter) => filter.capacity(),
            Self::RedisBloom(filter) => filter.slots(),
        }
    }

    /// The target rate; `None` in RedisBloom's layout, which has none.
    pub fn error_rate(&self) -> Option<f64> {
        match self {
            Self::Bloomline(filter) => Some(filter.error_rate()),
            Self::RedisBloom(_) => None,
        }
    }

    /// An upper bound of today's false-positive rate; `None` in RedisBloom's layout. See
    /// [`CuckooFilter::current_rate`].
    pub fn current_rate(&self) -> Option<f64> {
        match self {
            Self::Bloomline(filter) => Some(filter.current_rate()),
            Self::RedisBloom(_) => None,
        }
    }

    /// The seed of the hash; `None` in RedisBloom's layout, which has none.
    pub fn seed(&self) -> Option<u64> {
        match self {
            Self::Bloomline(filter) => Some(filter.seed()),
            Self::RedisBloom(_) => None,
        }
    }

    /// See [`ClassicCuckoo::options`].
    pub fn options(&self) -> CuckooOptions {
        any!(self, filter => filter.options())
    }

    /// Bytes as RedisBloom counts them; in Bloomline's layout [`AnyCuckoo::size_bytes`].
    pub fn size(&self) -> u64 {
        match self {
            Self::Bloomline(filter) => filter.size_bytes(),
            Self::RedisBloom(filter) => filter.size(),
        }
    }

    /// See [`ClassicCuckoo::size_bytes`].
    pub fn size_bytes(&self) -> u64 {
        any!(self, filter => filter.size_bytes())
    }

    /// See [`ClassicCuckoo::scan_dump`].
    pub fn scan_dump(&self, iterator: u64) -> Option<(u64, &[u8])> {
        any!(self, filter => filter.scan_dump(iterator))
    }

    /// See [`ClassicCuckoo::load_chunk`].
    ///
    /// # Errors
    ///
    /// Those of [`ClassicCuckoo::load_chunk`].
    pub fn load_chunk(&mut self, iterator: u64, data: &[u8]) -> Result<(), Error> {
        any!(self, filter => filter.load_chunk(iterator, data))
    }

    /// See [`ClassicCuckoo::each_block`].
    pub fn each_block(&self, see: impl FnMut(NonNull<u8>)) {
        any!(self, filter => filter.each_block(see))
    }

    /// See [`ClassicCuckoo::relocate`].
    pub fn relocate(
        &mut self,
        from: usize,
        mover: &mut Mover,
        should_stop: impl FnMut() -> bool,
    ) -> Option<usize> {
        any!(self, filter => filter.relocate(from, mover, should_stop))
    }
}
