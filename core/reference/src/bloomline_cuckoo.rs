//! The reference model of cuckoo filters in this project's layout: slow and simple, written from
//! the specification of the layout.

use std::collections::{BTreeMap, HashSet, VecDeque};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::redisbloom_cuckoo::Refusal;

/// The least bits of a slot.
pub const MIN_BITS: u32 = 7;
/// The most bits of a slot.
pub const MAX_BITS: u32 = 28;

/// The least target rate.
const LEAST_RATE: f64 = 5e-7;
/// The least windows of a table.
const MIN_WINDOWS: u64 = 4;
/// The largest number of tables.
const MAX_TABLES: usize = 32;
/// The most slots that an insertion searches.
const MAX_SEARCHED: usize = 1_000;
/// The same in a table with a long list.
const MAX_SEARCHED_SHORT: usize = 64;
/// Entries of a long list.
const LONG_LIST: usize = 64;
/// The most copies of a list.
const MAX_COPIES: u64 = 1 << 58;
/// Slots that each insertion drains.
const DRAINED: u64 = 16;
/// The same for an insertion into a doubled table at its limit.
const HURRIED: u64 = 64;
/// Bytes of an entry of a list.
const ENTRY: u64 = 16;
/// Bytes of a table besides its slots and its list.
const TABLE: u64 = 88;
/// Sizes that are tried for a halved table.
const HALVINGS_TRIED: usize = 4;
/// How often a new table can be doubled.
const DOUBLINGS: u32 = 4;

/// How an entry is placed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// Not in a table at its limit, where this load counts as well.
    Limited { elsewhere: u64 },
    /// In spite of the limit.
    Unlimited,
    /// By a compaction: the list gets no new entry.
    Moved { is_limited: bool },
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placed {
    Stored,
    NoRoom,
    /// The list may have no more copies.
    ListFull,
}

/// The most entries of a table of `windows` windows.
pub fn limit(windows: u64) -> u64 {
    let windows = windows as f64;
    let fraction = (0.9645 - 2.0 / windows.sqrt()).min(0.92);
    ((windows * fraction).floor()).max(1.0) as u64
}

/// The windows of an empty table that takes `capacity` entries.
pub fn windows_for(capacity: u64) -> u64 {
    let mut windows = MIN_WINDOWS;
    while limit(windows) < capacity {
        windows += 1;
    }
    if windows > 4096 {
        windows = windows.next_multiple_of(1 << (windows.ilog2() - 11));
    }
    windows
}

/// The rate of a table of `windows` windows with slots of `bits` bits that is full.
fn full_rate(windows: u64, bits: u32) -> f64 {
    limit(windows) as f64 / (windows as f64 * (1u64 << (bits - 2)) as f64)
}

/// The least bits of a slot with which the rate of a full table is at most `share`.
fn bits_for(windows: u64, share: f64) -> Option<u32> {
    (MIN_BITS..=MAX_BITS).find(|&bits| full_rate(windows, bits) <= share)
}

/// How an entry lies in its window: the first or second of its windows, and the slot of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Position {
    choice: u64,
    offset: u64,
}

/// The positions, in the order in which an item takes them.
const POSITIONS: [Position; 4] = [
    Position { choice: 0, offset: 0 },
    Position { choice: 0, offset: 1 },
    Position { choice: 1, offset: 0 },
    Position { choice: 1, offset: 1 },
];

/// The value of a fingerprint at a position. It is 0, which no slot can hold, for fingerprint 0 in
/// the first slot of its first window.
fn value(fingerprint: u64, position: Position) -> u64 {
    4 * fingerprint + 2 * position.choice + position.offset
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub windows: u64,
    /// Bits of a slot.
    pub bits: u32,
    /// How often the table can still be doubled.
    pub spare: u32,
    /// The values; 0 is an empty slot.
    pub slots: Vec<u64>,
    /// Prefixes that lie in no slot, and how many copies of each.
    pub list: BTreeMap<u64, u64>,
    /// Where the bytes of the table begin in those of the filter.
    pub start: u64,
}

