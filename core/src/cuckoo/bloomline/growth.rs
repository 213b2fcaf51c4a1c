//! Insertion with growth: doubling the newest table, a few slots at a time, or adding a table.

use arrayvec::ArrayVec;

use super::BloomlineCuckoo;
use super::candidates::{Candidates, Label, prefix_of};
use super::insert::{Purpose, StoreResult};
use super::list::List;
use super::plan::{MAX_END, MAX_TABLES};
use super::table::{GROUP, Table};
use crate::cuckoo::tables::{Slots, Tables};
use crate::error::Error;
use crate::memory::lists::try_insert;
use crate::permit::{Permit, request, request_tables};
use crate::spec::Layout;

/// Slots of a table that is being doubled that each insertion moves.
const DRAINED_SLOTS: u64 = GROUP as u64;

/// The same for an insertion into a doubled table at its limit, so that the doubling soon ends.
const HURRIED_SLOTS: u64 = 4 * GROUP as u64;

/// The most prefixes that an insertion adds to the list of a doubled table.
const MOST_LISTED: usize = 1 + HURRIED_SLOTS as usize;

/// Bytes of a drained table that are returned to the operating system together: few system calls,
/// none of which takes a millisecond.
const RELEASED_BYTES: u64 = 4 << 20;

impl BloomlineCuckoo {
    /// Inserts an item: into the newest table with room, else into older ones, else into a larger
    /// or further one.
    #[inline(always)]
    pub(super) fn insert_or_grow(&mut self, hash: u64, permit: Permit) -> Result<(), Error> {
        let mut drained_slots = DRAINED_SLOTS;
        // After the filter has grown, the newest table has an empty slot for the item, and the list
        // has memory for the entries that move with it: nothing fails then.
        loop {
            self.reserve_for_drain(hash, drained_slots, permit)?;
            let (mut stored, mut index) = self.store(hash);
            if stored == StoreResult::NoRoom && self.doubling_at.is_some() {
                drained_slots = HURRIED_SLOTS;
                self.reserve_for_drain(hash, drained_slots, permit)?;
                (stored, index) = self.store_above_limit(hash);
            }
            match stored {
                StoreResult::Stored => break,
                StoreResult::NoRoom => self.grow(hash, permit)?,
                StoreResult::NoListMemory => self.grow_list(index, hash, permit)?,
                StoreResult::ListFull => return Err(Error::Full(self.capacity())),
            }
        }
        if self.doubling_at.is_some() {
            self.drain(drained_slots);
        }
        Ok(())
    }

    /// Stores an item in one of the tables, whose index is returned.
    #[inline(always)]
    fn store(&mut self, hash: u64) -> (StoreResult, usize) {
        let source = self.source_index();
        let newest = self.tables.len().saturating_sub(1);
        let mut reserved =
            source.and_then(|index| self.tables.get(index)).map_or(0, |source| source.load());
        for (index, table) in self.tables.iter_mut().enumerate().rev() {
            if Some(index) == source {
                continue;
            }
            let purpose = Purpose::Insert { reserved: Some(std::mem::take(&mut reserved)) };
            match table.store(prefix_of(hash, &table.shape), purpose) {
                StoreResult::NoRoom => {}
                StoreResult::ListFull if index < newest => {}
                stored => return (stored, index),
            }
        }
        (StoreResult::NoRoom, newest)
    }

    /// Stores an item in the doubled table, which is at its limit. That happens only if entries
    /// came into the filter otherwise than by insertions: by chunks of another filter, or of a dump
    /// during which the filter was changed.
    #[cold]
    fn store_above_limit(&mut self, hash: u64) -> (StoreResult, usize) {
        let newest = self.tables.len().saturating_sub(1);
        let stored = self.tables.last_mut().map(|target| {
            target.store(prefix_of(hash, &target.shape), Purpose::Insert { reserved: None })
        });
        (stored.unwrap_or(StoreResult::NoRoom), newest)
    }

    /// Bytes of the filter, with the memory that its lists have for further entries: what was
    /// granted once must not be granted twice. Cost: one step per table and segment of a list.
    fn granted_bytes(&self) -> u64 {
        let room: u64 = self.tables.iter().map(|table| table.list.room_bytes()).sum();
        self.size_bytes().saturating_add(room)
    }

