//! Moving entries from newer tables to older ones, and halving tables.
//!
//! What a compaction does follows from the filter alone, so that it is the same on replicas. It
//! never makes a filter larger: an entry that would need a new entry of a list stays where it is,
//! unless a table is freed for it that is larger.

use arrayvec::ArrayVec;

use super::BloomlineCuckoo;
use super::candidates::Candidates;
use super::insert::{Purpose, StoreResult};
use super::list::{ENTRY_BYTES, Entry};
use super::plan::{MAX_END, MAX_TABLES};
use super::table::Table;
use crate::cuckoo::Compaction;
use crate::cuckoo::tables::{Slots, Tables};
use crate::error::Error;
use crate::memory::lists::try_collect;
use crate::memory::words::Words;

/// Sweeps over a table that is emptied: the first takes the slots 0, 64 and so on. In the order of
/// the slots, and so of their prefixes, entries would fill a small older table from one end, and
/// searches there would fail until its limit is reached; see docs/explanation/performance.md.
const SWEEPS: u64 = 64;

/// Visits that failing searches may make: per slot, and besides. In a filter of different items no
/// search fails. After that, entries only move to slots that are empty.
const VISITS_PER_SLOT: u64 = 8;
const MORE_VISITS: u64 = 1 << 16;

/// New entries for which the list of each table has memory before anything changes, besides those
/// of newer lists. Different items need none, and items of more than five copies are listed before.
const LISTED: u64 = 511;

/// Sizes that are tried for a halved table, the smallest first. One that is rejected costs as much
/// as one that is taken.
const HALVINGS_TRIED: usize = 4;

impl BloomlineCuckoo {
    /// Finishes a doubling, moves entries to older tables, drops tables that become empty, and
    /// halves tables as long as their entries fit. The filter never gets larger.
    ///
    /// No rate for life changes: a halved table has as many prefixes as before.
    ///
    /// Cost: one step per slot, and one per entry and older table. A halved table is built beside
    /// the old one, in memory that is allocated before anything is changed, as is that of lists:
    /// for all entries of newer lists, and for 511 others per table. Only items of three to five
    /// copies each can need more. The process ends if there is no memory for a further segment of
    /// such a list, of 16 KiB.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]. The filter is unchanged then.
    pub fn compact(&mut self) -> Result<Compaction, Error> {
        let halves = self.halves()?;
        let reserved = self.reserve_lists();
        let compacted = reserved.map(|()| self.compact_in(halves));
        self.tables.iter_mut().for_each(|table| table.list.drop_spares());
        compacted
    }

    /// Makes room in each list for the entries that it may get.
    fn reserve_lists(&mut self) -> Result<(), Error> {
        let mut newer = 0u64;
        for table in self.tables.iter_mut().rev() {
            table.list.add_spares(newer + LISTED)?;
            newer += table.list.len();
        }
        Ok(())
    }

    /// Compacts, with memory for halved tables.
    fn compact_in(&mut self, mut halves: Vec<Option<Words>>) -> Compaction {
        let before = self.size_bytes();
        let slots = self.tables.iter().map(|table| table.shape.slots());
        let slots = slots.fold(0, u64::saturating_add);
        let mut visits = slots.saturating_mul(VISITS_PER_SLOT).saturating_add(MORE_VISITS);
        let mut is_changed = self.deletes != 0;
        self.deletes = 0;
        is_changed |= self.finish_doubling(&mut halves, &mut visits);
        if self.doubling_at.is_none() {
            is_changed |= self.move_to_older(&mut halves, &mut visits);
            is_changed |= self.halve(halves);
        }
        Compaction { is_changed, freed: before.saturating_sub(self.size_bytes()) }
    }

    /// For each table that may be halved, memory of half of its size.
    ///
    /// A table whose entries are too many for that, even if older tables take all that they have
    /// room for, is not halved.
    fn halves(&self) -> Result<Vec<Option<Words>>, Error> {
        let (mut room, source) = (0u64, self.source_index());
        let halves = self.tables.iter().enumerate().map(|(index, table)| {
            let half = table.shape.halved(1).filter(|half| {
                Some(index) != source
                    && table.load().saturating_sub(room) <= half.limit()
                    && half.bytes() < table.shape.bytes()
            });
            room = room.saturating_add(table.limit().saturating_sub(table.load()));
            half.map(|half| Words::zeroed(half.words())).transpose()
        });
        try_collect(self.tables.len(), halves).map(<[_]>::into_vec)
    }