impl Table {
    fn empty(windows: u64, bits: u32, spare: u32, start: u64) -> Self {
        let slots = vec![0; windows as usize + 1];
        Self { windows, bits, spare, slots, list: BTreeMap::new(), start }
    }

    fn fingerprints(&self) -> u64 {
        1 << (self.bits - 2)
    }

    /// The number of prefixes.
    pub fn prefixes(&self) -> u64 {
        self.windows * self.fingerprints()
    }

    /// The prefix of a hash.
    pub fn prefix(&self, hash: u64) -> u64 {
        ((u128::from(hash) * u128::from(self.prefixes())) >> 64) as u64
    }

    /// Occupied slots.
    pub fn used(&self) -> u64 {
        self.slots.iter().filter(|value| **value != 0).count() as u64
    }

    pub fn load(&self) -> u64 {
        self.used() + self.list.len() as u64
    }

    /// The rate of the table when it is full and cannot be doubled any more.
    pub fn rate_for_life(&self) -> f64 {
        limit(self.windows << self.spare) as f64 / self.prefixes() as f64
    }

    /// Items: entries in slots, and copies in the list.
    pub fn items(&self) -> u64 {
        self.used() + self.list.values().sum::<u64>()
    }

    /// From the first window of an entry to its second one.
    fn distance(&self, fingerprint: u64) -> u64 {
        let mut x = (fingerprint + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        x ^= x >> 29;
        x = x.wrapping_mul(0xD134_2543_DE82_EF95);
        1 + ((u128::from(x) * u128::from(self.windows - 1)) >> 64) as u64
    }

    /// The slot of a prefix at a position.
    fn slot(&self, prefix: u64, position: Position) -> usize {
        let (first, fingerprint) = (prefix / self.fingerprints(), prefix % self.fingerprints());
        let window = match position.choice {
            0 => first,
            _ => (first + self.distance(fingerprint)) % self.windows,
        };
        (window + position.offset) as usize
    }

    /// The slots that a prefix can lie in, in order, each with the value it has there.
    pub fn places(&self, prefix: u64) -> Vec<(usize, u64)> {
        let fingerprint = prefix % self.fingerprints();
        let place = |position| (self.slot(prefix, position), value(fingerprint, position));
        POSITIONS.map(place).into_iter().filter(|(_, value)| *value != 0).collect()
    }

    /// The prefix and the position of the entry in a slot.
    fn entry(&self, slot: usize) -> (u64, Position) {
        let value = self.slots[slot];
        let position = Position { choice: value / 2 % 2, offset: value % 2 };
        let fingerprint = value / 4;
        let window = slot as u64 - position.offset;
        let back = position.choice * self.distance(fingerprint);
        let first = (window + self.windows - back) % self.windows;
        (first * self.fingerprints() + fingerprint, position)
    }

    /// Slots that hold a prefix.
    fn holding(&self, prefix: u64) -> impl Iterator<Item = usize> {
        let places = self.places(prefix).into_iter();
        places.filter(|(slot, value)| self.slots[*slot] == *value).map(|(slot, _)| slot)
    }

    fn count(&self, prefix: u64) -> u64 {
        self.holding(prefix).count() as u64 + self.list.get(&prefix).copied().unwrap_or(0)
    }

    fn remove(&mut self, prefix: u64) -> bool {
        if let Some(copies) = self.list.get_mut(&prefix) {
            *copies -= 1;
            if *copies == 0 {
                self.list.remove(&prefix);
            }
            return true;
        }
        let slot = self.holding(prefix).next();
        slot.map(|slot| self.slots[slot] = 0).is_some()
    }

    fn copies(&self) -> u64 {
        self.list.values().sum()
    }

    /// Adds copies to the list, which may have them.
    fn add(&mut self, prefix: u64, copies: u64) {
        *self.list.entry(prefix).or_default() += copies;
    }

    /// Places an entry, or changes nothing. `visits` are those that failing searches of a compaction
    /// may still make.
    fn place(&mut self, prefix: u64, how: How, visits: &mut u64) -> Placed {
        if self.list.contains_key(&prefix) {
            if self.copies() >= MAX_COPIES {
                return Placed::ListFull;
            }
            self.add(prefix, 1);
            return Placed::Stored;
        }
        let elsewhere = match how {
            How::Limited { elsewhere } => Some(elsewhere),
            How::Moved { is_limited: true } => Some(0),
            How::Unlimited | How::Moved { is_limited: false } => None,
        };
        if elsewhere.is_some_and(|elsewhere| self.load() + elsewhere >= limit(self.windows)) {
            return Placed::NoRoom;
        }
        let is_moved = matches!(how, How::Moved { .. });
        if self.holding(prefix).count() < 3 {
            let places = self.places(prefix);
            if let Some((slot, value)) = places.iter().find(|(slot, _)| self.slots[*slot] == 0) {
                self.slots[*slot] = *value;
                return Placed::Stored;
            }
            if is_moved && *visits == 0 {
                return Placed::NoRoom;
            }
            match self.search(&places) {
                Ok(()) => return Placed::Stored,
                Err(searched) => *visits = visits.saturating_sub(searched),
            }
        }
        if is_moved {
            return Placed::NoRoom;
        }
        if self.copies() >= MAX_COPIES {
            return Placed::ListFull;
        }
        self.add(prefix, 1);
        Placed::Stored
    }

    /// The most slots that are searched.
    fn max_searched(&self) -> usize {
        let is_long = self.list.len() >= LONG_LIST || self.copies() >= MAX_COPIES;
        if is_long { MAX_SEARCHED_SHORT } else { MAX_SEARCHED }
    }

    /// Searches breadth first for entries that can move so that one of the places becomes empty. If
    /// there are none, the number of slots that were reached.
    fn search(&mut self, places: &[(usize, u64)]) -> Result<(), u64> {
        let most = self.max_searched();
        // Each slot that was reached, the value to store there, and the slot it was reached from.
        let mut reached: Vec<(usize, u64, Option<usize>)> = Vec::new();
        let mut queue = VecDeque::new();
        let mut seen = HashSet::new();
        for (slot, value) in places {
            if seen.insert(*slot) {
                queue.push_back(reached.len());
                reached.push((*slot, *value, None));
            }
        }
        while let Some(from) = queue.pop_front() {
            let (prefix, at) = self.entry(reached[from].0);
            let fingerprint = prefix % self.fingerprints();
            let (other, opposite) = (1 - at.choice, 1 - at.offset);
            for position in [
                Position { choice: other, offset: 0 },
                Position { choice: other, offset: 1 },
                Position { choice: at.choice, offset: opposite },
            ] {
                let (slot, value) = (self.slot(prefix, position), value(fingerprint, position));
                if value == 0 || seen.contains(&slot) {
                    continue;
                }
                if self.slots[slot] == 0 {
                    let mut step = Some((slot, value, Some(from)));
                    while let Some((slot, value, parent)) = step {
                        self.slots[slot] = value;
                        step = parent.map(|parent| reached[parent]);
                    }
                    return Ok(());
                }
                if reached.len() < most {
                    seen.insert(slot);
                    queue.push_back(reached.len());
                    reached.push((slot, value, Some(from)));
                }
            }
        }
        Err(reached.len() as u64)
    }

    /// The prefixes of all slots.
    fn stored(&self) -> impl Iterator<Item = u64> {
        let occupied = (0..self.slots.len()).filter(|slot| self.slots[*slot] != 0);
        occupied.map(|slot| self.entry(slot).0)
    }

    /// The table of a `2^times`th of the windows, without entries in slots; none if there is no such
    /// size, or if it takes no fewer bytes.
    fn halved(&self, times: u32) -> Option<Self> {
        let (windows, bits) = (self.windows >> times, self.bits + times);
        if times > self.windows.trailing_zeros() || windows < MIN_WINDOWS || bits > MAX_BITS {
            return None;
        }
        let mut table = Self::empty(windows, bits, self.spare + times, 0);
        table.list = self.list.clone();
        (table.byte_count() < self.byte_count()).then_some(table)
    }

    /// The smallest table that can hold the same entries, if it takes fewer bytes with its list.
    fn smallest(&self) -> Option<Self> {
        let sizes = (1..64).rev().filter_map(|times| self.halved(times));
        let sizes = sizes.filter(|table| self.load() <= limit(table.windows));
        sizes.take(HALVINGS_TRIED).find_map(|mut table| {
            let is_whole = self.stored().all(|prefix| {
                table.place(prefix, How::Unlimited, &mut 0) == Placed::Stored
                    && table.memory() < self.memory()
            });
            is_whole.then_some(table)
        })
    }

    /// True if copies of a prefix belong into the list, and it may have that many more.
    fn takes_copies(&self, prefix: u64, copies: u64) -> bool {
        let is_own = self.list.contains_key(&prefix) || self.holding(prefix).count() >= 3;
        is_own && self.copies() + copies <= MAX_COPIES
    }

    /// Bytes of the slots and of the list.
    fn memory(&self) -> u64 {
        self.byte_count() + ENTRY * self.list.len() as u64
    }

    /// Bytes of the slots and of the padding.
    pub fn byte_count(&self) -> u64 {
        let bits = (self.windows + 1) * u64::from(self.bits);
        (bits.div_ceil(8) + 8).next_multiple_of(8)
    }

    /// The slots as bytes: packed, the lowest bit first.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.byte_count() as usize];
        for (slot, value) in self.slots.iter().enumerate() {
            let bit = slot * self.bits as usize;
            let shifted = value << (bit % 8);
            for (byte, part) in bytes[bit / 8..].iter_mut().zip(shifted.to_le_bytes()) {
                *byte |= part;
            }
        }
        bytes
    }
}

