//! RedisBloom's layout: tables of buckets of one-byte fingerprints, byte for byte.
//!
//! A fingerprint lies in one of two buckets of any table. If both are full in all tables, it takes
//! the slot of another fingerprint in the newest table, which moves to its own other bucket, and so
//! on (B. Fan, D. G. Andersen, M. Kaminsky, M. D. Mitzenmacher, *Cuckoo Filter: Practically Better
//! Than Bloom*, 2014). If that leads nowhere, a table is added.
//!
//! | module | holds |
//! |---|---|
//! | [`numbers`] | which filters are valid |
//! | `fingerprint` | the fingerprint and the buckets of an item |
//! | `table` | one table |
//! | `compact`, `oldest` | moving fingerprints to older tables: the oldest with an empty slot |
//! | `blocks` | which blocks of slots have fingerprints |
//! | [`header`] | the filter as bytes |

mod blocks;
mod compact;
mod fingerprint;
pub mod header;
pub mod numbers;
mod oldest;
mod rdb;
mod table;

use std::fmt;

use self::blocks::Kept;
use self::fingerprint::Fingerprint;
use self::numbers::Plan;
pub use self::numbers::{CuckooNumbers, MAX_TABLES};
use self::table::Table;
use crate::cuckoo::options::CuckooOptions;
use crate::cuckoo::tables::{Effort, Slots, Tables};
use crate::error::{Error, HeaderError};
use crate::memory::lists::{try_collect, try_insert};
use crate::permit::Permit;
use crate::spec::Layout;

/// The largest capacity, in items.
const MAX_CAPACITY: u64 = 1 << 40;

/// Bytes that RedisBloom counts per filter.
const REDISBLOOM_FILTER_BYTES: u64 = 40;
/// Bytes that RedisBloom counts per table, beside its slots.
const REDISBLOOM_TABLE_BYTES: u64 = 16;

pub struct RedisBloomCuckoo {
    options: CuckooOptions,
    items: u64,
    deletes: u64,
    /// Oldest first; at least one.
    tables: Box<[Table]>,
}

impl fmt::Debug for RedisBloomCuckoo {
    /// Writes the numbers of the filter, not its slots.
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.debug_tuple("RedisBloomCuckoo").field(&self.numbers()).finish()
    }
}

/// Two filters are equal if they have equal headers and equal tables.
impl PartialEq for RedisBloomCuckoo {
    fn eq(&self, other: &Self) -> bool {
        self.numbers() == other.numbers() && self.tables().eq(other.tables())
    }
}

impl RedisBloomCuckoo {
    /// An empty filter of one table. It has as many buckets as the next power of two at or above
    /// `capacity / bucket_size`, at least one.
    ///
    /// # Errors
    ///
    /// [`Error::Cuckoo`] for options out of range, [`Error::Capacity`] unless the capacity is 1 to
    /// 2^40, [`Error::Refused`] by `permit`, [`Error::OutOfMemory`].
    pub fn new(capacity: u64, options: CuckooOptions, permit: Permit) -> Result<Self, Error> {
        options.check()?;
        if !(1..=MAX_CAPACITY).contains(&capacity) {
            return Err(Error::Capacity(capacity));
        }
        let buckets = (capacity / u64::from(options.bucket_size)).max(1).next_power_of_two();
        Self::with_numbers(
            &CuckooNumbers {
                items: 0,
                buckets,
                deletes: 0,
                tables: 1,
                bucket_size: options.bucket_size.into(),
                max_iterations: options.max_iterations.into(),
                expansion: options.expansion.into(),
            },
            permit,
        )
    }

    /// A filter with these numbers, whose slots are all empty; `load_chunk` writes them. The
    /// number of items is not counted anew then.
    ///
    /// The numbers may come from anywhere. Nothing is allocated before all are valid and the permit
    /// was granted.
    ///
    /// # Errors
    ///
    /// [`Error::Header`], [`Error::Refused`] by `permit`, [`Error::OutOfMemory`].
    pub fn with_numbers(numbers: &CuckooNumbers, permit: Permit) -> Result<Self, Error> {
        let plan = Self::plan(numbers, permit)?;
        let table = |log2| Table::zeroed(log2, plan.options.bucket_size);
        let tables = try_collect(plan.tables as usize, plan.log2_buckets().map(table))?;
        Ok(Self::of_tables(numbers, &plan, tables))
    }

