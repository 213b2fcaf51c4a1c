//! One table: an array of slots of a few bits each, and the list of entries without a slot.

use std::ops::{ControlFlow, Range};
use std::ptr::NonNull;

use arrayvec::ArrayVec;

use super::candidates::{Candidates, Label, Labels, Room, prefix_of, select};
use super::list::{ENTRY_BYTES, List};
use super::shape::{MIN_BITS, TableShape};
use crate::cuckoo::tables::Slots;
use crate::error::Error;
use crate::memory::pages::LARGE;
use crate::memory::words::{Mover, Words, overwrite};
use crate::simd::prefetch;

/// Bytes of slots from which windows are prefetched. Smaller tables are in cache.
pub(super) const PREFETCH_FROM: u64 = 1 << 20;

/// Entries that are moved together: their new slots are prefetched.
pub(super) const GROUP: usize = 16;

/// An occupied slot, and the prefix in it.
pub(super) type Occupied = (u64, Option<u64>);

const WORD: usize = size_of::<u64>();

/// The most bits of slots of which three and seven bits before them lie in a word of 64 bits.
const WORD_OF_THREE: u8 = 19;

/// The first slots of a word: three, or two if three do not fit in.
#[derive(Clone, Copy)]
struct Lanes {
    /// Their lowest bits.
    low: u64,
    /// Their highest bits.
    high: u64,
}

impl Lanes {
    #[inline(always)]
    fn of(width: u8) -> Self {
        let two = 1 | 1 << width;
        let low = if width <= WORD_OF_THREE { two | 1 << (2 * width) } else { two };
        Self { low, high: low << (width - 1) }
    }

    /// The highest bits of those slots that are not 0.
    #[inline(always)]
    fn occupied(self, word: u64) -> u64 {
        let others = self.high - self.low;
        // The highest bit is set if any other one is, by the carry.
        (((word & others) + others) | word) & self.high
    }
}

/// A table. Slot `s` is in the bits `s * w..(s + 1) * w` of its bytes, the lowest bit first. The
/// bits behind the last slot are 0.
#[derive(Debug)]
pub(in crate::cuckoo) struct Table {
    pub(super) words: Words,
    pub(super) list: List,
    pub(super) shape: TableShape,
    /// Occupied slots. They are counted when bytes are loaded.
    pub(super) used: u64,
    /// Where the bytes begin in those of all tables that the filter ever had.
    pub(super) start: u64,
    /// [`TableShape::limit`] of the shape, which takes a square root.
    pub(super) limit: u64,
}

impl Table {
    /// A table with empty slots.
    pub(super) fn zeroed(shape: TableShape, start: u64, list: List) -> Result<Self, Error> {
        let words = Words::zeroed(shape.words())?;
        Ok(Self { words, list, shape, used: 0, start, limit: shape.limit() })
    }

    /// Entries: occupied slots, and those of the list. An absent item is found by at most this many
    /// of [`TableShape::prefixes`] prefixes.
    #[inline(always)]
    pub(super) fn load(&self) -> u64 {
        self.used.saturating_add(self.list.len())
    }

    /// Entries at which the table is full.
    #[inline(always)]
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// Items: each copy counts.
    pub(super) fn items(&self) -> u64 {
        self.used.saturating_add(self.list.copies())
    }

    /// Where the bytes of the next table may begin.
    pub(super) fn end(&self) -> u64 {
        self.start + self.shape.bytes()
    }

    /// The byte in which a slot begins, and the bits of it before the slot.
    #[inline(always)]
    fn position(&self, slot: u64) -> (usize, u32) {
        let bit = slot * u64::from(self.shape.width);
        ((bit / 8) as usize, (bit % 8) as u32)
    }

    /// The ones of a value.
    #[inline(always)]
    fn mask(&self) -> u64 {
        (1 << self.shape.width) - 1
    }

    /// The word that begins with a slot. It has the next slot too, and then any bits.
    #[inline(always)]
    fn word(&self, slot: u64) -> u64 {
        let (byte, bits) = self.position(slot);
        let word = self.words.as_bytes().get(byte..).and_then(<[u8]>::first_chunk::<WORD>);
        u64::from_le_bytes(word.copied().unwrap_or_default()) >> bits
    }

    /// The value of a slot, 0 if it is empty.
    #[inline(always)]
    pub(super) fn value(&self, slot: u64) -> u64 {
        self.word(slot) & self.mask()
    }

    /// The values of the two slots of a window.
    #[inline(always)]
    pub(super) fn window(&self, first: u64) -> [u64; 2] {
        let (word, mask) = (self.word(first), self.mask());
        [word & mask, word >> self.shape.width & mask]
    }