/// A filter.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub seed: u64,
    pub error_rate: f64,
    pub is_fixed: bool,
    /// Deletions since the last compaction.
    pub deletes: u64,
    /// Oldest first.
    pub tables: Vec<Table>,
    /// The next slot to drain of the table before the newest, if that is a source.
    pub drained: Option<u64>,
    /// Where the bytes of the next table begin.
    pub end: u64,
}

impl Model {
    /// An empty filter; none if the rate is too small.
    pub fn new(capacity: u64, error_rate: f64, is_fixed: bool, seed: u64) -> Option<Self> {
        let share = if is_fixed { error_rate } else { error_rate / 2.0 };
        let windows = windows_for(capacity);
        let table = Table::empty(windows, bits_for(windows, share)?, 0, 0);
        Some(Self { error_rate, is_fixed, ..Self::with_table(table, seed) })
    }

    /// An empty fixed filter with this table.
    pub fn with_bits(windows: u64, bits: u32, seed: u64) -> Self {
        Self::with_table(Table::empty(windows, bits, 0, 0), seed)
    }

    fn with_table(table: Table, seed: u64) -> Self {
        let (end, error_rate) = (table.byte_count(), table.rate_for_life().max(LEAST_RATE));
        let (tables, is_fixed) = (vec![table], true);
        Self { seed, error_rate, is_fixed, deletes: 0, tables, drained: None, end }
    }