    /// What numbers describe, for which the permit was granted.
    fn plan(numbers: &CuckooNumbers, permit: Permit) -> Result<Plan, Error> {
        let plan = numbers.plan().map_err(HeaderError::from)?;
        let memory = |log2| Table::memory_of(Table::bytes_of(log2, plan.options.bucket_size));
        Self::request(permit, plan.log2_buckets().map(memory), 0, plan.tables)?;
        Ok(plan)
    }

    /// The filter of a plan and its tables, oldest first.
    fn of_tables(numbers: &CuckooNumbers, plan: &Plan, tables: Box<[Table]>) -> Self {
        Self { options: plan.options, items: numbers.items, deletes: numbers.deletes, tables }
    }

    pub fn numbers(&self) -> CuckooNumbers {
        CuckooNumbers {
            items: self.items,
            buckets: self.buckets(),
            deletes: self.deletes,
            tables: self.tables.len() as u64,
            bucket_size: self.options.bucket_size.into(),
            max_iterations: self.options.max_iterations.into(),
            expansion: self.options.expansion.into(),
        }
    }

    /// Checks that the filter is valid, which each method of this type keeps: its numbers are
    /// accepted and describe it. A failure is a defect of this crate.
    ///
    /// Cost: one step per table.
    ///
    /// # Errors
    ///
    /// Why the header would be refused, or [`HeaderError::Other`].
    pub fn check(&self) -> Result<(), Error> {
        let numbers = header::describe(&self.encode_header())?;
        let plan = numbers.plan().map_err(HeaderError::from)?;
        let bucket_size = plan.options.bucket_size;
        let planned = plan.log2_buckets().map(|log2| Table::bytes_of(log2, bucket_size));
        let is_described = self.tables.iter().map(Table::len).eq(planned);
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

    /// Puts a fingerprint into an empty slot, the newest table first. False if there is none.
    #[inline(always)]
    fn fill(&mut self, fingerprint: &Fingerprint) -> bool {
        self.tables.iter_mut().rev().any(|table| table.replace(fingerprint, 0, fingerprint.value))
    }

    /// Stores a fingerprint that has no empty slot: in the newest table by moving others, or else
    /// in a new table.
    ///
    /// If the searches of a call that failed took [`Effort::MOST`] iterations, others of it are
    /// refused without a search. Only what is stored is replicated, and finds the same slot there.
    #[cold]
    fn make_room(
        &mut self,
        fingerprint: &Fingerprint,
        effort: &mut Effort,
        permit: Permit,
    ) -> Result<(), Error> {
        if let Some(refusal) = effort.refusal {
            return Err(refusal);
        }
        let max_iterations = self.options.max_iterations;
        if effort.steps < Effort::MOST
            && self.tables.last_mut().is_some_and(|newest| newest.kick(fingerprint, max_iterations))
        {
            return Ok(());
        }
        let has_many_tables = self.tables.len() >= Effort::TABLES;
        self.grow(permit).inspect_err(|error| {
            effort.steps += u64::from(max_iterations);
            effort.refusal = has_many_tables.then_some(*error);
        })?;
        self.fill(fingerprint);
        Ok(())
    }

    /// True if there are more deletions since the last compaction than a tenth of the items.
    #[inline(always)]
    fn has_many_deletes(&self) -> bool {
        self.deletes as f64 > 0.10 * self.items as f64
    }

    /// Adds a table.
    #[cold]
    fn grow(&mut self, permit: Permit) -> Result<(), Error> {
        let newest = self.tables.last().map_or(0, Table::len);
        if self.options.is_fixed() {
            return Err(Error::Full(newest));
        }
        let (bucket_size, count) = (self.options.bucket_size, self.table_count());
        let first_log2 = self.buckets().trailing_zeros() as u8;
        let log2 = self.options.log2_buckets(first_log2, count);
        let log2 = log2.ok_or(Error::TooManyTables(count))?;
        let new = Table::memory_of(Table::bytes_of(log2, bucket_size));
        Self::request(permit, [new], self.memory_bytes(), count + 1)?;
        try_insert(&mut self.tables, count as usize, Table::zeroed(log2, bucket_size)?)
    }

    /// Items that were inserted, less those that were deleted; at most one per slot.
    #[expect(clippy::len_without_is_empty, reason = "`AnyCuckoo` has it")]
    pub fn len(&self) -> u64 {
        self.items
    }

    /// Deletions since the last compaction.
    pub fn deletes(&self) -> u64 {
        self.deletes
    }

    /// Buckets of the first table, a power of two.
    pub fn buckets(&self) -> u64 {
        self.tables.first().map_or(1, Table::buckets)
    }

    /// What the tables have in common.
    pub fn options(&self) -> CuckooOptions {
        self.options
    }

    /// The slots of each table, oldest first: one byte per slot, and nothing else.
    pub fn tables(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.tables.iter().map(Slots::as_bytes)
    }

    /// Slots of all tables. Cost: one step per table.
    pub fn slots(&self) -> u64 {
        self.tables.iter().map(Table::len).fold(0, u64::saturating_add)
    }

    /// Bytes as RedisBloom counts them.
    pub fn size(&self) -> u64 {
        let tables = REDISBLOOM_TABLE_BYTES * u64::from(self.table_count());
        self.slots().saturating_add(REDISBLOOM_FILTER_BYTES + tables)
    }
}

impl Tables for RedisBloomCuckoo {
    type Table = Table;
    type Kept = Kept;

