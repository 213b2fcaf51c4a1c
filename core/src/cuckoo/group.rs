//! Many items per call, in groups: all hashed, their slots prefetched, then taken in order.

use arrayvec::ArrayVec;

use crate::batch::Mask;
use crate::error::Error;
use crate::permit::Permit;

/// Newest tables whose slots are prefetched before items are inserted or deleted. Older ones are
/// tested only if those give no answer.
const PREFETCHED_TABLES: usize = 4;

/// Bytes from which the slots of a table are prefetched. Smaller tables are in cache.
const PREFETCH_FROM: u64 = 1 << 18;

/// One table of a filter.
pub(super) trait Slots<Key> {
    /// Bytes of the slots.
    fn bytes(&self) -> u64;

    /// Prefetches the slots of a key.
    fn prefetch(&self, key: &Key);

    /// True if a slot of the key has its fingerprint.
    fn contains(&self, key: &Key) -> bool;
}

/// A filter, and what it does with single items.
pub(super) trait Tables {
    /// What the filter computes of an item once for all tables.
    type Key: Copy;
    /// One table.
    type Table: Slots<Self::Key>;

    /// The key of an item.
    fn key(&self, item: &[u8]) -> Self::Key;

    /// The tables, oldest first.
    fn tables(&self) -> &[Self::Table];

    /// Inserts an item.
    fn insert_key(&mut self, key: &Self::Key, permit: Permit) -> Result<(), Error>;

    /// Deletes an item. False if it is not found.
    fn remove_key(&mut self, key: &Self::Key) -> bool;

    /// True if any table contains the key.
    #[inline(always)]
    fn contains_key(&self, key: &Self::Key) -> bool {
        self.tables().iter().rev().any(|table| table.contains(key))
    }

    /// Inserts an item unless the filter seems to contain it. False if it does.
    #[inline(always)]
    fn insert_new_key(&mut self, key: &Self::Key, permit: Permit) -> Result<bool, Error> {
        if self.contains_key(key) {
            return Ok(false);
        }
        self.insert_key(key, permit).map(|()| true)
    }
}

/// The keys of the items of a group.
type Keys<F> = ArrayVec<<F as Tables>::Key, { Mask::ITEMS }>;

/// Hashes the next items, as many as there is room for. False at the end.
#[inline(always)]
fn fill<F: Tables>(
    filter: &F,
    keys: &mut Keys<F>,
    items: &mut impl Iterator<Item: AsRef<[u8]>>,
) -> bool {
    keys.clear();
    for item in items.take(Mask::ITEMS) {
        // There is room: no more items are taken than that.
        let _ = keys.try_push(filter.key(item.as_ref()));
    }
    !keys.is_empty()
}

/// Prefetches the slots of some keys of a group.
#[inline(always)]
fn prefetch<K>(table: &impl Slots<K>, keys: &[K], items: Mask) {
    if table.bytes() < PREFETCH_FROM {
        return;
    }
    for key in items.filter_map(|index| keys.get(index)) {
        table.prefetch(key);
    }
}

/// Prefetches the slots of a group in the newest tables.
#[inline(always)]
fn prefetch_newest<F: Tables>(filter: &F, keys: &Keys<F>) {
    for table in filter.tables().iter().rev().take(PREFETCHED_TABLES) {
        prefetch(table, keys, Mask::below(keys.len()));
    }
}

/// Which keys of a group any table contains. The slots in a table are prefetched while the table
/// before it is tested.
#[inline(always)]
fn test_group<F: Tables>(filter: &F, keys: &Keys<F>) -> Mask {
    let all = Mask::below(keys.len());
    let mut missing = all;
    let mut tables = filter.tables().iter().rev();
    let mut next = tables.next();
    if let Some(table) = next {
        prefetch(table, keys, all);
    }
    while let Some(table) = next {
        next = tables.next();
        if let Some(next) = next {
            prefetch(next, keys, missing);
        }
        let mut found = Mask::EMPTY;
        for index in missing {
            found.insert_if(index, keys.get(index).is_some_and(|key| table.contains(key)));
        }
        missing = missing.without(found);
        if missing.is_empty() {
            break;
        }
    }
    all.without(missing)
}

/// Answers for each item in turn whether it may have been inserted.
pub(super) fn contains<F: Tables>(
    filter: &F,
    mut items: impl Iterator<Item: AsRef<[u8]>>,
    mut answer: impl FnMut(bool),
) {
    let mut keys = Keys::<F>::new();
    while fill(filter, &mut keys, &mut items) {
        let found = test_group(filter, &keys);
        (0..keys.len()).for_each(|index| answer(found.contains(index)));
    }
}

/// Inserts each item in turn; if `only_new`, only those that the filter does not seem to contain.
pub(super) fn insert<F: Tables>(
    filter: &mut F,
    mut items: impl Iterator<Item: AsRef<[u8]>>,
    only_new: bool,
    permit: Permit,
    mut answer: impl FnMut(Result<bool, Error>),
) {
    let mut keys = Keys::<F>::new();
    while fill(filter, &mut keys, &mut items) {
        prefetch_newest(filter, &keys);
        for key in &keys {
            answer(if only_new {
                filter.insert_new_key(key, permit)
            } else {
                filter.insert_key(key, permit).map(|()| true)
            });
        }
    }
}

/// Deletes each item in turn.
pub(super) fn remove<F: Tables>(
    filter: &mut F,
    mut items: impl Iterator<Item: AsRef<[u8]>>,
    mut answer: impl FnMut(bool),
) {
    let mut keys = Keys::<F>::new();
    while fill(filter, &mut keys, &mut items) {
        prefetch_newest(filter, &keys);
        keys.iter().for_each(|key| answer(filter.remove_key(key)));
    }
}