    pub fn hash(&self, item: &[u8]) -> u64 {
        xxh3_64_with_seed(item, self.seed)
    }

    pub fn len(&self) -> u64 {
        self.tables.iter().map(Table::items).sum()
    }

    /// The numbers of the tables, as a text.
    pub fn numbers(&self) -> String {
        let mut text = format!("drained: {:?}", self.drained);
        for table in &self.tables {
            let Table { windows, bits, spare, list, .. } = table;
            let (used, listed) = (table.used(), list.len());
            text += &format!(", {windows} x {bits} spare {spare}: {used} used, {listed} listed");
        }
        text
    }

    /// The largest rate that the filter can have now.
    pub fn current_rate(&self) -> f64 {
        self.tables.iter().map(|table| table.load() as f64 / table.prefixes() as f64).sum()
    }

    /// The sum of the rates of all tables when they are full. A source does not count, because its
    /// entries count for the table that they are moved to.
    pub fn rate_for_life(&self) -> f64 {
        let source = self.source();
        let tables = self.tables.iter().enumerate().filter(|(index, _)| Some(*index) != source);
        tables.map(|(_, table)| table.rate_for_life()).sum()
    }

    pub fn contains(&self, item: &[u8]) -> bool {
        self.count(item) > 0
    }

    pub fn count(&self, item: &[u8]) -> u64 {
        let hash = self.hash(item);
        self.tables.iter().map(|table| table.count(table.prefix(hash))).sum()
    }

