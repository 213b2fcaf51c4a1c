//! A filter as a list of tables: what both layouts do in the same way with one table after another.

use std::ptr::NonNull;

use crate::chunk::MAX_CHUNK_BYTES;
use crate::error::{ChunkError, Error};
use crate::memory::lists::try_collect;
use crate::memory::words::{Mover, Words, overwrite, relocate_slice};
use crate::permit::{self, Permit};
use crate::spec::Layout;

/// One table of a filter.
pub(super) trait Slots: Sized {
    /// The hash of an item, for all tables.
    type Hash: Copy;

    /// The memory of the slots.
    fn words(&self) -> &Words;

    /// The memory of the slots, to be moved.
    fn words_mut(&mut self) -> &mut Words;

    fn as_bytes(&self) -> &[u8];

    /// The bytes of the slots, to be written; [`Slots::clear_padding`] must follow.
    fn as_mut_bytes(&mut self) -> &mut [u8];

    /// Sets the bits behind the last slot to 0.
    fn clear_padding(&mut self) {}

    /// Counts the occupied slots after all bytes were written.
    fn count_loaded(&mut self) {}

    /// Overwrites the bytes from `from` on. True if that changed a slot; `None` if there are no
    /// such bytes.
    fn write(&mut self, from: usize, bytes: &[u8]) -> Option<bool> {
        let end = from.checked_add(bytes.len()).filter(|end| *end <= self.as_bytes().len())?;
        if self.words().equals(from, bytes) {
            return Some(false);
        }
        overwrite(self.as_mut_bytes().get_mut(from..end)?, bytes);
        Some(true)
    }

    fn try_clone(&self) -> Result<Self, Error>;

    fn prefetch(&self, hash: &Self::Hash);

    fn contains(&self, hash: &Self::Hash) -> bool;

    fn count(&self, hash: &Self::Hash) -> u64;

    fn memory_bytes(&self) -> u64 {
        self.words().bytes()
    }

    /// Calls `see` with the start of each allocation.
    fn each_allocation(&self, mut see: impl FnMut(NonNull<u8>)) {
        see(self.words().allocation().start);
    }

    /// The number of allocations that can be moved.
    fn allocations(&self) -> usize {
        1
    }

    /// Lets `mover` move an allocation.
    fn relocate(&mut self, _index: usize, mover: &mut Mover) {
        self.words_mut().relocate(mover);
    }
}

/// What the searches of a call that failed took, so that its work is bounded.
#[derive(Debug, Default)]
pub(super) struct Effort {
    /// Steps of searches that failed.
    pub(super) steps: u64,
    /// Why all further items of the call are refused.
    pub(super) refusal: Option<Error>,
}

impl Effort {
    /// Steps from which on further items of a call are only stored in empty slots.
    pub(super) const MOST: u64 = 1 << 16;

    /// Tables from which on the first refusal of a call ends it: to test this number of tables for
    /// an empty slot takes as long as a search.
    pub(super) const TABLES: usize = 128;
}

/// The hash of an item in the tables of a filter.
pub(super) type HashOf<F> = <<F as Tables>::Table as Slots>::Hash;

/// A filter in one of the layouts.
pub(super) trait Tables: Sized {
    type Table: Slots;

    /// What a call that deletes items keeps from one deletion for the next.
    type Kept: Default;

    const LAYOUT: Layout;

    /// Bytes of a filter besides its tables: the size of the type on a 64-bit machine.
    const FILTER_BYTES: u64;

    /// Bytes of a table besides its slots: the size of the type on a 64-bit machine.
    const TABLE_BYTES: u64;

    /// True if a table of at most 16 MiB is one chunk, whatever byte of it an iterator points to.
    const HAS_WHOLE_CHUNKS: bool;

    fn hash(&self, item: &[u8]) -> HashOf<Self>;

    /// The tables, oldest first.
    fn list(&self) -> &[Self::Table];

    /// The tables, oldest first, to be changed.
    fn list_mut(&mut self) -> &mut Box<[Self::Table]>;

    /// Where each table begins in the bytes of the filter.
    fn starts(&self) -> impl Iterator<Item = u64>;

    /// Inserts an item. `effort` is that of one call.
    fn insert_hash(
        &mut self,
        hash: &HashOf<Self>,
        effort: &mut Effort,
        permit: Permit,
    ) -> Result<(), Error>;

    /// Deletes an item. False if it is not found. `kept` is that of one call, which changes the
    /// filter in no other way.
    fn remove_hash(&mut self, hash: &HashOf<Self>, kept: &mut Self::Kept) -> bool;

    /// True if any table contains the hash.
    #[inline(always)]
    fn contains_hash(&self, hash: &HashOf<Self>) -> bool {
        self.list().iter().rev().any(|table| table.contains(hash))
    }

    /// Inserts an item unless the filter seems to contain it. False if it does.
    #[inline(always)]
    fn insert_new_hash(
        &mut self,
        hash: &HashOf<Self>,
        effort: &mut Effort,
        permit: Permit,
    ) -> Result<bool, Error> {
        if self.contains_hash(hash) {
            return Ok(false);
        }
        self.insert_hash(hash, effort, permit).map(|()| true)
    }

