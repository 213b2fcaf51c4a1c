//! Bloomline's own layout: tables of hash prefixes in overlapping windows of two slots.
//!
//! An entry is a prefix of its item's 64-bit hash, and where it lies in a table gives most of the
//! prefix. An absent item is found only if an entry has its prefix. So the rate of a table is at
//! most its entries divided by the number of prefixes, and the rate of a filter at most the sum.
//!
//! ```text
//! filter  | table 0 | table 1 | ...                         oldest first; the newest takes items first
//! table   | slot 0 | slot 1 | ... | slot m |   list         slots of 7 to 28 bits; list of copies
//! value   | fingerprint | window 0 or 1 | offset 0 or 1 |   0: empty
//! ```
//!
//! * **Insertion.** An entry lies in one of four slots: two windows of two consecutive slots. It
//!   takes the empty one that leaves the most windows with an empty slot. If none is empty, others
//!   move. Tables are full at a load of 90 %, or of 88 % if they can be doubled.
//! * **Growth.** A table begins with slots that are six bits wider than needed. When it is full,
//!   it is doubled six times, each time with slots of one bit less, which keeps the number of
//!   prefixes and so the rate. A doubling does not stop the world: each insertion moves the entries
//!   of 16 slots. Then a table is added, with half of the error budget that is left.
//! * **Deletion.** The number of prefixes of each older table divides that of each newer one, so
//!   that the prefixes of a newer table are finer. An item is deleted from the newest table that
//!   has its prefix. So the deletion of an inserted item never takes the entry of another one that
//!   is not found elsewhere.
//!
//! | module | holds |
//! |---|---|
//! | [`shape`] | the size of a table, its load limit and its rate |
//! | `candidates` | the four candidate slots of an item |
//! | `table`, `list` | one table; its entries without a slot |
//! | `insert` | storing an entry: finding a slot for it |
//! | `growth`, `compact` | doubling a table, adding one; moving entries to older tables, halving |
//! | [`header`], `plan` | the filter as bytes, and which filters are valid |
//!
//! The fingerprints and two choices are those of B. Fan, D. G. Andersen, M. Kaminsky, M. D.
//! Mitzenmacher, *Cuckoo Filter: Practically Better Than Bloom*, 2014.

mod candidates;
mod compact;
mod growth;
pub mod header;
mod insert;
mod list;
mod plan;
pub mod shape;
mod table;

use std::fmt;

use self::list::{ENTRY_BYTES, List};
use self::plan::Plan;
pub use self::shape::MIN_ERROR_RATE;
use self::shape::TableShape;
use self::table::Table;
use super::options::CuckooOptions;
use super::tables::{Effort, Slots, Tables};
use crate::error::{Error, HeaderError};
use crate::hash::xxh3::item_hash;
use crate::memory::lists::try_collect;
use crate::permit::Permit;
use crate::spec::Layout;

/// Capacity, target rate and options of a filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuckooSpec {
    /// Items that the first table is sized for, 1 to 2^40.
    pub capacity: u64,
    /// The target rate of the whole filter, however far it grows: [`MIN_ERROR_RATE`] up to, but not
    /// including, 1.
    pub error_rate: f64,
    /// Stored and reported. Only the expansion matters: 0 if the filter does not grow.
    pub options: CuckooOptions,
}

pub struct BloomlineCuckoo {
    seed: u64,
    error_rate: f64,
    deletes: u64,
    /// If a table is being doubled: the first slot of it that has not been moved yet. That table is
    /// the one before the newest.
    doubling_at: Option<u64>,
    /// Where the bytes of the next table may begin. See [`Table::start`].
    end: u64,
    /// Oldest first, 1 to [`plan::MAX_TABLES`].
    tables: Box<[Table]>,
    options: CuckooOptions,
}

impl fmt::Debug for BloomlineCuckoo {
    /// Writes the numbers of the filter, not its slots.
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        let shapes: Vec<(TableShape, u64)> =
            self.tables.iter().map(|table| (table.shape, table.load())).collect();
        to.debug_struct("BloomlineCuckoo")
            .field("error_rate", &self.error_rate)
            .field("deletes", &self.deletes)
            .field("doubling_at", &self.doubling_at)
            .field("tables", &shapes)
            .finish_non_exhaustive()
    }
}

