//! Moving entries from newer tables to older ones, and halving tables.

use super::CuckooFilter;
use super::list::Entry;
use super::place::{Placed, Purpose};
use super::plan::MAX_END;
use super::table::Table;
use crate::cuckoo::tables::Tables;

/// Sweeps over a table that is emptied: the first takes the slots 0, 64 and so on. In the order of
/// the slots, and so of their prefixes, entries would fill a small older table from one end, and
/// searches there would fail until its limit is reached: 1.9 s for ten million slots.
const SWEEPS: u64 = 64;

impl CuckooFilter {
    /// Finishes a doubling, moves entries to older tables, drops tables that become empty, and
    /// halves tables as long as their entries fit. Returns the number of bytes that were freed, as
    /// `size_bytes` counts them.
    ///
    /// No rate for life changes: a halved table has as many prefixes as before.
    ///
    /// Cost: one step per slot, and one per entry and older table. A halved table is built beside
    /// the old one; if there is no memory for it, the old one stays.
    pub fn compact(&mut self) -> u64 {
        let before = self.size_bytes();
        if self.drain(u64::MAX) {
            self.move_to_older();
            self.halve();
        }
        self.deletes = 0;
        before.saturating_sub(self.size_bytes())
    }

    /// Moves entries to older tables, and drops the tables that become empty.
    fn move_to_older(&mut self) {
        let mut tables = std::mem::take(&mut self.tables).into_vec();
        for index in (1..tables.len()).rev() {
            let (older, newer) = tables.split_at_mut(index);
            if newer.first_mut().is_some_and(|table| table.move_to(older)) {
                tables.remove(index);
            }
        }
        self.tables = tables.into_boxed_slice();
    }

    /// Halves tables. Then all tables get a new place in the bytes of the filter, so that no chunk
    /// of the old tables can be loaded.
    fn halve(&mut self) {
        let bytes = self.tables.iter().map(|table| table.shape.bytes());
        // Halving makes no table larger.
        if bytes.fold(self.end, u64::saturating_add) > MAX_END {
            return;
        }
        let mut is_halved = false;
        for table in &mut self.tables {
            if let Some(halved) = table.halved() {
                *table = halved;
                is_halved = true;
            }
        }
        if is_halved {
            for table in &mut self.tables {
                table.start = self.end;
                self.end = table.end();
            }
        }
    }
}

impl Table {
    /// Moves entries to older tables, the oldest first. True if none is left.
    fn move_to(&mut self, older: &mut [Self]) -> bool {
        let mut is_empty = true;
        let end = self.shape.slots();
        let mut slots = (0..SWEEPS).flat_map(|first| (first..end).step_by(SWEEPS as usize));
        loop {
            let group = self.next_group(&mut slots);
            if group.is_empty() {
                break;
            }
            if let Some(oldest) = older.first() {
                let divisor = self.shape.prefixes() / oldest.shape.prefixes();
                oldest.prefetch_group(
                    group.iter().filter_map(|(_, prefix)| Some((*prefix)? / divisor)),
                );
            }
            for (slot, prefix) in group {
                if prefix.is_some_and(|prefix| self.move_one(prefix, older).is_some()) {
                    self.clear(slot);
                } else {
                    is_empty = false;
                }
            }
        }
        let mut list = std::mem::take(&mut self.list);
        list.change(|entry| self.move_copies(entry, older));
        self.list = list;
        is_empty && self.list.is_empty()
    }

    /// Copies a prefix of this table to the oldest table with room. The index of that table, and
    /// the prefix there.
    fn move_one(&self, prefix: u64, older: &mut [Self]) -> Option<(usize, u64)> {
        for (index, table) in older.iter_mut().enumerate() {
            // The prefixes of an older table divide those of a newer one.
            let cut = prefix / (self.shape.prefixes() / table.shape.prefixes());
            if table.place(cut, Purpose::Move) == Ok(Placed::Stored) {
                return Some((index, cut));
            }
        }
        None
    }

    /// Moves the copies of an entry of the list, and leaves those that find no room.
    fn move_copies(&self, entry: &mut Entry, older: &mut [Self]) {
        while entry.copies != 0 {
            let Some((index, cut)) = self.move_one(entry.prefix, older) else { return };
            entry.copies -= 1;
            // Once the prefix is in a list, further copies are only counted. At most three copies
            // come before that in each table.
            let Some(table) = older.get_mut(index) else { return };
            if table.list.contains(cut) {
                if table.list.has_room_for(entry.copies) {
                    table.list.add_copies(cut, entry.copies);
                    entry.copies = 0;
                }
                return;
            }
        }
    }

    /// The table with as few windows as possible; `None` if no smaller one takes the entries.
    fn halved(&self) -> Option<Self> {
        (1..=u64::BITS as u8).rev().find_map(|halvings| {
            let shape = self.shape.halved(halvings)?;
            if self.load() > shape.limit() || shape.bytes() >= self.shape.bytes() {
                return None;
            }
            let list = self.list.try_clone().ok()?;
            let mut table = Self::zeroed(shape, 0, self.start, list).ok()?;
            let mut slots = 0..self.shape.slots();
            loop {
                let group = self.next_group(&mut slots);
                if group.is_empty() {
                    return Some(table);
                }
                table.prefetch_group(group.iter().filter_map(|&(_, prefix)| prefix));
                for prefix in group.into_iter().filter_map(|(_, prefix)| prefix) {
                    if table.place(prefix, Purpose::Move) != Ok(Placed::Stored) {
                        return None;
                    }
                }
            }
        })
    }
}