    #[inline(always)]
    pub(super) fn prefetch_window(&self, first: u64) {
        prefetch(self.words.as_bytes().as_ptr().wrapping_add(self.position(first).0));
    }

    /// Prefetches the slots of an item.
    #[inline(always)]
    pub(super) fn prefetch_candidates(&self, candidates: &Candidates) {
        for window in candidates.windows {
            self.prefetch_window(window);
        }
    }

    /// The next occupied ones of these slots and the prefixes in them, of which a value that no
    /// item has there has none.
    pub(super) fn next_group(
        &self,
        slots: &mut impl Iterator<Item = u64>,
    ) -> ArrayVec<Occupied, GROUP> {
        let entry = |slot| {
            let value = self.value(slot);
            let prefix =
                || Candidates::of_entry(slot, value, &self.shape)?.prefix(&self.shape).into();
            (value != 0).then(|| (slot, prefix()))
        };
        slots.filter_map(entry).take(GROUP).collect()
    }

    /// All slots but those of large ranges that are zero. Pages that were never touched are not
    /// read where the operating system reports which those are.
    pub(super) fn touched_slots(&self) -> impl Iterator<Item = u64> {
        const STEP: usize = LARGE;
        let (end, width) = (self.shape.slots(), self.shape.width as usize);
        (0..end)
            .step_by(STEP)
            .map(move |first| first..end.min(first + STEP as u64))
            .filter(move |slots| {
                let bits = slots.start as usize * width..slots.end as usize * width;
                !self.words.is_zero(bits.start / 8..bits.end.div_ceil(8))
            })
            .flatten()
    }

    /// Prefetches the slots of some prefixes, if they are not in cache.
    pub(super) fn prefetch_group(&self, prefixes: impl Iterator<Item = u64>) {
        if self.words.bytes() >= PREFETCH_FROM {
            prefixes
                .for_each(|prefix| self.prefetch_candidates(&Candidates::of(prefix, &self.shape)));
        }
    }

    #[inline(always)]
    pub(super) fn set(&mut self, slot: u64, value: u64) {
        let ((byte, bits), mask) = (self.position(slot), self.mask());
        let word = self.words.as_mut_bytes().get_mut(byte..);
        if let Some(word) = word.and_then(<[u8]>::first_chunk_mut::<WORD>) {
            let others = u64::from_le_bytes(*word) & !(mask << bits);
            *word = (others | value << bits).to_le_bytes();
        }
    }

    /// The slots of an item that hold its own value. There is no branch per slot.
    #[inline(always)]
    pub(super) fn own(&self, candidates: &Candidates) -> Labels {
        let [value, ..] = Label::ALL.map(|label| candidates.value(label));
        let width = self.shape.width;
        let pair = value | (value | 1) << width;
        let pairs = [pair, pair | 2 | 2 << width];
        let lanes = Lanes::of(width);
        let [first, second] = candidates.windows.map(|window| self.word(window));
        let [first, second] = [lanes.occupied(first ^ pairs[0]), lanes.occupied(second ^ pairs[1])];
        let differs = (first | second << 2) >> (width - 1);
        let differs = differs | differs >> (width - 1);
        // An empty slot is not an entry of fingerprint 0.
        let is_usable = u8::from(value != 0);
        Labels(!differs as u8 & (0b1110 | is_usable))
    }

    /// True if all slots in which an item can be hold its own value: further copies belong into the
    /// list.
    pub(super) fn has_only_copies(&self, candidates: &Candidates) -> bool {
        self.own(candidates).0 | u8::from(candidates.fingerprint == 0) == 0b1111
    }

    /// The empty ones of the slots of an item, and of those behind its windows. One load per window
    /// if the slots are not wide.
    #[inline(always)]
    pub(super) fn room(&self, candidates: &Candidates) -> Room {
        let width = self.shape.width;
        let lanes = Lanes::of(width);
        let [first, second] = candidates.windows.map(|window| lanes.occupied(self.word(window)));
        let occupied = (first | second << 3) >> (width - 1);
        let mut occupied = occupied | occupied >> (width - 1);
        if width <= WORD_OF_THREE {
            occupied |= occupied >> (width - 1) & 0b10_0100;
        } else {
            let [third, sixth] = candidates.windows.map(|window| self.value(window + 2));
            occupied =
                occupied & 0b01_1011 | u64::from(third != 0) << 2 | u64::from(sixth != 0) << 5;
        }
        Room::of(occupied, candidates)
    }