/// Two filters are equal if they have equal headers and equal slots.
impl PartialEq for BloomlineCuckoo {
    fn eq(&self, other: &Self) -> bool {
        self.encode_header() == other.encode_header() && self.tables().eq(other.tables())
    }
}

impl BloomlineCuckoo {
    /// An empty filter of one table, which takes `capacity` items.
    ///
    /// It has the whole rate if it does not grow, and otherwise half of it. At a target rate of 1 %
    /// a full filter that does not grow takes 10.0 bits per item, at 0.1 % 13.3, at 0.01 % 17.7.
    ///
    /// # Errors
    ///
    /// [`Error::Cuckoo`] for options out of range, [`Error::Capacity`] unless the capacity is 1 to
    /// 2^40 and the table has less than 2^63 prefixes, [`Error::CuckooErrorRate`],
    /// [`Error::Refused`] by `permit`, [`Error::OutOfMemory`].
    pub fn new(spec: CuckooSpec, seed: u64, permit: Permit) -> Result<Self, Error> {
        let CuckooSpec { capacity, error_rate, options } = spec;
        options.check()?;
        plan::check_error_rate(error_rate)?;
        let share = if options.is_fixed() { error_rate } else { error_rate / 2.0 };
        let shape = TableShape::first(capacity, share, !options.is_fixed())?;
        Self::request(permit, [shape.bytes()], 0, 1)?;
        let tables = try_collect(1, [Table::zeroed(shape, 0, List::default())])?;
        let end = shape.bytes();
        Ok(Self { seed, error_rate, deletes: 0, doubling_at: None, end, tables, options })
    }

    /// The filter of a plan, with empty slots.
    fn build(plan: &Plan, permit: Permit) -> Result<Self, Error> {
        let count = plan.tables.len() as u32;
        let new = plan.tables.iter().map(|table| table.shape.bytes());
        let lists = plan.tables.iter().map(|table| table.list.len() as u64 * ENTRY_BYTES).sum();
        Self::request(permit, new, lists, count)?;
        let tables = plan.tables.iter().map(|table| {
            let list = List::of(table.list.len() as u64, table.entries())?;
            Table::zeroed(table.shape, table.start, list)
        });
        Ok(Self {
            seed: plan.seed,
            error_rate: plan.error_rate,
            deletes: plan.deletes,
            doubling_at: plan.doubling_at,
            end: plan.end,
            tables: try_collect(plan.tables.len(), tables)?,
            options: plan.options,
        })
    }

    /// Checks that the filter is valid, which each method of this type keeps: its header is
    /// accepted and describes it. A failure is a defect of this crate.
    ///
    /// Cost: one step per entry of a list, and all slots are read.
    ///
    /// # Errors
    ///
    /// Why the header would be refused, or [`HeaderError::Other`].
    pub fn check(&self) -> Result<(), Error> {
        let header = self.encode_header();
        let plan = Plan::decode(&header)?;
        let is_table = |(table, planned): (&Table, &plan::TableRecord)| {
            table.shape == planned.shape
                && table.words.len() == planned.shape.words()
                && table.limit() == planned.shape.limit()
                && table.used == table.count_occupied(0..table.shape.slots())
                && table.has_padding()
        };
        let is_described = self.tables.iter().zip(&plan.tables).all(is_table);
        if is_described { Ok(()) } else { Err(HeaderError::Other.into()) }
    }

    /// A filter equal to this one.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] by `permit`, [`Error::OutOfMemory`].
    pub fn try_clone(&self, permit: Permit) -> Result<Self, Error> {
        Ok(Self { tables: self.try_clone_tables(permit)?, ..*self })
    }

    /// Items that were inserted, less those that were deleted. Cost: one step per table.
    #[expect(clippy::len_without_is_empty, reason = "`AnyCuckoo` has it")]
    pub fn len(&self) -> u64 {
        self.tables.iter().fold(0, |sum, table| table.items().saturating_add(sum))
    }

    /// Deletions since the last compaction.
    pub fn deletes(&self) -> u64 {
        self.deletes
    }

    pub fn windows(&self) -> u64 {
        self.tables.iter().map(|table| table.shape.windows).fold(0, u64::saturating_add)
    }

