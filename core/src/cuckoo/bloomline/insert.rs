//! Finding a slot for an entry: an empty one of its four, or one that becomes empty when other
//! entries move to their other slots.
//!
//! The search is breadth-first, so that few entries move, and nothing is written before an empty
//! slot is found. There are no random numbers: the bits and the hash decide.

use arrayvec::ArrayVec;

use super::candidates::{Candidates, Label, moves};
use super::table::{PREFETCH_FROM, Table};
use crate::work;

/// The most slots that a search visits.
const MAX_VISITED: usize = 1_000;

/// The most slots that a search visits in a table with a long list. Of the different items that
/// fill such a table to its limit, 0.02 % find no slot then (measured with 98,000), and take an
/// entry of the list. With 32 visits they are 0.2 %, with 48 0.07 %.
const MAX_VISITED_SHORT: usize = 64;

/// Entries of a list from which on it is long. Different items always find a slot, so only copies
/// and chosen items make a list long; searches among chosen items fail, and would cost 1,000 visits
/// each.
const LONG_LIST: u64 = 64;

/// Why an entry is stored.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Purpose<'a> {
    /// It is inserted, and the list must have memory for it.
    Insert {
        /// Entries that will be moved into the table. With them and the new one it must not be
        /// above its limit. `None` if the limit does not matter.
        reserved: Option<u64>,
    },
    /// It is moved from the same table before it was doubled or halved. The limit already counts
    /// it.
    Take,
    /// A compaction moves it. The list gets no new entry.
    Move {
        /// True if the table must not be above its limit then.
        is_limited: bool,
        /// Visits that failing searches may still make.
        visits: &'a mut u64,
    },
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoreResult {
    Stored,
    /// The table is at its limit, or no slot becomes empty for an entry that must have one.
    NoRoom,
    /// The list needs memory for it.
    NoListMemory,
    /// The list has as many copies as it may have. Only a forged one has.
    ListFull,
}

/// An occupied slot that the search reached.
#[derive(Clone, Copy)]
struct Visit {
    slot: u64,
    /// The value of the slot, which has at most 28 bits.
    value: u32,
    /// The index of the slot from whose entry it was reached; [`NO_PARENT`] for a slot of the new
    /// entry.
    parent: u16,
    /// The label that this entry would have in the slot.
    label: Label,
}

/// How many slots ahead of the one that is searched the windows of entries are prefetched.
const AHEAD: u16 = 4;

const NO_PARENT: u16 = u16::MAX;

impl Table {
    /// Stores an entry, or changes nothing.
    ///
    /// Cost: one load per window while the table is not nearly full; some searches visit up to
    /// 1,000 slots, or 64 if the list is long.
    #[inline(always)]
    pub(super) fn store(&mut self, prefix: u64, purpose: Purpose) -> StoreResult {
        if !self.list.is_empty()
            && let Some(stored) = self.store_copy(prefix)
        {
            return stored;
        }
        let reserved = match purpose {
            Purpose::Insert { reserved } => reserved,
            Purpose::Move { is_limited: true, .. } => Some(0),
            Purpose::Move { .. } | Purpose::Take => None,
        };
        if reserved.is_some_and(|more| self.load().saturating_add(more) >= self.limit()) {
            return StoreResult::NoRoom;
        }
        let candidates = Candidates::of(prefix, &self.shape);
        if let Some(label) = self.room(&candidates).best() {
            self.fill(&candidates, label);
            return StoreResult::Stored;
        }
        self.store_by_moving(prefix, &candidates, purpose)
    }

    /// Stores an entry that is moved from the same table before it was doubled: if there is room,
    /// in its window of the same choice, which begins at about twice the slot.
    #[inline(always)]
    pub(super) fn store_doubled(&mut self, candidates: &Candidates, choice: u64) -> StoreResult {
        if self.list.is_empty()
            && let Some(label) = self.room_of_choice(candidates, choice).best()
        {
            self.fill(candidates, label);
            return StoreResult::Stored;
        }
        self.store_doubled_with_list(candidates, choice)
    }

    /// [`Table::store_doubled`] if the window is full, or if the list has entries.
    #[inline(never)]
    fn store_doubled_with_list(&mut self, candidates: &Candidates, choice: u64) -> StoreResult {
        let prefix = candidates.prefix(&self.shape);
        if let Some(stored) = self.store_copy(prefix) {
            return stored;
        }
        match self.room_of_choice(candidates, choice).best() {
            Some(label) => {
                self.fill(candidates, label);
                StoreResult::Stored
            }
            None => self.store(prefix, Purpose::Take),
        }
    }

