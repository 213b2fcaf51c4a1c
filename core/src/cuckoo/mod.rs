//! Cuckoo filters: sets of fingerprints, from which items can be deleted.
//!
//! Each layout has a module and an arm of [`AnyCuckoo`]. What both do with one table after another
//! is in `tables`, and calls with many items are in `group`.

pub mod bloomline;
mod group;
pub mod options;
mod rdb;
pub mod redisbloom;
mod tables;
#[allow(unsafe_code)]
mod word;

use std::ptr::NonNull;

use self::bloomline::header::MAGIC;
use self::bloomline::{BloomlineCuckoo, CuckooSpec};
use self::options::CuckooOptions;
use self::redisbloom::RedisBloomCuckoo;
pub use self::redisbloom::header::HEADER_BYTES;
use self::tables::{Effort, Tables};
pub use self::word::{AnyCuckoo, CuckooKind};
use crate::error::Error;
use crate::memory::stored::Stored;
use crate::memory::words::Mover;
use crate::permit::Permit;
use crate::spec::Layout;

/// What a compaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compaction {
    /// True if a byte of the filter has changed: of its header or of its tables.
    pub is_changed: bool,
    /// Bytes that were freed, as [`AnyCuckoo::size_bytes`] counts them.
    pub freed: u64,
}

/// Evaluates an expression with the filter of any layout.
macro_rules! any {
    (mut $any:expr, $filter:ident => $do:expr) => {
        any!(in &mut *$any.0, $filter => $do)
    };
    ($any:expr, $filter:ident => $do:expr) => {
        any!(in $any.view(), $filter => $do)
    };
    (in $kind:expr, $filter:ident => $do:expr) => {
        match $kind {
            CuckooKind::Bloomline($filter) => $do,
            CuckooKind::RedisBloom($filter) => $do,
        }
    };
}

impl<F: Into<CuckooKind>> From<F> for AnyCuckoo {
    fn from(filter: F) -> Self {
        Self(Box::new(filter.into()))
    }
}

impl AnyCuckoo {
    /// An empty filter in Bloomline's layout; see [`BloomlineCuckoo::new`].
    pub fn bloomline(spec: CuckooSpec, seed: u64, permit: Permit) -> Result<Self, Error> {
        Self::in_box(BloomlineCuckoo::new(spec, seed, permit)?)
    }

    /// An empty filter in RedisBloom's layout; see [`RedisBloomCuckoo::new`].
    pub fn redisbloom(
        capacity: u64,
        options: CuckooOptions,
        permit: Permit,
    ) -> Result<Self, Error> {
        Self::in_box(RedisBloomCuckoo::new(capacity, options, permit)?)
    }

    /// The filter of a header of any layout, with all slots empty; [`AnyCuckoo::load_chunk`] writes
    /// them. The first bytes show which layout it is.
    pub fn decode_header(bytes: &[u8], permit: Permit) -> Result<Self, Error> {
        if bytes.starts_with(&MAGIC) && bytes.len() != HEADER_BYTES {
            Self::in_box(BloomlineCuckoo::decode_header(bytes, permit)?)
        } else {
            Self::in_box(RedisBloomCuckoo::decode_header(bytes, permit)?)
        }
    }

    /// The header, in the filter's own layout.
    pub fn encode_header(&self) -> Vec<u8> {
        any!(self, filter => filter.encode_header())
    }

    /// Checks that the filter is valid, which each method keeps: its header is accepted and
    /// describes it. A failure is a defect of this crate.
    ///
    /// # Errors
    ///
    /// Why the header would be refused, or
    /// [`HeaderError::Other`](crate::error::HeaderError::Other).
    pub fn check(&self) -> Result<(), Error> {
        any!(self, filter => filter.check())
    }

    pub fn layout(&self) -> Layout {
        match self.view() {
            CuckooKind::Bloomline(_) => Layout::Bloomline,
            CuckooKind::RedisBloom(_) => Layout::RedisBloom,
        }
    }

    /// A filter equal to this one.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] by `permit`, [`Error::OutOfMemory`].
    pub fn try_clone(&self, permit: Permit) -> Result<Self, Error> {
        any!(self, filter => Self::in_box(filter.try_clone(permit)?))
    }

