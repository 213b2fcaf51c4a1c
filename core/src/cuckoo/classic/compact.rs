//! Moving fingerprints from newer tables to older ones, so that the newest can be freed.

use super::ClassicCuckoo;
use super::key::Key;
use super::table::Table;
use crate::cuckoo::tables::Tables;

/// What to do if a table cannot be emptied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// Go on with the next older table.
    Continue,
    /// Stop.
    Stop,
}

impl ClassicCuckoo {
    /// Moves fingerprints to older tables, and frees the newest tables that become empty. Returns
    /// the number of bytes that were freed, as `size_bytes` counts them.
    ///
    /// Cost: one step per slot of all tables but the first, and one per occupied slot and older
    /// table.
    pub fn compact(&mut self) -> u64 {
        self.compact_tables(Rest::Continue)
    }

    /// The same, but stops at the first table that cannot be emptied.
    pub(super) fn compact_after_deletion(&mut self) {
        self.compact_tables(Rest::Stop);
    }

    /// Compacts; `rest` decides about a table that cannot be emptied.
    fn compact_tables(&mut self, rest: Rest) -> u64 {
        let before = self.size_bytes();
        let mut tables = std::mem::take(&mut self.tables).into_vec();
        for index in (1..tables.len()).rev() {
            let (older, newer) = tables.split_at_mut(index);
            let is_emptied = newer.first_mut().is_some_and(|table| empty(table, older));
            if is_emptied && tables.len() == index + 1 {
                tables.pop();
            }
            if !is_emptied && rest == Rest::Stop {
                break;
            }
        }
        self.tables = tables.into_boxed_slice();
        self.deletes = 0;
        // Only a forged filter counts more items than the slots that are left.
        self.items = self.items.min(self.slots());
        before - self.size_bytes()
    }
}

/// Moves the fingerprints of a table to older ones, oldest first. True if none is left.
fn empty(table: &mut Table, older: &mut [Table]) -> bool {
    let mut is_emptied = true;
    for hash in 0..table.buckets() {
        for slot in table.bucket_mut(hash).iter_mut().filter(|slot| **slot != 0) {
            let key = Key::at(*slot, hash);
            if older.iter_mut().any(|table| table.replace(&key, 0, key.fingerprint)) {
                *slot = 0;
            } else {
                is_emptied = false;
            }
        }
    }
    is_emptied
}