    /// Counts a copy in the list. `None` if the list has no entry of the prefix.
    fn store_copy(&mut self, prefix: u64) -> Option<StoreResult> {
        if !self.list.contains(prefix) {
            return None;
        }
        let is_added = self.list.has_room_for(1) && self.list.add_copies(prefix, 1);
        Some(if is_added { StoreResult::Stored } else { StoreResult::ListFull })
    }

    /// Stores an entry whose slots are all occupied.
    #[cold]
    fn store_by_moving(
        &mut self,
        prefix: u64,
        candidates: &Candidates,
        mut purpose: Purpose,
    ) -> StoreResult {
        if matches!(purpose, Purpose::Move { visits: &mut 0, .. }) {
            return StoreResult::NoRoom;
        }
        if self.has_only_copies(candidates) {
            return self.store_in_list(prefix, purpose);
        }
        match self.move_others(candidates) {
            Ok(()) => StoreResult::Stored,
            Err(visited) => {
                if let Purpose::Move { visits, .. } = &mut purpose {
                    **visits = visits.saturating_sub(visited);
                }
                self.store_in_list(prefix, purpose)
            }
        }
    }

    #[cold]
    fn store_in_list(&mut self, prefix: u64, purpose: Purpose) -> StoreResult {
        match purpose {
            Purpose::Move { .. } => return StoreResult::NoRoom,
            _ if !self.list.has_room_for(1) => return StoreResult::ListFull,
            Purpose::Insert { .. } if !self.list.has_memory_for(prefix, 1) => {
                return StoreResult::NoListMemory;
            }
            Purpose::Insert { .. } | Purpose::Take => {}
        }
        self.list.insert(prefix, 1);
        StoreResult::Stored
    }

    /// The most slots that a search visits. It follows from the state of the table alone, so that
    /// replicas store entries as their primary does.
    fn max_visited(&self) -> usize {
        let is_long = self.list.len() >= LONG_LIST || !self.list.has_room_for(1);
        if is_long { MAX_VISITED_SHORT } else { MAX_VISITED }
    }

    /// Moves entries so that one of the slots becomes empty, and fills it. If the search finds no
    /// empty slot, the number of slots that it visited.
    fn move_others(&mut self, candidates: &Candidates) -> Result<(), u64> {
        let mut visited = Visited::new(self.max_visited());
        for label in Label::ALL {
            let slot = candidates.slot(label);
            let value = self.value(slot) as u32;
            let is_possible = candidates.value(label) != 0;
            visited.visit_if(is_possible, Visit { slot, value, parent: NO_PARENT, label });
        }
        let is_large = self.words.bytes() >= PREFETCH_FROM;
        let mut index = 0;
        while let Some(visit) = visited.get(index) {
            if is_large {
                self.prefetch_moves(visited.get(index + AHEAD));
            }
            if !visited.mark(index, visit.slot) {
                index += 1;
                continue;
            }
            let value = u64::from(visit.value);
            if let Some(moves) = moves(visit.slot, value, &self.shape) {
                let [(other, _), _, (sibling, _)] = moves;
                let [first, second] = self.window(other);
                let values = [first, second, self.value(sibling)];
                // An empty slot is new, since only occupied ones were visited.
                if values.contains(&0) {
                    for ((slot, label), there) in moves.into_iter().zip(values) {
                        if there == 0 && label.moved(value) != 0 {
                            let empty = Visit { slot, value: 0, parent: index, label };
                            self.shift(&visited, candidates, empty);
                            work::count(visited.len());
                            return Ok(());
                        }
                    }
                }
                for ((slot, label), there) in moves.into_iter().zip(values) {
                    let is_new = label.moved(value) != 0 && !visited.is_near(index, slot);
                    visited.visit_if(
                        is_new,
                        Visit { slot, value: there as u32, parent: index, label },
                    );
                }
            }
            index += 1;
        }
        work::count(visited.len());
        Err(visited.len())
    }

    /// Prefetches the other window of the entry in a slot.
    #[inline(always)]
    fn prefetch_moves(&self, visit: Option<Visit>) {
        if let Some(visit) = visit
            && let Some([(other, _), ..]) = moves(visit.slot, visit.value.into(), &self.shape)
        {
            self.prefetch_window(other);
        }
    }