    pub fn remove(&mut self, item: &[u8]) -> bool {
        let hash = self.hash(item);
        let mut tables = self.tables.iter_mut().rev();
        let is_removed = tables.any(|table| table.remove(table.prefix(hash)));
        self.deletes += u64::from(is_removed);
        is_removed
    }

    /// Inserts an item. `may_grow` decides about new tables.
    pub fn insert(&mut self, item: &[u8], may_grow: bool) -> Result<(), Refusal> {
        let before = self.clone();
        let result = self.store(self.hash(item), may_grow);
        if result.is_err() {
            *self = before;
        }
        result
    }

    fn store(&mut self, hash: u64, may_grow: bool) -> Result<(), Refusal> {
        let mut drained = DRAINED;
        let mut placed = self.place(hash);
        if placed == Placed::NoRoom {
            if self.drained.is_some() {
                drained = HURRIED;
            } else {
                self.grow(may_grow)?;
            }
            let newest = self.tables.last_mut().unwrap();
            placed = newest.place(newest.prefix(hash), How::Unlimited, &mut 0);
        }
        if placed == Placed::ListFull {
            return Err(Refusal::Full);
        }
        self.drain(drained);
        Ok(())
    }

    /// The index of the table that is drained.
    fn source(&self) -> Option<usize> {
        self.drained.map(|_| self.tables.len() - 2)
    }

    /// Places an entry in the newest table that has room.
    fn place(&mut self, hash: u64) -> Placed {
        let (source, newest) = (self.source(), self.tables.len() - 1);
        for index in (0..self.tables.len()).rev().filter(|index| Some(*index) != source) {
            let elsewhere = match source {
                Some(source) if index == newest => self.tables[source].load(),
                _ => 0,
            };
            let table = &mut self.tables[index];
            match table.place(table.prefix(hash), How::Limited { elsewhere }, &mut 0) {
                Placed::Stored => return Placed::Stored,
                Placed::ListFull if index == newest => return Placed::ListFull,
                _ => {}
            }
        }
        Placed::NoRoom
    }

    /// Moves the entries of the next slots of the source.
    fn drain(&mut self, slots: u64) {
        let (Some(source), Some(first)) = (self.source(), self.drained) else { return };
        let last = first.saturating_add(slots - 1).min(self.tables[source].windows);
        for slot in first as usize..=last as usize {
            if self.tables[source].slots[slot] != 0 {
                let (prefix, _) = self.tables[source].entry(slot);
                let target = &mut self.tables[source + 1];
                if target.place(prefix, How::Unlimited, &mut 0) != Placed::Stored {
                    self.drained = Some(slot as u64);
                    return;
                }
                self.tables[source].slots[slot] = 0;
            }
        }
        self.drained = Some(last + 1);
        if last == self.tables[source].windows {
            self.drained = None;
            self.tables.remove(source);
        }
    }