    /// Makes room for an item in the list of a table.
    #[cold]
    fn grow_list(&mut self, index: usize, hash: u64, permit: Permit) -> Result<(), Error> {
        let granted = self.granted_bytes();
        let Some(table) = self.tables.get_mut(index) else { return Ok(()) };
        let prefix = prefix_of(hash, &table.shape);
        table.list.reserve_granted(&[prefix], 1, granted, permit)
    }

    /// Adds a table: a doubled one that takes over the list of the newest and from now on its
    /// entries, or a further one. No doubling is under way.
    #[cold]
    fn grow(&mut self, hash: u64, permit: Permit) -> Result<(), Error> {
        let table = self.next_table(permit)?;
        let end = table.end();
        let newest = self.tables.len();
        let granted = self.granted_bytes() + table.memory_bytes() + Self::TABLE_BYTES;
        let source =
            self.tables.last_mut().filter(|source| source.shape.doubled() == Some(table.shape));
        let reserved = source.map_or(Ok(()), |source| {
            let is_hurried = source.load() >= table.limit();
            let slots = if is_hurried { HURRIED_SLOTS } else { DRAINED_SLOTS };
            let prefixes = source.drained_prefixes(0, slots, hash);
            source.list.reserve_granted(&prefixes, most_listed(slots), granted, permit)
        });
        let grown = reserved.and_then(|()| try_insert(&mut self.tables, newest, table));
        if let Err(error) = grown {
            self.tables.iter_mut().for_each(|table| table.list.free_if_empty());
            return Err(error);
        }
        self.end = end;
        if let [.., source, target] = &mut *self.tables
            && source.shape.doubled() == Some(target.shape)
        {
            target.list = std::mem::take(&mut source.list);
            self.doubling_at = Some(0);
        }
        Ok(())
    }

    /// The table that is added when no other has room.
    fn next_table(&self, permit: Permit) -> Result<Table, Error> {
        let count = self.table_count();
        let too_many = Error::TooManyTables(count);
        let newest = self.tables.last().ok_or(too_many)?;
        let shape = match newest.shape.doubled() {
            Some(shape) => shape,
            None if self.options.is_fixed() => return Err(Error::Full(newest.limit())),
            None => newest.shape.next(self.budget() / 2.0).ok_or(too_many)?,
        };
        if count as usize >= MAX_TABLES || self.end.saturating_add(shape.bytes()) > MAX_END {
            return Err(too_many);
        }
        let lasting = count + u32::from(newest.shape.doubled().is_none());
        let granted = self.granted_bytes() + Self::TABLE_BYTES;
        let size = |new| granted.saturating_add(new);
        request_tables(permit, Layout::Bloomline, lasting, [shape.bytes()], size)?;
        Table::zeroed(shape, self.end, List::default())
    }

    /// The error budget: the target rate, less the rates for life of all lasting tables.
    fn budget(&self) -> f64 {
        let rates: f64 = self.lasting_tables().map(|table| table.shape.life_rate()).sum();
        self.error_rate - rates
    }

    /// Makes room in the list of a doubled table for all that an insertion may add to it: the
    /// entries of the next `slots` slots and the item. Nothing else in a doubling needs memory, so
    /// that it happens whole or not at all. Most lists are empty, and have room for all of them
    /// from the first time on.
    #[inline(always)]
    fn reserve_for_drain(&mut self, hash: u64, slots: u64, permit: Permit) -> Result<(), Error> {
        match (self.doubling_at, self.tables.last()) {
            (Some(from), Some(target)) if !target.list.has_room_anywhere(most_listed(slots)) => {
                self.reserve_each(from, slots, hash, permit)
            }
            _ => Ok(()),
        }
    }

    /// [`BloomlineCuckoo::reserve_for_drain`] for a list that may need memory: each of the segments
    /// gets room for all the entries.
    #[cold]
    fn reserve_each(
        &mut self,
        from: u64,
        slots: u64,
        hash: u64,
        permit: Permit,
    ) -> Result<(), Error> {
        let [.., source, target] = &*self.tables else { return Ok(()) };
        let (prefixes, most) = (source.drained_prefixes(from, slots, hash), most_listed(slots));
        if prefixes.iter().all(|prefix| target.list.has_memory_for(*prefix, most)) {
            return Ok(());
        }
        let granted = self.granted_bytes();
        let target = self.tables.last_mut();
        target.map_or(Ok(()), |it| it.list.reserve_granted(&prefixes, most, granted, permit))
    }