    /// Moves each entry on the way to an empty slot by one, and the new entry into the first slot.
    fn shift(&mut self, visited: &Visited, candidates: &Candidates, empty: Visit) {
        let mut to = empty;
        while let Some(from) = visited.get(to.parent) {
            self.set(to.slot, to.label.moved(from.value.into()));
            to = from;
        }
        self.set(to.slot, candidates.value(to.label));
        self.used += 1;
    }
}

/// The slots that a search reached, in order. A slot may be among them twice, but is searched once.
struct Visited {
    visits: ArrayVec<Visit, MAX_VISITED>,
    /// The most of them.
    most: usize,
    /// The numbers of the slots that were searched, from 1 on, in a hash table with linear probing.
    small: Option<[u8; 2 * SMALL_VISITS]>,
    /// The same for more than [`SMALL_VISITS`]. To clear its 4 KiB takes as long as to visit ten
    /// slots.
    large: Option<[u16; LARGE_CELLS]>,
}

/// The first visits, which are slots of the new entry. They are few, so all are searched.
const ROOTS: usize = 4;

/// Visited slots from which on the large set is used.
const SMALL_VISITS: usize = 128;

/// More than twice the slots of the longest search.
const LARGE_CELLS: usize = 2_048;

impl Visited {
    #[inline(always)]
    fn new(most: usize) -> Self {
        Self { visits: ArrayVec::new(), most, small: None, large: None }
    }

    /// The number of slots.
    fn len(&self) -> u64 {
        self.visits.len() as u64
    }

    /// The slot with an index; `None` for [`NO_PARENT`].
    #[inline(always)]
    fn get(&self, index: u16) -> Option<Visit> {
        self.visits.get(usize::from(index)).copied()
    }

    /// True if a slot was visited just before or after the slot with an index: the slots of a
    /// window are.
    #[inline(always)]
    fn is_near(&self, index: u16, slot: u64) -> bool {
        let is_at = |index: u16| self.get(index).is_some_and(|visit| visit.slot == slot);
        is_at(index.wrapping_sub(1)) | is_at(index + 1)
    }

    /// Adds a visit if `is_new`, and if there is room. Without a branch on `is_new`, which would be
    /// mispredicted.
    #[inline(always)]
    fn visit_if(&mut self, is_new: bool, visit: Visit) {
        let len = self.visits.len();
        if len < self.most && self.visits.try_push(visit).is_ok() {
            self.visits.truncate(len + usize::from(is_new));
        }
    }

    /// Marks the slot of the visit with an index as searched. False if it was.
    #[inline(always)]
    fn mark(&mut self, index: u16, slot: u64) -> bool {
        let index = usize::from(index);
        if index < ROOTS {
            // Most searches end there.
            return true;
        }
        if index >= SMALL_VISITS {
            return self.mark_large(index, slot);
        }
        let small = self.small.get_or_insert_with(|| entered(&self.visits, ROOTS));
        enter(small, &self.visits, slot, index + 1)
    }

    /// [`Visited::mark`] in a long search.
    #[cold]
    #[inline(never)]
    fn mark_large(&mut self, index: usize, slot: u64) -> bool {
        let large = self.large.get_or_insert_with(|| entered(&self.visits, index));
        enter(large, &self.visits, slot, index + 1)
    }
}

/// A hash table of the numbers of the first visits.
#[inline(always)]
fn entered<N: Copy + Default + Into<usize> + TryFrom<usize>, const CELLS: usize>(
    visits: &[Visit],
    count: usize,
) -> [N; CELLS] {
    let mut cells = [N::default(); CELLS];
    for (number, visit) in (1..).zip(visits.iter().take(count)) {
        enter(&mut cells, visits, visit.slot, number);
    }
    cells
}

/// Enters the number of a slot into a hash table of numbers, which has an empty cell. False if the
/// slot is in it.
#[inline(always)]
fn enter<N: Copy + Into<usize> + TryFrom<usize>, const CELLS: usize>(
    cells: &mut [N; CELLS],
    visits: &[Visit],
    slot: u64,
    number: usize,
) -> bool {
    let mut at = (slot.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % CELLS;
    while let Some(cell) = cells.get_mut(at) {
        match visits.get((*cell).into().wrapping_sub(1)) {
            Some(visit) if visit.slot == slot => return false,
            Some(_) => at = (at + 1) % CELLS,
            None => {
                if let Ok(number) = N::try_from(number) {
                    *cell = number;
                }
                return true;
            }
        }
    }
    false
}