    /// True if the item may have been inserted. Cost: two buckets or windows per table.
    pub fn contains(&self, item: &[u8]) -> bool {
        any!(self, filter => filter.contains_hash(&filter.hash(item)))
    }

    /// Answers for each item in turn whether it may have been inserted.
    pub fn contains_batch(
        &self,
        items: impl Iterator<Item: AsRef<[u8]>>,
        answer: impl FnMut(bool),
    ) {
        any!(self, filter => group::contains(filter, items, answer))
    }

    /// Copies of the item. Other items with the same prefix, or with the same fingerprint and
    /// buckets, are counted too. In RedisBloom's layout equal buckets of an item are counted twice.
    pub fn count(&self, item: &[u8]) -> u64 {
        any!(self, filter => filter.count(item))
    }

    /// Inserts an item, even if the filter contains it.
    ///
    /// Cost: while a table is being doubled, each insertion moves the entries of 16 slots.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] if the filter does not grow; [`Error::Refused`] by `permit`,
    /// [`Error::OutOfMemory`] and [`Error::TooManyTables`] if it cannot. The filter is unchanged
    /// then.
    pub fn insert(&mut self, item: &[u8], permit: Permit) -> Result<(), Error> {
        any!(mut self, filter => {
            filter.insert_hash(&filter.hash(item), &mut Effort::default(), permit)
        })
    }

    /// Inserts an item unless the filter seems to contain it. False if it does.
    pub fn insert_new(&mut self, item: &[u8], permit: Permit) -> Result<bool, Error> {
        any!(mut self, filter => {
            filter.insert_new_hash(&filter.hash(item), &mut Effort::default(), permit)
        })
    }

    /// [`AnyCuckoo::insert`], with true; if `only_new`, [`AnyCuckoo::insert_new`].
    pub fn insert_one(
        &mut self,
        item: &[u8],
        only_new: bool,
        permit: Permit,
    ) -> Result<bool, Error> {
        if only_new {
            self.insert_new(item, permit)
        } else {
            self.insert(item, permit).map(|()| true)
        }
    }

    /// Inserts each item in turn and answers as [`AnyCuckoo::insert_one`] does.
    ///
    /// After an error the remaining items are tried all the same.
    pub fn insert_batch(
        &mut self,
        items: impl Iterator<Item: AsRef<[u8]>>,
        only_new: bool,
        permit: Permit,
        answer: impl FnMut(Result<bool, Error>),
    ) {
        any!(mut self, filter => group::insert(filter, items, only_new, permit, answer))
    }

    /// Deletes one copy of an item, from the newest table that has it. False if none has.
    ///
    /// Deleting an item that was not inserted may delete another one with the same prefix, or with
    /// the same fingerprint and bucket.
    pub fn remove(&mut self, item: &[u8]) -> bool {
        any!(mut self, filter => filter.remove_hash(&filter.hash(item), &mut Default::default()))
    }

    /// Deletes each item in turn, and answers as [`AnyCuckoo::remove`] does.
    pub fn remove_batch(
        &mut self,
        items: impl Iterator<Item: AsRef<[u8]>>,
        answer: impl FnMut(bool),
    ) {
        any!(mut self, filter => group::remove(filter, items, answer))
    }

    /// Moves entries to older tables, and frees tables that become empty. The filter never gets
    /// larger.
    ///
    /// What it does follows from the filter alone. It allocates all memory before it changes
    /// anything.
    ///
    /// Cost: one step per slot, and one per entry and older table; in RedisBloom's layout some per
    /// slot if the tables have equal sizes. In Bloomline's layout, searches that fail have a budget
    /// in proportion to the slots; what is left then stays where it is.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]. The filter is unchanged then.
    pub fn compact(&mut self) -> Result<Compaction, Error> {
        any!(mut self, filter => filter.compact())
    }

    /// Items that were inserted, less those that were deleted.
    pub fn len(&self) -> u64 {
        any!(self, filter => filter.len())
    }

    /// True if the filter counts no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Deletions since the last compaction.
    pub fn deletes(&self) -> u64 {
        any!(self, filter => filter.deletes())
    }

    /// Number of tables, at least 1. A table that is being doubled counts twice.
    pub fn table_count(&self) -> u32 {
        any!(self, filter => filter.table_count())
    }