    /// The empty ones of the slots of one window of an item; see [`Room`].
    #[inline(always)]
    pub(super) fn room_of_choice(&self, candidates: &Candidates, choice: u64) -> Room {
        let [first, second] = candidates.windows;
        let window = select(choice, first, second);
        let (width, mask, word) = (self.shape.width, self.mask(), self.word(window));
        let third =
            if width <= WORD_OF_THREE { word >> (2 * width) } else { self.word(window + 2) };
        let occupied = |word: u64| u64::from(word & mask != 0);
        let occupied = occupied(word) | occupied(word >> width) << 1 | occupied(third) << 2;
        let other = 0b11_1000 >> (3 * choice);
        Room::of(occupied << (3 * choice) | other, candidates)
    }

    /// Puts a value into the slot of a label, which must be empty.
    #[inline(always)]
    pub(super) fn fill(&mut self, candidates: &Candidates, label: Label) {
        self.set(candidates.slot(label), candidates.value(label));
        self.used += 1;
    }

    /// Empties an occupied slot.
    #[inline(always)]
    pub(super) fn clear(&mut self, slot: u64) {
        self.set(slot, 0);
        self.used -= 1;
    }

    /// Empties the slots from `first` up to, but not including, `end`, of which `occupied` are not
    /// empty.
    pub(super) fn clear_range(&mut self, first: u64, end: u64, occupied: u64) {
        let bits = |slot: u64| slot * u64::from(self.shape.width);
        let (first, end) = (bits(first), bits(end));
        let words = (first / 64) as usize..end.div_ceil(64) as usize;
        let before = first / 64 * 64;
        for (at, word) in
            (before..).step_by(64).zip(self.words.as_mut_slice().get_mut(words).unwrap_or_default())
        {
            let kept_below = !(u64::MAX << first.saturating_sub(at));
            let kept_above = if end - at < 64 { u64::MAX << (end - at) } else { 0 };
            *word &= kept_below | kept_above;
        }
        self.used -= occupied;
    }

    /// Takes out one entry of a hash, from the list, or else from the first slot. False if there is
    /// none.
    #[inline(always)]
    pub(super) fn remove(&mut self, hash: u64) -> bool {
        let prefix = prefix_of(hash, &self.shape);
        if self.list.remove(prefix) {
            return true;
        }
        let candidates = Candidates::of(prefix, &self.shape);
        match self.own(&candidates).first() {
            Some(label) => {
                self.clear(candidates.slot(label));
                true
            }
            None => false,
        }
    }

    /// Counts the occupied ones of some slots.
    ///
    /// Pages that were never touched are not read where the operating system reports which those
    /// are.
    pub(super) fn count_occupied(&self, slots: Range<u64>) -> u64 {
        let width = u64::from(self.shape.width);
        let bytes = (slots.start * width / 8) as usize..(slots.end * width).div_ceil(8) as usize;
        let (mut occupied, mut counted) = (0, slots.start);
        self.words.visit_touched(bytes, |touched| {
            // A slot may lie in two pages.
            let first = (touched.start as u64 * 8 / width).max(counted);
            let end = (touched.end as u64 * 8).div_ceil(width).min(slots.end);
            occupied += self.count_read(first..end);
            counted = counted.max(end);
            ControlFlow::Continue(())
        });
        occupied
    }

    /// Counts the occupied ones of some slots, as many at a time as a word has whole slots.
    fn count_read(&self, slots: Range<u64>) -> u64 {
        /// Words whose slots are counted in the bits of the slots: each has seven bits at least.
        const WORDS: u64 = (1 << MIN_BITS) - 1;
        let width = u32::from(self.shape.width);
        // A word that begins within a byte has 57 bits of it.
        let per_word = 57 / width;
        let lowest = (0..per_word).fold(0u64, |ones, slot| ones | 1 << (slot * width));
        let others = lowest * ((1 << (width - 1)) - 1);
        let mut slot = slots.start;
        let mut occupied = 0;
        while slots.end.saturating_sub(slot) >= per_word.into() {
            let words = ((slots.end - slot) / u64::from(per_word)).min(WORDS);
            let mut sums = 0u64;
            for _ in 0..words {
                let word = self.word(slot);
                // The highest bit of a slot is set if any other one is, by the carry.
                let is_occupied = (((word & others) + others) | word) >> (width - 1);
                sums += is_occupied & lowest;
                slot += u64::from(per_word);
            }
            occupied += (0..per_word).map(|slot| sums >> (slot * width) & self.mask()).sum::<u64>();
        }
        occupied + (slot..slots.end).map(|slot| u64::from(self.value(slot) != 0)).sum::<u64>()
    }