    /// Different items that all tables hold before the filter is full or grows.
    pub fn capacity(&self) -> u64 {
        self.lasting_tables().map(Table::limit).fold(0, u64::saturating_add)
    }

    /// The target rate of the whole filter.
    pub fn error_rate(&self) -> f64 {
        self.error_rate
    }

    /// The probability that an absent item is found today, at most: the sum of entries divided by
    /// prefixes, over all tables.
    pub fn current_rate(&self) -> f64 {
        let rate = |table: &Table| table.load() as f64 / table.shape.prefixes() as f64;
        self.tables.iter().map(rate).sum()
    }

    /// The options that the filter was created with.
    pub fn options(&self) -> CuckooOptions {
        self.options
    }

    /// The index of the table that is being doubled.
    fn source_index(&self) -> Option<usize> {
        self.doubling_at.and_then(|_| self.tables.len().checked_sub(2))
    }

    /// All tables but the one that is being doubled.
    fn lasting_tables(&self) -> impl Iterator<Item = &Table> {
        let source = self.source_index();
        let tables = self.tables.iter().enumerate();
        tables.filter(move |(index, _)| Some(*index) != source).map(|(_, table)| table)
    }

    /// The bytes of each table, oldest first, with those behind its last slot.
    pub fn tables(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.tables.iter().map(Slots::as_bytes)
    }

    /// The bytes of each table, oldest first, in parts of `most` bytes and a shorter last one. One
    /// that is zero is empty; pages that were never touched are not read where the operating system
    /// reports which those are.
    pub fn parts(&self, most: usize) -> impl Iterator<Item = &[u8]> {
        self.tables.iter().flat_map(move |table| {
            let bytes = table.as_bytes();
            (0..bytes.len()).step_by(most).map(move |start| {
                let part = start..bytes.len().min(start + most);
                let is_zero = table.words.is_zero(part.clone());
                if is_zero { &[] } else { bytes.get(part).unwrap_or_default() }
            })
        })
    }

    /// Calls `load` with the bytes of each table to be written, oldest first, until it fails. Bits
    /// behind the last slot are cleared and occupied slots counted afterwards.
    pub fn try_each_table_mut<E>(
        &mut self,
        mut load: impl FnMut(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.tables.iter_mut().try_for_each(|table| {
            let loaded = load(table.as_mut_bytes());
            table.clear_padding();
            table.count_loaded();
            loaded
        })
    }
}

impl Tables for BloomlineCuckoo {
    type Table = Table;
    type Kept = ();

    const LAYOUT: Layout = Layout::Bloomline;
    const FILTER_BYTES: u64 = 72;
    const TABLE_BYTES: u64 = 88;
    const HAS_WHOLE_CHUNKS: bool = false;

    /// The hash of an item: its prefixes in all tables follow from it.
    #[inline(always)]
    fn hash(&self, item: &[u8]) -> u64 {
        item_hash(item, self.seed).block_hash
    }

    #[inline(always)]
    fn list(&self) -> &[Table] {
        &self.tables
    }

    fn list_mut(&mut self) -> &mut Box<[Table]> {
        &mut self.tables
    }

    /// A table that is being doubled counts once, with its successor.
    fn lasting_table_count(&self) -> u32 {
        self.table_count() - u32::from(self.doubling_at.is_some())
    }

    /// Each table keeps its place in the bytes of the filter for life, behind all tables that came
    /// before it. So a chunk never lands in another table than the one it is from.
    fn starts(&self) -> impl Iterator<Item = u64> {
        self.tables.iter().map(|table| table.start)
    }

    #[inline(always)]
    fn insert_hash(&mut self, hash: &u64, _: &mut Effort, permit: Permit) -> Result<(), Error> {
        self.insert_or_grow(*hash, permit)
    }

    /// Deletes one copy of an item, from the newest table that has its prefix.
    #[inline(always)]
    fn remove_hash(&mut self, hash: &u64, (): &mut ()) -> bool {
        let is_found = self.tables.iter_mut().rev().any(|table| table.remove(*hash));
        self.deletes = self.deletes.saturating_add(is_found.into());
        is_found
    }
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<BloomlineCuckoo>() as u64 == BloomlineCuckoo::FILTER_BYTES);
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Table>() as u64 == BloomlineCuckoo::TABLE_BYTES);