    fn grow(&mut self, may_grow: bool) -> Result<(), Refusal> {
        let spare = self.tables.last().unwrap().spare;
        // Only compaction gives a fixed filter a table that can be doubled.
        if self.is_fixed && spare == 0 {
            return Err(Refusal::Full);
        }
        if self.tables.len() >= MAX_TABLES || !may_grow {
            return Err(Refusal::CannotGrow);
        }
        let newest = self.tables.last_mut().unwrap();
        let mut table = match newest.spare {
            0 => self.narrow().ok_or(Refusal::CannotGrow)?,
            spare => {
                self.drained = Some(0);
                let (windows, bits) = (newest.windows * 2, newest.bits - 1);
                let mut doubled = Table::empty(windows, bits, spare - 1, 0);
                doubled.list = std::mem::take(&mut newest.list);
                doubled
            }
        };
        table.start = self.end;
        self.end += table.byte_count();
        self.tables.push(table);
        Ok(())
    }

    /// A table for a part of the errors that are left.
    fn narrow(&self) -> Option<Table> {
        let newest = self.tables.last().unwrap();
        let share = (self.error_rate - self.rate_for_life()) / 2.0;
        // The more doublings, the more bits.
        let (bits, spare) = (0..=DOUBLINGS).rev().find_map(|spare| {
            let bits = bits_for(newest.windows << spare, share)? + spare;
            (bits <= MAX_BITS).then_some((bits, spare))
        })?;
        let bits = bits.max(newest.bits);
        let prefixes = u128::from(newest.windows) << (bits - 2);
        (prefixes < 1 << 63).then(|| Table::empty(newest.windows, bits, spare, 0))
    }

    /// The header, if the filter was created with these options.
    pub fn header(&self, bucket_size: u8, max_iterations: u16, expansion: u16) -> Vec<u8> {
        let mut bytes = b"bloomcko".to_vec();
        for number in [1u16, 1] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend([bucket_size, self.drained.is_some().into()]);
        for number in [max_iterations, expansion, self.tables.len() as u16] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend([0; 4]);
        bytes.extend(self.error_rate.to_le_bytes());
        for number in [self.seed, self.deletes, self.drained.unwrap_or(0), self.end] {
            bytes.extend(number.to_le_bytes());
        }
        for table in &self.tables {
            for number in [table.windows, table.used(), table.start, table.list.len() as u64] {
                bytes.extend(number.to_le_bytes());
            }
            bytes.extend([table.bits as u8, table.spare as u8, 0, 0, 0, 0, 0, 0]);
        }
        for (prefix, copies) in self.tables.iter().flat_map(|table| &table.list) {
            bytes.extend(prefix.to_le_bytes());
            bytes.extend(copies.to_le_bytes());
        }
        bytes
    }

    /// Finishes a doubling, moves entries to older tables, and makes tables smaller. True if
    /// anything has changed.
    pub fn compact(&mut self) -> bool {
        let before = self.clone();
        let slots: u64 = self.tables.iter().map(|table| table.windows + 1).sum();
        let mut visits = 8 * slots + 65_536;
        let mut may_halve = self.may_halve();
        self.deletes = 0;
        self.finish_drain(&mut may_halve, &mut visits);
        if self.drained.is_none() {
            for from in (1..self.tables.len()).rev() {
                let (older, newer) = self.tables.split_at_mut(from);
                empty(&mut newer[0], older, &mut visits);
                if self.tables[from].load() == 0 {
                    self.tables.remove(from);
                    may_halve.remove(from);
                }
            }
            let tables = self.tables.iter().zip(may_halve);
            let smaller: Vec<_> =
                tables.map(|(table, may)| may.then(|| table.smallest()).flatten()).collect();
            if smaller.iter().any(Option::is_some) {
                for (table, smaller) in self.tables.iter_mut().zip(smaller) {
                    *table = smaller.unwrap_or_else(|| table.clone());
                    table.start = self.end;
                    self.end += table.byte_count();
                }
            }
        }
        *self != before
    }