    /// Finishes a doubling. True if anything has changed.
    ///
    /// Entries that find no slot go to the list in the end, if the table that is freed is larger
    /// than its new entries. Otherwise the doubling goes on with them.
    fn finish_doubling(&mut self, halves: &mut Vec<Option<Words>>, visits: &mut u64) -> bool {
        let Some(from) = self.doubling_at else { return false };
        let [.., source, target] = &mut *self.tables else { return false };
        let used = source.used;
        let left = target.take_all(source, from, visits);
        if source.used * ENTRY_BYTES < source.memory_bytes() + Self::TABLE_BYTES
            && target.list.has_room_for(source.used)
        {
            source.each_prefix(|prefix| target.list.add(prefix));
            halves.remove(self.tables.len() - 2);
            self.drop_source();
            return true;
        }
        let is_changed = source.used != used || left != from;
        self.doubling_at = Some(left);
        is_changed
    }

    /// Moves entries to older tables, and drops the tables that become empty. True if anything has
    /// changed.
    fn move_to_older(&mut self, halves: &mut Vec<Option<Words>>, visits: &mut u64) -> bool {
        let mut is_changed = false;
        let mut tables = std::mem::take(&mut self.tables).into_vec();
        for index in (1..tables.len()).rev() {
            let (older, newer) = tables.split_at_mut(index);
            let Some(table) = newer.first_mut() else { continue };
            is_changed |= table.move_to(older, visits);
            if table.load() == 0 {
                tables.remove(index);
                halves.remove(index);
                is_changed = true;
            }
        }
        self.tables = tables.into_boxed_slice();
        is_changed
    }

    /// Halves tables. Then all tables get a new place in the bytes of the filter, so that no chunk
    /// of the old tables can be loaded. True if a table was halved.
    fn halve(&mut self, halves: Vec<Option<Words>>) -> bool {
        let bytes = self.tables.iter().map(|table| table.shape.bytes());
        // Halving makes no table larger.
        if bytes.fold(self.end, u64::saturating_add) > MAX_END {
            return false;
        }
        let mut is_halved = false;
        for (table, words) in self.tables.iter_mut().zip(halves) {
            is_halved |= words.is_some_and(|words| table.halve(words));
        }
        if is_halved {
            for table in &mut self.tables {
                table.start = self.end;
                self.end = table.end();
            }
        }
        is_halved
    }
}

impl Table {
    /// Moves the entries of a table with as many prefixes into slots of this one, or to copies in
    /// its list. Returns the first slot whose entry finds no room; all before it are empty.
    fn take_all(&mut self, source: &mut Self, from: u64, visits: &mut u64) -> u64 {
        let mut left = None;
        let end = source.shape.slots();
        let mut slots = from..end;
        loop {
            let group = source.next_group(&mut slots);
            if group.is_empty() {
                return left.unwrap_or(end - 1);
            }
            self.prefetch_group(group.iter().filter_map(|&(_, prefix)| prefix));
            for (slot, prefix) in group {
                let is_taken = prefix.is_none_or(|prefix| {
                    let purpose = Purpose::Move { is_limited: false, visits: &mut *visits };
                    self.store(prefix, purpose) == StoreResult::Stored
                });
                // Only a forged value can stand there: it is dropped.
                if is_taken {
                    source.clear(slot);
                } else {
                    left = left.or(Some(slot));
                }
            }
        }
    }

    /// Calls `see` with each prefix in a slot.
    fn each_prefix(&self, mut see: impl FnMut(u64)) {
        let mut slots = self.touched_slots();
        loop {
            let group = self.next_group(&mut slots);
            if group.is_empty() {
                return;
            }
            group.iter().filter_map(|&(_, prefix)| prefix).for_each(&mut see);
        }
    }

    /// The prefix that an older table has for a prefix of this one.
    fn cut(&self, prefix: u64, older: &Self) -> u64 {
        // The prefixes of an older table divide those of a newer one.
        prefix / (self.shape.prefixes() / older.shape.prefixes())
    }

    /// Moves entries to older tables, the oldest first. True if anything has changed.
    fn move_to(&mut self, older: &mut [Self], visits: &mut u64) -> bool {
        let before = self.items();
        let mut list = std::mem::take(&mut self.list);
        list.change(|entry| self.move_copies(entry, older, visits));
        self.list = list;
        if self.used == 0 {
            return self.items() != before;
        }
        let end = self.shape.slots();
        let mut slots = (0..SWEEPS).flat_map(|first| (first..end).step_by(SWEEPS as usize));
        loop {
            let group = self.next_group(&mut slots);
            if group.is_empty() {
                break;
            }
            if let Some(oldest) = older.first() {
                let prefixes = group.iter().filter_map(|&(_, prefix)| prefix);
                oldest.prefetch_group(prefixes.map(|prefix| self.cut(prefix, oldest)));
            }
            for (slot, prefix) in group {
                let is_moved = prefix.is_some_and(|prefix| {
                    older.iter_mut().any(|table| {
                        let purpose = Purpose::Move { is_limited: true, visits: &mut *visits };
                        table.store(self.cut(prefix, table), purpose) == StoreResult::Stored
                    })
                });
                if is_moved {
                    self.clear(slot);
                }
            }
        }
        self.move_last_copies(older);
        self.items() != before
    }