    /// Buckets of the first table, which are a power of two; in Bloomline's layout the windows of
    /// all tables.
    pub fn buckets(&self) -> u64 {
        match self.view() {
            CuckooKind::Bloomline(filter) => filter.windows(),
            CuckooKind::RedisBloom(filter) => filter.buckets(),
        }
    }

    /// Items that all tables hold before the filter is full or grows; in RedisBloom's layout their
    /// slots.
    pub fn capacity(&self) -> u64 {
        match self.view() {
            CuckooKind::Bloomline(filter) => filter.capacity(),
            CuckooKind::RedisBloom(filter) => filter.slots(),
        }
    }

    /// The target rate; `None` in RedisBloom's layout, which has none.
    pub fn error_rate(&self) -> Option<f64> {
        match self.view() {
            CuckooKind::Bloomline(filter) => Some(filter.error_rate()),
            CuckooKind::RedisBloom(_) => None,
        }
    }

    /// An upper bound of today's false-positive rate; `None` in RedisBloom's layout. See
    /// [`BloomlineCuckoo::current_rate`].
    pub fn current_rate(&self) -> Option<f64> {
        match self.view() {
            CuckooKind::Bloomline(filter) => Some(filter.current_rate()),
            CuckooKind::RedisBloom(_) => None,
        }
    }

    /// The options that the filter was created with.
    pub fn options(&self) -> CuckooOptions {
        any!(self, filter => filter.options())
    }

    /// Bytes as RedisBloom counts them; in Bloomline's layout [`AnyCuckoo::size_bytes`].
    pub fn size(&self) -> u64 {
        match self.view() {
            CuckooKind::Bloomline(filter) => filter.size_bytes(),
            CuckooKind::RedisBloom(filter) => filter.size(),
        }
    }

    /// Bytes of the filter: its header, its list of tables, the tables in whole words, and 16 per
    /// entry of a list of copies. They are arithmetic, so they are equal on every server.
    pub fn size_bytes(&self) -> u64 {
        any!(self, filter => filter.size_bytes())
    }

    /// The chunk of an iterator and the iterator of the next chunk; `None` past the end.
    ///
    /// Iterators start at 1. A chunk begins at byte `iterator - 1` of the bytes of the filter, or
    /// at the next table if none has it, and ends after 16 MiB or at the end of its table. In
    /// RedisBloom's layout a table of at most 16 MiB is one chunk, whatever byte of it the iterator
    /// points to.
    pub fn scan_dump(&self, iterator: u64) -> Option<(u64, &[u8])> {
        any!(self, filter => filter.scan_dump(iterator))
    }

    /// Writes a chunk that was dumped with this next iterator. Its last byte is byte `iterator - 2`
    /// of the bytes of the filter. Bits behind the last slot of a table are ignored. True if a byte
    /// of the filter has changed.
    ///
    /// # Errors
    ///
    /// [`Error::Chunk`] if the chunk is empty, if no table has its first byte, or if it is longer
    /// than the rest of its table. Nothing is written then.
    pub fn load_chunk(&mut self, iterator: u64, data: &[u8]) -> Result<bool, Error> {
        any!(mut self, filter => filter.load_chunk(iterator, data))
    }

    /// Calls `see` with the chunks of up to 16 MiB that are not all zeros, each with its next
    /// iterator, in order. Pages that were never touched are not read where the operating system
    /// reports which those are.
    pub fn each_touched_chunk(&self, see: impl FnMut(u64, &[u8])) {
        any!(self, filter => filter.each_touched_chunk(see));
    }

    /// Calls `see` with the start of each allocation that the filter owns.
    pub fn each_allocation(&self, mut see: impl FnMut(NonNull<u8>)) {
        see(self.as_raw().cast());
        any!(self, filter => filter.each_allocation(see))
    }

    /// Lets `mover` move the filter's allocations from number `from` on: those of each table,
    /// oldest first, then the list of tables. The box is moved before the first.
    ///
    /// `should_stop` is called before each but the box and the last. Returns the number of the
    /// allocation to continue with, or `None` after the last one. If the filter has changed since,
    /// some may be left out.
    pub fn relocate(
        &mut self,
        from: usize,
        mover: &mut Mover,
        should_stop: impl FnMut() -> bool,
    ) -> Option<usize> {
        if from == 0 {
            self.relocate_box(mover);
        }
        any!(mut self, filter => filter.relocate(from, mover, should_stop))
    }
}