    /// Moves the entries of at most `slots` slots into the doubled table, and drops the old one
    /// after its last slot. An entry that finds no room is tried again by the next call.
    fn drain(&mut self, slots: u64) {
        let Some(from) = self.doubling_at else { return };
        let [.., source, target] = &mut *self.tables else { return };
        let end = from.saturating_add(slots).min(source.shape.slots());
        let at = target.take_from(source, from, end);
        if at < source.shape.slots() {
            source.release_drained(from, at);
            self.doubling_at = Some(at);
        } else {
            self.drop_source();
            // What was reserved for the doubling.
            self.tables.iter_mut().for_each(|table| table.list.free_if_empty());
        }
    }

    /// Drops the table that was doubled, which is empty.
    pub(super) fn drop_source(&mut self) {
        let Some(source) = self.source_index() else { return };
        self.doubling_at = None;
        let mut tables = std::mem::take(&mut self.tables).into_vec();
        tables.remove(source);
        self.tables = tables.into_boxed_slice();
    }
}

/// The most entries that an insertion adds to the list of a doubled table if it moves those of
/// `slots` slots.
fn most_listed(slots: u64) -> usize {
    1 + slots as usize
}

impl List {
    /// Makes room for `count` entries of each of some prefixes, after `permit` has granted the
    /// bytes that this needs in addition to `granted`.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] by `permit`, [`Error::OutOfMemory`]. The entries are unchanged then.
    #[cold]
    fn reserve_granted(
        &mut self,
        prefixes: &[u64],
        count: usize,
        mut granted: u64,
        permit: Permit,
    ) -> Result<(), Error> {
        for prefix in prefixes {
            let bytes = self.lacking_bytes(*prefix, count);
            if bytes > 0 {
                granted = granted.saturating_add(bytes);
                request(permit, Layout::Bloomline, [bytes], |_| granted)?;
                self.reserve(*prefix, count)?;
            }
        }
        Ok(())
    }
}

impl Table {
    /// The prefixes that an insertion of a hash may add to the list of a doubled table: its own,
    /// and those in the `slots` slots of this table that move with it, from `from` on.
    fn drained_prefixes(&self, from: u64, slots: u64, hash: u64) -> ArrayVec<u64, MOST_LISTED> {
        let end = from.saturating_add(slots).min(self.shape.slots());
        let mut prefixes = ArrayVec::from_iter([prefix_of(hash, &self.shape)]);
        for first in (from..end).step_by(GROUP) {
            let group = self.next_group(&mut (first..end.min(first + GROUP as u64)));
            prefixes.extend(group.into_iter().filter_map(|(_, prefix)| prefix));
        }
        prefixes
    }

    /// Moves the entries of some slots of another table with as many prefixes into this one.
    /// Returns the slot at which it stopped.
    fn take_from(&mut self, source: &mut Self, from: u64, end: u64) -> u64 {
        for first in (from..end).step_by(GROUP) {
            let after = end.min(first + GROUP as u64);
            let mut taken = 0;
            for slot in first..after {
                let value = source.value(slot);
                if value == 0 {
                    continue;
                }
                // Only a forged value can stand where no item has it: it is dropped.
                if let Some(moved) = Candidates::doubled(slot, value, &source.shape, &self.shape)
                    && self.store_doubled(&moved, Label::of(value).choice()) != StoreResult::Stored
                {
                    source.clear_range(first, slot, taken);
                    return slot;
                }
                taken += 1;
            }
            // All at once: to read a word that overlaps one just written takes as long as to store
            // an entry.
            source.clear_range(first, after, taken);
        }
        end
    }

    /// Returns memory of slots to the operating system that are empty for good, up to slot `at`,
    /// after those up to `from` were returned.
    fn release_drained(&mut self, from: u64, at: u64) {
        let steps = |slot: u64| slot * u64::from(self.shape.width) / 8 / RELEASED_BYTES;
        let (before, after) = (steps(from), steps(at));
        if before < after {
            let range = before * RELEASED_BYTES..after * RELEASED_BYTES;
            self.words.release_zeros(range.start as usize..range.end as usize);
        }
    }
}
