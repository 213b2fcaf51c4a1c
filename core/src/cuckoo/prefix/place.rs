//! Finding a slot for an entry: an empty one of its four, or one that becomes empty when other
//! entries move to their other slots.
//!
//! The search is breadth-first, so that few entries move, and nothing is written before an empty
//! slot is found. There are no random numbers: the bits and the hash decide.

use arrayvec::ArrayVec;

use super::spot::{Label, Spot, moves};
use super::table::{PREFETCH_FROM, Table};
use crate::error::Error;

/// The most slots that a search visits.
const MAX_VISITED: usize = 1_000;

/// Own slots of an item from which on further copies are counted in the list.
const MAX_OWN: u32 = 3;

/// Why an entry is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It is inserted. With it and `reserved` other entries the table must not be above its limit,
    /// and the list must have memory for it.
    Insert {
        /// Entries that will be moved into the table.
        reserved: u64,
    },
    /// It is moved from a newer table, or from the same one before it is halved. The table must not
    /// be above its limit then.
    Move,
    /// It is moved from the table before its doubling. The limit already counts it.
    Drain,
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placed {
    /// It is stored.
    Stored,
    /// The table is at its limit.
    NoRoom,
    /// The list needs memory for it.
    NoListRoom,
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
    /// 1,000 slots.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] for the list. Nothing is changed then.
    #[inline(always)]
    pub(super) fn place(&mut self, prefix: u64, purpose: Purpose) -> Result<Placed, Error> {
        // Only a forged list has no room.
        if !self.list.has_room_for(1) {
            return Ok(Placed::NoRoom);
        }
        if self.list.add_copies(prefix, 1) {
            return Ok(Placed::Stored);
        }
        let reserved = match purpose {
            Purpose::Insert { reserved } => Some(reserved),
            Purpose::Move => Some(0),
            Purpose::Drain => None,
        };
        if reserved.is_some_and(|more| self.load().saturating_add(more) >= self.limit()) {
            return Ok(Placed::NoRoom);
        }
        let spot = Spot::of(prefix, &self.shape);
        if self.own(&spot).count() >= MAX_OWN {
            return self.place_in_list(prefix, purpose);
        }
        if let Some(label) = self.empty(&spot).first() {
            self.fill(&spot, label);
            return Ok(Placed::Stored);
        }
        self.place_by_moving(prefix, &spot, purpose)
    }

    /// Stores an entry whose slots are all occupied.
    #[cold]
    fn place_by_moving(
        &mut self,
        prefix: u64,
        spot: &Spot,
        purpose: Purpose,
    ) -> Result<Placed, Error> {
        if self.move_others(spot) {
            return Ok(Placed::Stored);
        }
        self.place_in_list(prefix, purpose)
    }

    /// Stores an entry in the list.
    #[cold]
    fn place_in_list(&mut self, prefix: u64, purpose: Purpose) -> Result<Placed, Error> {
        if matches!(purpose, Purpose::Insert { .. }) && !self.list.has_memory_for(prefix) {
            return Ok(Placed::NoListRoom);
        }
        self.list.insert(prefix).map(|()| Placed::Stored)
    }

    /// Moves entries so that one of the slots becomes empty, and fills it. False if the search finds
    /// no empty slot.
    fn move_others(&mut self, spot: &Spot) -> bool {
        let mut visited = Visited::new();
        for label in Label::ALL {
            if spot.value(label) != 0 {
                let slot = spot.slot(label);
                visited.visit(slot, self.value(slot), NO_PARENT, label);
            }
        }
        let is_large = self.words.bytes() >= PREFETCH_FROM;
        let mut index = 0;
        while let Some(visit) = visited.get(index) {
            if is_large {
                self.prefetch_moves(visited.get(index + AHEAD));
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
                            self.shift(&visited, spot, empty);
                            return true;
                        }
                    }
                }
                for ((slot, label), there) in moves.into_iter().zip(values) {
                    if label.moved(value) != 0 && !visited.is_near(index, slot) {
                        visited.visit(slot, there, index, label);
                    }
                }
            }
            index += 1;
        }
        false
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
    fn shift(&mut self, visited: &Visited, spot: &Spot, empty: Visit) {
        let mut to = empty;
        while let Some(from) = visited.get(to.parent) {
            self.set(to.slot, to.label.moved(from.value.into()));
            to = from;
        }
        self.set(to.slot, spot.value(to.label));
        self.count_one();
    }
}

/// The slots that a search reached, in order.
struct Visited {
    visits: ArrayVec<Visit, MAX_VISITED>,
    /// A bit for the low bits of each slot, so that most slots are known to be new at once.
    small: [u64; SMALL_WORDS],
    /// The same for a longer search, which begins to use it at [`SMALL_VISITS`]: 4 KiB, of which
    /// 1,000 slots set 3 %. To clear it takes as long as half a search.
    large: Option<[u64; LARGE_WORDS]>,
}

const SMALL_WORDS: usize = 32;
const LARGE_WORDS: usize = 512;

/// Visited slots from which on the small set is not used.
const SMALL_VISITS: usize = 160;

impl Visited {
    #[inline(always)]
    fn new() -> Self {
        Self { visits: ArrayVec::new(), small: [0; SMALL_WORDS], large: None }
    }

    /// The slot with an index; `None` for [`NO_PARENT`].
    #[inline(always)]
    fn get(&self, index: u16) -> Option<Visit> {
        self.visits.get(usize::from(index)).copied()
    }

    /// True if a slot was visited just before or after the slot with an index: the slots of a window
    /// are.
    #[inline(always)]
    fn is_near(&self, index: u16, slot: u64) -> bool {
        let is_at = |index: u16| self.get(index).is_some_and(|visit| visit.slot == slot);
        is_at(index.wrapping_sub(1)) | is_at(index + 1)
    }

    /// Adds a slot, if it is new and there is room.
    #[inline(always)]
    fn visit(&mut self, slot: u64, value: u64, parent: u16, label: Label) {
        if self.visits.len() == SMALL_VISITS && self.large.is_none() {
            self.enlarge();
        }
        let seen = match &mut self.large {
            None => self.small.get_mut(slot as usize / 64 % SMALL_WORDS),
            Some(large) => large.get_mut(slot as usize / 64 % LARGE_WORDS),
        };
        let Some(seen) = seen else { return };
        let bit = 1 << (slot % 64);
        if *seen & bit != 0 && self.visits.iter().any(|visit| visit.slot == slot) {
            return;
        }
        if self.visits.try_push(Visit { slot, value: value as u32, parent, label }).is_ok() {
            *seen |= bit;
        }
    }

    #[cold]
    fn enlarge(&mut self) {
        let large = self.large.insert([0; LARGE_WORDS]);
        for visit in &self.visits {
            if let Some(word) = large.get_mut(visit.slot as usize / 64 % LARGE_WORDS) {
                *word |= 1 << (visit.slot % 64);
            }
        }
    }
}
