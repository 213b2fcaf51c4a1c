//! Many items per call, in groups: all hashed, their buckets prefetched, then taken in order.

use arrayvec::ArrayVec;

use super::ClassicCuckoo;
use super::key::Key;
use crate::batch::Mask;
use crate::error::Error;
use crate::spec::Permit;

/// Newest tables whose buckets are prefetched before items are inserted. An insertion tests the
/// older ones only if its buckets there are full.
const PREFETCHED_TABLES: usize = 4;

/// The keys of the items of a group.
type Keys = ArrayVec<Key, { Mask::ITEMS }>;

/// Hashes the next items, as many as there is room for. False at the end.
#[inline(always)]
fn fill(keys: &mut Keys, items: &mut impl Iterator<Item: AsRef<[u8]>>) -> bool {
    keys.clear();
    for item in items.take(Mask::ITEMS) {
        // There is room: no more items are taken than that.
        let _ = keys.try_push(Key::of(item.as_ref()));
    }
    !keys.is_empty()
}

impl ClassicCuckoo {
    /// Answers for each item in turn whether it may have been inserted.
    pub fn contains_batch(
        &self,
        mut items: impl Iterator<Item: AsRef<[u8]>>,
        mut answer: impl FnMut(bool),
    ) {
        let mut keys = Keys::new();
        while fill(&mut keys, &mut items) {
            let found = self.test_group(&keys);
            for index in 0..keys.len() {
                answer(found.contains(index));
            }
        }
    }

    /// Which keys of a group any table contains. The buckets in a table are prefetched while the
    /// table before it is tested.
    #[inline(always)]
    fn test_group(&self, keys: &Keys) -> Mask {
        let all = Mask::below(keys.len());
        let mut missing = all;
        let mut tables = self.tables.iter().rev();
        let mut next = tables.next();
        if let Some(table) = next {
            table.prefetch_all(keys, all);
        }
        while let Some(table) = next {
            next = tables.next();
            if let Some(next) = next {
                next.prefetch_all(keys, missing);
            }
            missing = missing.without(table.test_all(keys, missing));
            if missing.is_empty() {
                break;
            }
        }
        all.without(missing)
    }

    /// Inserts each item in turn and answers as [`ClassicCuckoo::insert`] does, with true; if
    /// `only_new`, as [`ClassicCuckoo::insert_new`].
    ///
    /// After an error the remaining items are tried all the same.
    pub fn insert_batch(
        &mut self,
        mut items: impl Iterator<Item: AsRef<[u8]>>,
        only_new: bool,
        permit: Permit,
        mut answer: impl FnMut(Result<bool, Error>),
    ) {
        let mut keys = Keys::new();
        while fill(&mut keys, &mut items) {
            let all = Mask::below(keys.len());
            for table in self.tables.iter().rev().take(PREFETCHED_TABLES) {
                table.prefetch_all(&keys, all);
            }
            for key in &keys {
                answer(if only_new {
                    self.insert_new_key(key, permit)
                } else {
                    self.insert_key(key, permit).map(|()| true)
                });
            }
        }
    }
}