    /// Entries of an item in all tables.
    fn count(&self, item: &[u8]) -> u64 {
        let hash = self.hash(item);
        self.list().iter().fold(0, |sum, table| table.count(&hash).saturating_add(sum))
    }

    fn table_count(&self) -> u32 {
        self.list().len() as u32
    }

    /// The number of tables that stay when no table is being doubled any more.
    fn lasting_table_count(&self) -> u32 {
        self.table_count()
    }

    /// Bytes of the memory of all tables. Cost: one step per table.
    fn memory_bytes(&self) -> u64 {
        self.list().iter().map(Slots::memory_bytes).fold(0, u64::saturating_add)
    }

    /// Bytes of a filter whose tables take `memory` bytes.
    fn size_with(memory: u64, tables: u32) -> u64 {
        memory.saturating_add(Self::FILTER_BYTES + Self::TABLE_BYTES * u64::from(tables))
    }

    /// Bytes of the filter: its header, its list of tables, and their memory.
    fn size_bytes(&self) -> u64 {
        Self::size_with(self.memory_bytes(), self.table_count())
    }

    /// Asks `permit` for new tables, whose slots take `new` bytes each. The memory of the tables
    /// that the filter has takes `present` bytes, and it has `count` tables then.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`].
    fn request(
        permit: Permit,
        new: impl IntoIterator<Item = u64>,
        present: u64,
        count: u32,
    ) -> Result<(), Error> {
        let size = |bytes| Self::size_with(present.saturating_add(bytes), count);
        permit::request_tables(permit, Self::LAYOUT, count, new, size)
    }

    /// Copies of all tables.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] by `permit`, [`Error::OutOfMemory`].
    fn try_clone_tables(&self, permit: Permit) -> Result<Box<[Self::Table]>, Error> {
        let new = self.list().iter().map(|table| table.words().bytes());
        let tables = self.lasting_table_count();
        permit::request_tables(permit, Self::LAYOUT, tables, new, |_| self.size_bytes())?;
        try_collect(self.list().len(), self.list().iter().map(Slots::try_clone))
    }

    /// The index of the table with byte `at` of the filter, or else of the next one, and where that
    /// table begins.
    fn table_at(&self, at: u64) -> Option<(usize, u64)> {
        let mut tables = self.list().iter().zip(self.starts()).enumerate();
        let is_before_end = |table: &Self::Table, start| at < start + table.as_bytes().len() as u64;
        let found = tables.find(|(_, (table, start))| is_before_end(table, *start));
        found.map(|(index, (_, start))| (index, start))
    }

    fn scan_dump(&self, iterator: u64) -> Option<(u64, &[u8])> {
        let at = iterator.checked_sub(1)?;
        let (index, start) = self.table_at(at)?;
        let bytes = self.list().get(index)?.as_bytes();
        let chunk = if Self::HAS_WHOLE_CHUNKS && bytes.len() <= MAX_CHUNK_BYTES {
            bytes
        } else {
            let rest = bytes.get(at.saturating_sub(start) as usize..)?;
            rest.get(..MAX_CHUNK_BYTES).unwrap_or(rest)
        };
        Some((at.max(start) + chunk.len() as u64 + 1, chunk))
    }

    fn load_chunk(&mut self, iterator: u64, data: &[u8]) -> Result<bool, Error> {
        if data.is_empty() {
            return Err(ChunkError::Empty.into());
        }
        let outside = ChunkError::Offset(iterator);
        let end = iterator.checked_sub(1).ok_or(outside)?;
        let at = end.checked_sub(data.len() as u64).ok_or(outside)?;
        let (index, start) = self.table_at(at).ok_or(outside)?;
        let from = at.checked_sub(start).ok_or(outside)? as usize;
        let table = self.list_mut().get_mut(index).ok_or(outside)?;
        table.write(from, data).ok_or(ChunkError::TooLong(data.len() as u64).into())
    }

    fn each_touched_chunk(&self, mut see: impl FnMut(u64, &[u8])) {
        for (table, start) in self.list().iter().zip(self.starts()) {
            let bytes = table.as_bytes();
            for from in (0..bytes.len()).step_by(MAX_CHUNK_BYTES) {
                let end = bytes.len().min(from + MAX_CHUNK_BYTES);
                if !table.words().is_zero(from..end) {
                    see(start + end as u64 + 1, bytes.get(from..end).unwrap_or_default());
                }
            }
        }
    }

    fn each_allocation(&self, mut see: impl FnMut(NonNull<u8>)) {
        self.list().iter().for_each(|table| table.each_allocation(&mut see));
        see(NonNull::from(self.list()).cast());
    }

    fn relocate(
        &mut self,
        from: usize,
        mover: &mut Mover,
        mut should_stop: impl FnMut() -> bool,
    ) -> Option<usize> {
        let mut first = 0;
        for table in self.list_mut() {
            let allocations = table.allocations();
            for index in from.saturating_sub(first)..allocations {
                if should_stop() {
                    return Some(first + index);
                }
                table.relocate(index, mover);
            }
            first += allocations;
        }
        relocate_slice(self.list_mut(), mover);
        None
    }
}
