//! The table that a compaction moves a fingerprint to: the oldest with an empty slot.

use super::fingerprint::Fingerprint;
use super::table::Table;
use crate::memory::lists::try_collect;
use crate::work;

/// Tables up to which each older one is tested for each fingerprint.
const TESTED_TABLES: usize = 8;

/// Finds the oldest table with an empty slot.
///
/// If the tables have equal numbers of buckets, the same two buckets of all tables are those of a
/// fingerprint. A compaction fills slots of older tables and empties those of one that is then
/// newer than all others that it comes to. So the oldest table that has an empty slot in a bucket
/// only becomes a newer one, and is found by one step per bucket of the filter in all. Otherwise
/// each table has at least twice the buckets of the table before, and there are few.
pub(super) struct Oldest(Option<Box<[u16]>>);

impl Oldest {
    /// The search in these tables, which are all of a filter.
    ///
    /// It takes two bytes per bucket of a table if there are more than eight tables of equal sizes:
    /// at most a quarter of the filter. If there is no memory for that, each table is tested.
    pub(super) fn of(tables: &[Table]) -> Self {
        let buckets = tables.first().map_or(0, Table::buckets);
        let is_equal = tables.last().is_some_and(|table| table.buckets() == buckets);
        if !is_equal || tables.len() <= TESTED_TABLES {
            return Self(None);
        }
        // There are at most 65,535 tables.
        Self(try_collect(buckets as usize, (0..buckets).map(|_| Ok(0))).ok())
    }

    /// Puts a fingerprint into an empty slot of the oldest of these tables, which are the oldest of
    /// the filter. False if there is none.
    pub(super) fn move_in(&mut self, tables: &mut [Table], fingerprint: &Fingerprint) -> bool {
        let Some(oldest) = &mut self.0 else {
            return tables.iter_mut().any(|table| {
                work::count(1);
                table.move_in(fingerprint)
            });
        };
        let mut target = tables.len();
        for hash in fingerprint.hashes {
            let bucket = hash as usize & oldest.len().wrapping_sub(1);
            let Some(oldest) = oldest.get_mut(bucket) else { return false };
            let newer = tables.get(usize::from(*oldest)..target).unwrap_or_default();
            let full = newer.iter().take_while(|table| !table.has_room(hash)).count();
            work::count(1 + full as u64);
            *oldest += full as u16;
            target = target.min((*oldest).into());
        }
        tables.get_mut(target).is_some_and(|table| table.move_in(fingerprint))
    }
}