    /// Moves the copies of an entry of the list, and leaves those that find no room. An older list
    /// takes the entry itself, which makes the filter no larger.
    fn move_copies(&self, entry: &mut Entry, older: &mut [Self], visits: &mut u64) {
        for table in older {
            let cut = self.cut(entry.prefix, table);
            if !table.list.contains(cut) {
                let mut store = || {
                    let purpose = Purpose::Move { is_limited: true, visits: &mut *visits };
                    table.store(cut, purpose) == StoreResult::Stored
                };
                while entry.copies != 0 && store() {
                    entry.copies -= 1;
                }
                if entry.copies == 0 {
                    return;
                }
            }
            let may_list = table.list.contains(cut) || table.load() < table.limit();
            if may_list && table.takes_copies(cut, entry.copies) {
                table.list.add_some(cut, entry.copies);
                entry.copies = 0;
                return;
            }
        }
    }

    /// True if copies of a prefix belong into the list, and it may have that many more.
    fn takes_copies(&self, prefix: u64, copies: u64) -> bool {
        let is_own = || self.has_only_copies(&Candidates::of(prefix, &self.shape));
        self.list.has_room_for(copies) && (self.list.contains(prefix) || is_own())
    }

    /// Moves all entries to lists of older tables, if they are only copies there, and if this table
    /// is larger than the new entries.
    fn move_last_copies(&mut self, older: &mut [Self]) {
        let left = self.used;
        let bytes = self.memory_bytes() + BloomlineCuckoo::TABLE_BYTES;
        if left == 0 || !self.list.is_empty() || left * ENTRY_BYTES >= bytes {
            return;
        }
        let has_room = |table: &Self| table.load().saturating_add(left) <= table.limit();
        let mut takers: ArrayVec<&mut Self, MAX_TABLES> =
            older.iter_mut().filter(|table| has_room(table)).collect();
        let mut copies = 0;
        self.each_prefix(|prefix| {
            let takes = |table: &&mut Self| table.takes_copies(self.cut(prefix, table), left);
            copies += u64::from(takers.iter().any(takes));
        });
        if copies != left {
            return;
        }
        self.each_prefix(|prefix| {
            let takes = |table: &&mut &mut Self| table.takes_copies(self.cut(prefix, table), 1);
            if let Some(table) = takers.iter_mut().find(takes) {
                table.list.add(self.cut(prefix, table));
            }
        });
        self.clear_range(0, self.shape.slots(), self.used);
    }

    /// Moves the entries into `words`, as a table of as few windows as possible, unless the list
    /// would take as many bytes more as the slots take less. False if no such table takes them.
    fn halve(&mut self, words: Words) -> bool {
        let (load, bytes) = (self.load(), self.shape.bytes());
        let sizes = (1..=u64::BITS as u8).rev().filter_map(|halvings| self.shape.halved(halvings));
        let sizes = sizes.filter(|shape| load <= shape.limit() && shape.bytes() < bytes);
        let list = std::mem::take(&mut self.list);
        let mut halved = Self { words, list, used: 0, ..*self };
        for shape in sizes.take(HALVINGS_TRIED) {
            (halved.shape, halved.limit) = (shape, shape.limit());
            if halved.take_halved(self, (bytes - shape.bytes()).div_ceil(ENTRY_BYTES)) {
                halved.words.truncate(shape.words());
                *self = halved;
                return true;
            }
        }
        self.list = halved.list;
        false
    }

    /// Copies the entries of a larger table into this one, which is empty. False if the list would
    /// get `most` entries or more; then the table is as it was.
    fn take_halved(&mut self, larger: &Self, most: u64) -> bool {
        let (listed, mut taken) = (self.list.len(), 0);
        let mut slots = larger.touched_slots();
        loop {
            let group = larger.next_group(&mut slots);
            if group.is_empty() {
                return true;
            }
            self.prefetch_group(group.iter().filter_map(|&(_, prefix)| prefix));
            for prefix in group.into_iter().filter_map(|(_, prefix)| prefix) {
                if self.store(prefix, Purpose::Take) != StoreResult::Stored {
                    self.remove_first(larger, taken);
                    return false;
                }
                taken += 1;
                if self.list.len() - listed >= most {
                    self.remove_first(larger, taken);
                    return false;
                }
            }
        }
    }

    /// Removes the first `count` entries of another table, all of which are in this one. No slot is
    /// occupied by others, so what is left is the list as it was.
    fn remove_first(&mut self, larger: &Self, mut count: u64) {
        larger.each_prefix(|prefix| {
            if count == 0 {
                return;
            }
            count -= 1;
            match self.own(&Candidates::of(prefix, &self.shape)).first() {
                Some(label) => self.clear(Candidates::of(prefix, &self.shape).slot(label)),
                None => _ = self.list.remove(prefix),
            }
        });
    }
}
