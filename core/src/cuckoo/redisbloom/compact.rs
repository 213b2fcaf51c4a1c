//! Moving fingerprints from newer tables to older ones, so that the newest can be freed.

use super::RedisBloomCuckoo;
use super::blocks::{Blocks, Kept};
use super::oldest::Oldest;
use super::table::Table;
use crate::cuckoo::Compaction;
use crate::cuckoo::tables::{Slots, Tables};
use crate::error::Error;

/// What to do if a table cannot be emptied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NotEmptied {
    /// Go on with the next older table.
    Continue,
    Stop,
}

/// Slots per deletion from which on it is worth while to count the items before a compaction: a
/// header may claim that there are few, and each deletion would be followed by a compaction.
const COUNTED_FROM: u64 = 64;

impl RedisBloomCuckoo {
    /// Moves fingerprints to older tables, and frees the newest tables that become empty.
    ///
    /// Cost: some steps per slot. If each table has more buckets than the one before, it is one per
    /// occupied slot and older table, of which there are at most 55. `Oldest`, and a bit per 64
    /// slots of a table, are allocated if there is memory for them; pages that were never touched
    /// are not read then.
    ///
    /// # Errors
    ///
    /// None.
    pub fn compact(&mut self) -> Result<Compaction, Error> {
        Ok(self.compact_tables(NotEmptied::Continue, &mut Kept::default()))
    }

    /// The same, but stops at the first table that cannot be emptied.
    ///
    /// Cost: the first compaction of a call reads all tables. For the others it is some steps per
    /// deletion and older table, since each follows deletions of a tenth of the items, and one per
    /// page of the newest table.
    #[cold]
    pub(super) fn compact_after_deletion(&mut self, kept: &mut Kept) {
        if !kept.is_counted && self.slots() / self.deletes.max(1) >= COUNTED_FROM {
            kept.is_counted = true;
            let occupied = self.tables.iter().map(Table::count_occupied).sum();
            if self.items < occupied {
                // Only a forged filter counts less.
                self.items = occupied;
                if !self.has_many_deletes() {
                    return;
                }
            }
        }
        self.compact_tables(NotEmptied::Stop, kept);
    }

    /// Compacts; `rest` decides about a table that cannot be emptied.
    fn compact_tables(&mut self, rest: NotEmptied, kept: &mut Kept) -> Compaction {
        let (before, numbers) = (self.size_bytes(), self.numbers());
        let (mut oldest, mut is_moved) = (Oldest::of(&self.tables), false);
        let mut tables = std::mem::take(&mut self.tables).into_vec();
        for index in (1..tables.len()).rev() {
            let is_newest = tables.len() == index + 1;
            let (older, newer) = tables.split_at_mut(index);
            let Some(table) = newer.first_mut() else { continue };
            let known = kept.newest.take_if(|_| is_newest);
            let mut blocks = known.unwrap_or_else(|| Blocks::of(table.words()));
            let emptied = table.move_to(older, &mut blocks, &mut oldest);
            is_moved |= emptied.is_changed;
            match (is_newest, emptied.is_empty) {
                (true, true) => _ = tables.pop(),
                (true, false) => kept.newest = Some(blocks),
                (false, _) => {}
            }
            if !emptied.is_empty && rest == NotEmptied::Stop {
                break;
            }
        }
        self.tables = tables.into_boxed_slice();
        self.deletes = 0;
        // Only a forged filter counts more items than the slots that are left.
        self.items = self.items.min(self.slots());
        Compaction {
            is_changed: is_moved || self.numbers() != numbers,
            freed: before.saturating_sub(self.size_bytes()),
        }
    }
}

/// What [`Table::move_to`] did.
#[derive(Clone, Copy)]
struct Emptied {
    /// True if no fingerprint is left.
    is_empty: bool,
    /// True if one was moved.
    is_changed: bool,
}

impl Table {
    /// Moves the fingerprints to older tables, oldest first.
    fn move_to(&mut self, older: &mut [Self], blocks: &mut Blocks, oldest: &mut Oldest) -> Emptied {
        let (mut is_empty, mut is_changed) = (true, false);
        self.each_fingerprint(blocks, |fingerprint, slot| {
            if fingerprint.is_some_and(|fingerprint| oldest.move_in(older, fingerprint)) {
                *slot = 0;
                is_changed = true;
            } else {
                is_empty = false;
            }
        });
        Emptied { is_empty, is_changed }
    }
}
