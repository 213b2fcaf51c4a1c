//! Moving fingerprints from newer tables to older ones, so that the newest can be freed.

use super::RedisBloomCuckoo;
use super::blocks::{Blocks, Kept};
use super::table::Table;
use crate::cuckoo::tables::{Slots, Tables};
use crate::cuckoo::{Compaction, work};
use crate::error::Error;

/// What to do if a table cannot be emptied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NotEmptied {
    /// Go on with the next older table.
    Continue,
    Stop,
}

/// Tests of a table for room that a compaction may make: per slot, and besides. Filters with
/// thousands of tables need more; what is left then stays where it is.
const TESTS_PER_SLOT: u64 = 64;
const MORE_TESTS: u64 = 1 << 24;

/// Slots per deletion from which on it is worth while to count the items before a compaction: a
/// header may claim that there are few, and each deletion would be followed by a compaction.
const COUNTED_FROM: u64 = 64;

impl RedisBloomCuckoo {
    /// Moves fingerprints to older tables, and frees the newest tables that become empty.
    ///
    /// Cost: one step per slot of all tables but the first, and one per occupied slot and older
    /// table with room, at most 64 per slot and 2^24. A bit per 64 slots of a table is allocated
    /// if there is memory for that; pages that were never touched are not read then.
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
        let mut tests = self.slots().saturating_mul(TESTS_PER_SLOT).saturating_add(MORE_TESTS);
        let (mut full, mut is_moved) = (0, false);
        let mut tables = std::mem::take(&mut self.tables).into_vec();
        for index in (1..tables.len()).rev() {
            let is_newest = tables.len() == index + 1;
            let (older, newer) = tables.split_at_mut(index);
            full += older.iter().skip(full).take_while(|table| table.is_full()).count();
            let older = older.get_mut(full..).unwrap_or_default();
            let Some(table) = newer.first_mut() else { continue };
            let known = kept.newest.take_if(|_| is_newest);
            let mut blocks = known.unwrap_or_else(|| Blocks::of(table.words()));
            let emptied = table.move_to(older, &mut blocks, &mut tests);
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
    /// Moves the fingerprints to older tables, oldest first. `tests` are those of tables that may
    /// still be made.
    fn move_to(&mut self, older: &mut [Self], blocks: &mut Blocks, tests: &mut u64) -> Emptied {
        let (mut left, mut is_changed) = (0u64, false);
        self.each_fingerprint(blocks, |fingerprint, slot| {
            let mut tested = 0;
            let mut move_in = |fingerprint| {
                older.iter_mut().take(*tests as usize).any(|table| {
                    tested += 1;
                    table.move_in(fingerprint)
                })
            };
            let is_moved = fingerprint.is_some_and(&mut move_in);
            work::count(tested);
            *tests -= tested;
            if is_moved {
                *slot = 0;
                is_changed = true;
            } else {
                left += 1;
            }
        });
        Emptied { is_empty: left == 0, is_changed }
    }
}