    /// Which tables may be halved: those that may have few enough entries after others were moved
    /// to all the room of older tables.
    fn may_halve(&self) -> Vec<bool> {
        let (source, mut room) = (self.source(), 0);
        let tables = self.tables.iter().enumerate().map(|(index, table)| {
            let half = table.halved(1).filter(|_| Some(index) != source);
            let least = table.load().saturating_sub(room);
            room += limit(table.windows).saturating_sub(table.load());
            half.is_some_and(|half| least <= limit(half.windows))
        });
        tables.collect()
    }

    /// Finishes a doubling, if the filter does not become larger.
    fn finish_drain(&mut self, may_halve: &mut Vec<bool>, visits: &mut u64) {
        let (Some(at), Some(first)) = (self.source(), self.drained) else { return };
        let (older, newer) = self.tables.split_at_mut(at + 1);
        let (source, target) = (&mut older[at], &mut newer[0]);
        let mut left = None;
        for slot in first as usize..source.slots.len() {
            if source.slots[slot] == 0 {
                continue;
            }
            let prefix = source.entry(slot).0;
            if target.place(prefix, How::Moved { is_limited: false }, visits) == Placed::Stored {
                source.slots[slot] = 0;
            } else {
                left = left.or(Some(slot as u64));
            }
        }
        let used = source.used();
        if used * ENTRY < source.byte_count() + TABLE && target.copies() + used <= MAX_COPIES {
            source.stored().for_each(|prefix| target.add(prefix, 1));
            self.tables.remove(at);
            may_halve.remove(at);
            self.drained = None;
        } else {
            self.drained = left;
        }
    }
}

/// Moves entries to the oldest table that has room for them.
fn empty(table: &mut Table, older: &mut [Table], visits: &mut u64) {
    let prefixes = table.prefixes();
    let cut = |prefix: u64, to: &Table| prefix / (prefixes / to.prefixes());
    let moved = How::Moved { is_limited: true };
    for (prefix, mut copies) in std::mem::take(&mut table.list) {
        for to in &mut *older {
            let prefix = cut(prefix, to);
            while copies > 0
                && !to.list.contains_key(&prefix)
                && to.place(prefix, moved, visits) == Placed::Stored
            {
                copies -= 1;
            }
            let may_list = to.list.contains_key(&prefix) || to.load() < limit(to.windows);
            if copies > 0 && may_list && to.takes_copies(prefix, copies) {
                to.add(prefix, copies);
                copies = 0;
            }
        }
        if copies > 0 {
            table.list.insert(prefix, copies);
        }
    }
    // Each 64th slot first, so that entries of all prefixes arrive mixed.
    let slots = table.slots.len();
    for slot in (0..64).flat_map(|first| (first..slots).step_by(64)) {
        if table.slots[slot] != 0 {
            let prefix = table.entry(slot).0;
            let is_placed = older
                .iter_mut()
                .any(|to| to.place(cut(prefix, to), moved, visits) == Placed::Stored);
            if is_placed {
                table.slots[slot] = 0;
            }
        }
    }
    // The last entries, if they are copies in older tables.
    let left = table.used();
    if !table.list.is_empty() || left * ENTRY >= table.byte_count() + TABLE {
        return;
    }
    let mut takers: Vec<&mut Table> =
        older.iter_mut().filter(|to| to.load() + left <= limit(to.windows)).collect();
    let is_taken =
        |prefix| takers.iter().any(|to: &&mut Table| to.takes_copies(cut(prefix, to), left));
    if table.stored().all(is_taken) {
        for prefix in table.stored() {
            let taker = takers.iter_mut().find(|to| to.takes_copies(cut(prefix, to), 1)).unwrap();
            taker.add(cut(prefix, taker), 1);
        }
        table.slots.fill(0);
    }
}
