//! The numbers of a filter in Bloomline's layout, and which of them are valid.

use arrayvec::ArrayVec;

use super::list::{ENTRY_BYTES, Entry, MAX_COPIES};
use super::shape::{MIN_ERROR_RATE, TableShape};
use crate::cuckoo::options::CuckooOptions;
use crate::error::{CuckooError, Error, HeaderError};

/// The most tables of a filter.
pub(super) const MAX_TABLES: usize = 32;

/// The last byte at which the bytes of a table may end, so that sums never overflow.
pub(super) const MAX_END: u64 = 1 << 62;

/// By how much the rates for life may exceed the target rate, relatively: they are rounded.
const ROUNDING: f64 = 1e-9;

/// All numbers of a filter. They may be any until [`Plan::check`] has accepted them.
pub(super) struct Plan<'a> {
    pub(super) options: CuckooOptions,
    pub(super) error_rate: f64,
    pub(super) seed: u64,
    pub(super) deletes: u64,
    pub(super) doubling_at: Option<u64>,
    pub(super) end: u64,
    pub(super) tables: ArrayVec<TableRecord<'a>, MAX_TABLES>,
}

pub(super) struct TableRecord<'a> {
    pub(super) shape: TableShape,
    pub(super) start: u64,
    /// The list, in the bytes of the header.
    pub(super) list: &'a [[u8; ENTRY_BYTES as usize]],
}

impl TableRecord<'_> {
    pub(super) fn entries(&self) -> impl ExactSizeIterator<Item = Entry> {
        self.list.iter().map(|bytes| {
            let entry = u128::from_le_bytes(*bytes);
            Entry { prefix: entry as u64, copies: (entry >> 64) as u64 }
        })
    }

    /// True if the list is ascending, each prefix is one of this table, each has copies, and they
    /// are not too many.
    fn has_list(&self) -> bool {
        let prefixes = || self.entries().map(|entry| entry.prefix);
        prefixes().is_sorted_by(|a, b| a < b)
            && prefixes().last().is_none_or(|last| last < self.shape.prefixes())
            && self.entries().all(|entry| entry.copies != 0)
            && self.entries().fold(0, |sum: u64, entry| sum.saturating_add(entry.copies))
                <= MAX_COPIES
    }
}

impl Plan<'_> {
    /// Checks all numbers but the options, which have been checked. This is the definition of a
    /// valid filter.
    ///
    /// Cost: one step per table and entry of a list.
    pub(super) fn check(&self) -> Result<(), Error> {
        check_error_rate(self.error_rate)?;
        for (index, table) in (0..).zip(&self.tables) {
            if !table.shape.is_valid() {
                return Err(invalid(CuckooError::Table(index)));
            }
            if !table.has_list() {
                return Err(invalid(CuckooError::List(index)));
            }
        }
        for (index, pair) in (1..).zip(self.tables.windows(2)) {
            if let [older, newer] = pair
                && !newer.shape.prefixes().is_multiple_of(older.shape.prefixes())
            {
                return Err(invalid(CuckooError::Table(index)));
            }
        }
        self.check_offsets()?;
        self.check_doubling()?;
        self.check_rates()
    }

    /// The bytes of the tables are ascending and do not overlap.
    fn check_offsets(&self) -> Result<(), Error> {
        let mut end = 0;
        for (index, table) in (0..).zip(&self.tables) {
            if table.start < end || table.start > MAX_END {
                return Err(invalid(CuckooError::Table(index)));
            }
            end = table.start.saturating_add(table.shape.bytes());
        }
        if end > self.end || self.end > MAX_END {
            return Err(HeaderError::Offset(self.end).into());
        }
        Ok(())
    }

    /// A table that is being doubled has half the windows of the newest, as many prefixes, and no
    /// list.
    fn check_doubling(&self) -> Result<(), Error> {
        let Some(doubling_at) = self.doubling_at else { return Ok(()) };
        match self.tables.as_slice() {
            [.., source, target]
                if source.shape.doubled() == Some(target.shape)
                    && source.list.is_empty()
                    && doubling_at < source.shape.slots() =>
            {
                Ok(())
            }
            _ => Err(invalid(CuckooError::Doubling(doubling_at))),
        }
    }

    /// The tables exist, one if the filter does not grow, and keep to the target rate. One that is
    /// being doubled is counted with its successor.
    fn check_rates(&self) -> Result<(), Error> {
        let too_many = invalid(CuckooError::Tables(self.tables.len() as u64));
        let source = self.doubling_at.and_then(|_| self.tables.len().checked_sub(2));
        let lasting = || {
            let tables = self.tables.iter().enumerate();
            tables.filter(|(index, _)| Some(*index) != source).map(|(_, table)| table)
        };
        let count = lasting().count();
        let rates: f64 = lasting().map(|table| table.shape.life_rate()).sum();
        let is_within = rates <= self.error_rate * (1.0 + ROUNDING);
        let is_valid = count == 1 || count > 1 && !self.options.is_fixed();
        if is_valid && is_within { Ok(()) } else { Err(too_many) }
    }
}

/// Checks the range of a target rate.
///
/// # Errors
///
/// [`Error::CuckooErrorRate`].
pub(super) fn check_error_rate(rate: f64) -> Result<(), Error> {
    // Also false if it is not a number.
    let is_valid = (MIN_ERROR_RATE..1.0).contains(&rate);
    if is_valid { Ok(()) } else { Err(Error::CuckooErrorRate(rate)) }
}

/// The error of a header with an invalid number.
fn invalid(error: CuckooError) -> Error {
    HeaderError::Cuckoo(error).into()
}