    /// Bytes of the slots that are whole, and the bits of the next byte that belong to the last
    /// slot.
    fn slot_bytes(&self) -> (usize, u8) {
        let bits = self.shape.slots() * u64::from(self.shape.width);
        ((bits / 8) as usize, (1 << (bits % 8)) - 1)
    }

    /// True if these bytes differ from those from `from` on, as far as they are slots.
    fn differs(&self, from: usize, bytes: &[u8]) -> bool {
        let (whole, mask) = self.slot_bytes();
        let (slots, rest) = bytes.split_at(bytes.len().min(whole.saturating_sub(from)));
        let last = whole.checked_sub(from + slots.len()).and_then(|at| rest.get(at));
        let own = self.words.as_bytes().get(whole).copied().unwrap_or_default();
        last.is_some_and(|last| (last ^ own) & mask != 0) || !self.words.equals(from, slots)
    }

    /// True if the bits behind the last slot are 0.
    pub(super) fn has_padding(&self) -> bool {
        let bits = self.shape.slots() * u64::from(self.shape.width);
        let rest = self.words.as_slice().get((bits / 64) as usize..).unwrap_or_default();
        rest.split_first().is_some_and(|(first, others)| {
            first >> (bits % 64) == 0 && others.iter().all(|word| *word == 0)
        })
    }
}

impl Slots for Table {
    type Hash = u64;

    #[inline(always)]
    fn words(&self) -> &Words {
        &self.words
    }

    fn words_mut(&mut self) -> &mut Words {
        &mut self.words
    }

    fn as_bytes(&self) -> &[u8] {
        self.words.as_bytes()
    }

    fn as_mut_bytes(&mut self) -> &mut [u8] {
        self.words.as_mut_bytes()
    }

    fn clear_padding(&mut self) {
        let bits = self.shape.slots() * u64::from(self.shape.width);
        let rest = self.words.as_mut_slice().get_mut((bits / 64) as usize..).unwrap_or_default();
        if let Some((first, others)) = rest.split_first_mut() {
            *first &= (1 << (bits % 64)) - 1;
            others.fill(0);
        }
    }

    fn count_loaded(&mut self) {
        self.used = self.count_occupied(0..self.shape.slots());
    }

    fn write(&mut self, from: usize, bytes: &[u8]) -> Option<bool> {
        let end = from.checked_add(bytes.len()).filter(|end| *end <= self.as_bytes().len())?;
        if !self.differs(from, bytes) {
            return Some(false);
        }
        let width = u64::from(self.shape.width);
        let first = (from as u64 * 8 / width).min(self.shape.slots());
        let slots = first..(end as u64 * 8).div_ceil(width).min(self.shape.slots());
        let before = if self.used == 0 { 0 } else { self.count_occupied(slots.clone()) };
        overwrite(self.as_mut_bytes().get_mut(from..end)?, bytes);
        self.clear_padding();
        self.used = self.used - before + self.count_occupied(slots);
        Some(true)
    }

    fn try_clone(&self) -> Result<Self, Error> {
        Ok(Self { words: self.words.try_clone()?, list: self.list.try_clone()?, ..*self })
    }

    #[inline(always)]
    fn prefetch(&self, hash: &u64) {
        self.prefetch_candidates(&Candidates::of(prefix_of(*hash, &self.shape), &self.shape));
    }

    #[inline(always)]
    fn contains(&self, hash: &u64) -> bool {
        let prefix = prefix_of(*hash, &self.shape);
        !self.own(&Candidates::of(prefix, &self.shape)).is_empty() || self.list.contains(prefix)
    }

    fn count(&self, hash: &u64) -> u64 {
        let prefix = prefix_of(*hash, &self.shape);
        let slots = self.own(&Candidates::of(prefix, &self.shape)).count();
        self.list.copies_of(prefix).saturating_add(slots.into())
    }

    fn memory_bytes(&self) -> u64 {
        self.words.bytes().saturating_add(self.list.len() * ENTRY_BYTES)
    }

    fn each_allocation(&self, mut see: impl FnMut(NonNull<u8>)) {
        see(self.words.allocation().start);
        self.list.each_allocation(&mut see);
    }

    fn allocations(&self) -> usize {
        1 + self.list.allocations()
    }

    fn relocate(&mut self, index: usize, mover: &mut Mover) {
        match index.checked_sub(1) {
            None => self.words.relocate(mover),
            Some(index) => self.list.relocate(index, mover),
        }
    }
}
