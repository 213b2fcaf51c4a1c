//! Finding a slot for an entry: an empty one of its four, or one that becomes empty when other
//! entries move to their other slots.
//!
//! The search is breadth-first, so that few entries move, and nothing is written before an empty
//! slot is found. There are no random numbers: the bits and the hash decide.

use arrayvec::ArrayVec;

use super::spot::{Label, Spot};
use super::table::Table;
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

/// A slot that the search reached.
#[derive(Clone, Copy)]
struct Visit {
    slot: u64,
    /// The index of the slot from whose entry it was reached; [`NO_PARENT`] for a slot of the new
    /// entry.
    parent: u16,
    /// The label that this entry would have in the slot.
    label: Label,
}

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
        if matches!(purpose, Purpose::Insert { .. }) && !self.list.has_memory() {
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
                visited.visit(spot.slot(label), NO_PARENT, label);
            }
        }
        let mut index = 0;
        while let Some(visit) = visited.get(index) {
            let value = self.value(visit.slot);
            if let Some(entry) = Spot::of_entry(visit.slot, value, &self.shape) {
                for label in Label::of(value).others() {
                    let slot = entry.slot(label);
                    if entry.value(label) == 0 || visited.contains(slot) {
                        continue;
                    }
                    if self.value(slot) == 0 {
                        self.shift(&visited, spot, Visit { slot, parent: index, label });
                        return true;
                    }
                    visited.visit(slot, index, label);
                }
            }
            index += 1;
        }
        false
    }

    /// Moves each entry on the way to an empty slot by one, and the new entry into the first slot.
    fn shift(&mut self, visited: &Visited, spot: &Spot, empty: Visit) {
        let mut to = empty;
        while let Some(from) = visited.get(to.parent) {
            let value = self.value(from.slot);
            if let Some(entry) = Spot::of_entry(from.slot, value, &self.shape) {
                self.set(to.slot, entry.value(to.label));
            }
            to = from;
        }
        self.set(to.slot, spot.value(to.label));
        self.count_one();
    }
}

/// The slots that a search reached, in order.
struct Visited {
    visits: ArrayVec<Visit, MAX_VISITED>,
    /// A bit for the low bits of each slot, so that most slots are known to be new at once: 4 KiB,
    /// of which 1,000 slots set 3 %.
    seen: [u64; Self::SEEN_WORDS],
}

impl Visited {
    const SEEN_WORDS: usize = 512;

    fn new() -> Self {
        Self { visits: ArrayVec::new(), seen: [0; Self::SEEN_WORDS] }
    }

    /// The slot with an index; `None` for [`NO_PARENT`].
    fn get(&self, index: u16) -> Option<Visit> {
        self.visits.get(usize::from(index)).copied()
    }

    /// Adds a slot, if it is new and there is room.
    fn visit(&mut self, slot: u64, parent: u16, label: Label) {
        if !self.contains(slot) && self.visits.try_push(Visit { slot, parent, label }).is_ok() {
            let (word, bit) = Self::bit(slot);
            if let Some(word) = self.seen.get_mut(word) {
                *word |= bit;
            }
        }
    }

    fn contains(&self, slot: u64) -> bool {
        let (word, bit) = Self::bit(slot);
        self.seen.get(word).is_some_and(|word| word & bit != 0)
            && self.visits.iter().any(|visit| visit.slot == slot)
    }

    fn bit(slot: u64) -> (usize, u64) {
        ((slot / 64) as usize % Self::SEEN_WORDS, 1 << (slot % 64))
    }
}