    const LAYOUT: Layout = Layout::RedisBloom;
    const FILTER_BYTES: u64 = 40;
    const TABLE_BYTES: u64 = 24;
    const HAS_WHOLE_CHUNKS: bool = true;

    #[inline(always)]
    fn hash(&self, item: &[u8]) -> Fingerprint {
        Fingerprint::of(item)
    }

    #[inline(always)]
    fn list(&self) -> &[Table] {
        &self.tables
    }

    fn list_mut(&mut self) -> &mut Box<[Table]> {
        &mut self.tables
    }

    fn starts(&self) -> impl Iterator<Item = u64> {
        self.tables.iter().scan(0, |end, table| {
            let start = *end;
            *end += table.len();
            Some(start)
        })
    }

    #[inline(always)]
    fn insert_hash(
        &mut self,
        fingerprint: &Fingerprint,
        effort: &mut Effort,
        permit: Permit,
    ) -> Result<(), Error> {
        if effort.refusal.is_some() || !self.fill(fingerprint) {
            self.make_room(fingerprint, effort, permit)?;
        }
        // Only a forged filter has more empty slots than it counts.
        self.items = self.items.saturating_add(1).min(self.slots());
        Ok(())
    }

    /// Deletes the first slot with the fingerprint of an item, the newest table first.
    ///
    /// If there are several tables, and more deletions since the last compaction than a tenth of
    /// the items, the filter is compacted until a table cannot be emptied.
    #[inline(always)]
    fn remove_hash(&mut self, fingerprint: &Fingerprint, kept: &mut Kept) -> bool {
        let is_found = self
            .tables
            .iter_mut()
            .rev()
            .any(|table| table.replace(fingerprint, fingerprint.value, 0));
        if is_found {
            // Only a forged filter counts less items than it holds.
            self.items = self.items.saturating_sub(1);
            self.deletes = self.deletes.saturating_add(1);
            if self.tables.len() > 1 && self.has_many_deletes() {
                self.compact_after_deletion(kept);
            }
        }
        is_found
    }
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<RedisBloomCuckoo>() as u64 == RedisBloomCuckoo::FILTER_BYTES);
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Table>() as u64 == RedisBloomCuckoo::TABLE_BYTES);
