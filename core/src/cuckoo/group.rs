//! Many items per call, in groups: all hashed, their slots prefetched, then taken in order.

use arrayvec::ArrayVec;

use super::tables::{Effort, HashOf, Slots, Tables};
use crate::error::Error;
use crate::mask::Mask;
use crate::permit::Permit;

/// Newest tables whose slots are prefetched before items are searched for. Older ones are tested
/// only if those give no answer.
const PREFETCHED_TABLES: usize = 4;

/// Bytes from which the slots of a table are prefetched. Smaller tables are in cache.
const PREFETCH_FROM: u64 = 1 << 19;

/// The hashes of the items of a group.
type Hashes<F> = ArrayVec<HashOf<F>, { Mask::ITEMS }>;

/// Hashes the next items, as many as there is room for. False at the end.
#[inline(always)]
fn fill<F: Tables>(
    filter: &F,
    hashes: &mut Hashes<F>,
    items: &mut impl Iterator<Item: AsRef<[u8]>>,
) -> bool {
    hashes.clear();
    for item in items.take(Mask::ITEMS) {
        // There is room: no more items are taken than that.
        let _ = hashes.try_push(filter.hash(item.as_ref()));
    }
    !hashes.is_empty()
}

/// Prefetches the slots of some hashes of a group.
#[inline(always)]
fn prefetch<T: Slots>(table: &T, hashes: &[T::Hash], items: Mask) {
    if table.words().bytes() < PREFETCH_FROM {
        return;
    }
    for hash in items.into_iter().filter_map(|index| hashes.get(index)) {
        table.prefetch(hash);
    }
}

/// Prefetches the slots of a group in the newest tables.
#[inline(always)]
fn prefetch_newest<F: Tables>(filter: &F, hashes: &Hashes<F>, tables: usize) {
    for table in filter.list().iter().rev().take(tables) {
        prefetch(table, hashes, Mask::below(hashes.len()));
    }
}

/// Which hashes of a group any table contains. The slots in a table are prefetched while the table
/// before it is tested.
#[inline(always)]
fn test_group<F: Tables>(filter: &F, hashes: &Hashes<F>) -> Mask {
    let all = Mask::below(hashes.len());
    let mut missing = all;
    let mut tables = filter.list().iter().rev();
    let mut next = tables.next();
    if let Some(table) = next {
        prefetch(table, hashes, all);
    }
    while let Some(table) = next {
        next = tables.next();
        if let Some(next) = next {
            prefetch(next, hashes, missing);
        }
        let mut found = Mask::EMPTY;
        for index in missing {
            found.insert_if(index, hashes.get(index).is_some_and(|hash| table.contains(hash)));
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
    let mut hashes = Hashes::<F>::new();
    while fill(filter, &mut hashes, &mut items) {
        let found = test_group(filter, &hashes);
        (0..hashes.len()).for_each(|index| answer(found.contains(index)));
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
    let (mut hashes, mut effort) = (Hashes::<F>::new(), Effort::default());
    // Most items go into the newest table, and no other is tested.
    let tables = if only_new { PREFETCHED_TABLES } else { 1 };
    while fill(filter, &mut hashes, &mut items) {
        prefetch_newest(filter, &hashes, tables);
        for hash in &hashes {
            answer(if only_new {
                filter.insert_new_hash(hash, &mut effort, permit)
            } else {
                filter.insert_hash(hash, &mut effort, permit).map(|()| true)
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
    let (mut hashes, mut kept) = (Hashes::<F>::new(), F::Kept::default());
    while fill(filter, &mut hashes, &mut items) {
        prefetch_newest(filter, &hashes, PREFETCHED_TABLES);
        hashes.iter().for_each(|hash| answer(filter.remove_hash(hash, &mut kept)));
    }
}
