//! The header in Bloomline's layout: everything about a filter but its slots.
//!
//! ```text
//! 0      8        10      12           13       14              16         18      20    24
//! magic  version  sizing  bucket_size  doubles  max_iterations  expansion  tables  zeros
//!
//! 24          32    40       48           56   64
//! error_rate  seed  deletes  doubling_at  end
//!
//! for each table, oldest first:
//! 0        8      16      24     25     26     32
//! windows  start  listed  width  spare  zeros
//!
//! for each table, oldest first, for each of its `listed` entries, in ascending order:
//! 0       8       16
//! prefix  copies
//! ```
//!
//! All numbers are little-endian. `doubles` is 1 if the table before the newest is being doubled,
//! and `doubling_at` is the first slot of it that has not been moved; otherwise both are 0.
//! `docs/format.md` describes the format.

use arrayvec::ArrayVec;

use super::BloomlineCuckoo;
use super::list::ENTRY_BYTES;
use super::plan::{MAX_TABLES, Plan, TableRecord};
use super::shape::TableShape;
use crate::cuckoo::options::CuckooOptions;
use crate::error::{CuckooError, Error, HeaderError};
use crate::header_fields::{FieldReader, FieldWriter};
use crate::permit::Permit;

/// The first bytes of a header. In RedisBloom's layout they would be a count of 8.0e18 items.
pub const MAGIC: [u8; 8] = *b"bloomcko";

const VERSION: u16 = 1;

/// The revision of the sizing rule, which decides how a filter grows.
const REVISION: u16 = 1;

/// Bytes of a header before its tables.
const FIXED_BYTES: usize = 64;

/// Bytes of a table in a header.
const RECORD_BYTES: usize = 32;

impl BloomlineCuckoo {
    /// The header: everything about the filter but its slots. It has 64 bytes, 32 per table, and 16
    /// per entry of a list, in one allocation; without memory for it the process ends.
    pub fn encode_header(&self) -> Vec<u8> {
        let mut fields = FieldWriter::<FIXED_BYTES>::new();
        fields.put(MAGIC);
        fields.put(VERSION.to_le_bytes());
        fields.put(REVISION.to_le_bytes());
        fields.put([self.options.bucket_size, self.doubling_at.is_some().into()]);
        fields.put(self.options.max_iterations.to_le_bytes());
        fields.put(self.options.expansion.to_le_bytes());
        fields.put((self.tables.len() as u16).to_le_bytes());
        fields.put([0; 4]);
        fields.put(self.error_rate.to_le_bytes());
        fields.put(self.seed.to_le_bytes());
        fields.put(self.deletes.to_le_bytes());
        fields.put(self.doubling_at.unwrap_or(0).to_le_bytes());
        fields.put(self.end.to_le_bytes());
        let entries: u64 = self.tables.iter().map(|table| table.list.len()).sum();
        let records = RECORD_BYTES * self.tables.len() + entries as usize * ENTRY_BYTES as usize;
        let mut bytes = Vec::with_capacity(FIXED_BYTES + records);
        bytes.extend(fields.finish());
        for table in &self.tables {
            let mut fields = FieldWriter::<RECORD_BYTES>::new();
            fields.put(table.shape.windows.to_le_bytes());
            fields.put(table.start.to_le_bytes());
            fields.put(table.list.len().to_le_bytes());
            fields.put([table.shape.width, table.shape.spare]);
            bytes.extend(fields.finish());
        }
        for entry in self.tables.iter().flat_map(|table| table.list.entries()) {
            bytes.extend(entry.prefix.to_le_bytes());
            bytes.extend(entry.copies.to_le_bytes());
        }
        bytes
    }

    /// The filter of a header, with all slots empty; `load_chunk` writes them, and counts those
    /// that are occupied.
    ///
    /// The bytes may come from anywhere. Nothing is allocated before all numbers are valid and the
    /// permit was granted.
    ///
    /// # Errors
    ///
    /// [`Error::Header`], [`Error::CuckooErrorRate`], [`Error::Refused`] by `permit`,
    /// [`Error::OutOfMemory`].
    pub fn decode_header(bytes: &[u8], permit: Permit) -> Result<Self, Error> {
        Self::build(&Plan::decode(bytes)?, permit)
    }
}

impl<'a> Plan<'a> {
    /// What a header describes, if it is valid.
    ///
    /// # Errors
    ///
    /// [`Error::Header`], [`Error::CuckooErrorRate`].
    pub(super) fn decode(bytes: &'a [u8]) -> Result<Self, Error> {
        let length = HeaderError::Length(bytes.len());
        let (fixed, rest) = bytes.split_first_chunk::<FIXED_BYTES>().ok_or(length)?;
        let mut fields = FieldReader::new(fixed);
        if fields.take() != MAGIC {
            return Err(HeaderError::Magic.into());
        }
        match u16::from_le_bytes(fields.take()) {
            VERSION => {}
            other => return Err(HeaderError::Version(other).into()),
        }
        match u16::from_le_bytes(fields.take()) {
            REVISION => {}
            other => return Err(HeaderError::Sizing(other).into()),
        }
        let [bucket_size, doubles] = fields.take();
        let max_iterations = u16::from_le_bytes(fields.take());
        let expansion = u16::from_le_bytes(fields.take());
        let options = CuckooOptions { bucket_size, max_iterations, expansion };
        options.check().map_err(HeaderError::from)?;
        let count = u16::from_le_bytes(fields.take());
        if fields.take() != [0; 4] {
            return Err(HeaderError::Reserved.into());
        }
        let error_rate = f64::from_le_bytes(fields.take());
        let seed = u64::from_le_bytes(fields.take());
        let deletes = u64::from_le_bytes(fields.take());
        let doubling_at = match (doubles, u64::from_le_bytes(fields.take())) {
            (0, 0) => None,
            (1, doubling_at) => Some(doubling_at),
            (_, doubling_at) => {
                return Err(HeaderError::from(CuckooError::Doubling(doubling_at)).into());
            }
        };
        let end = u64::from_le_bytes(fields.take());
        let too_many = HeaderError::from(CuckooError::Tables(count.into()));
        if usize::from(count) > MAX_TABLES {
            return Err(too_many.into());
        }
        let (records, lists) =
            rest.split_at_checked(usize::from(count) * RECORD_BYTES).ok_or(length)?;
        let (mut entries, []) = lists.as_chunks::<{ ENTRY_BYTES as usize }>() else {
            return Err(length.into());
        };
        let mut tables = ArrayVec::new();
        for record in records.as_chunks::<RECORD_BYTES>().0 {
            let table = decode_record(record, &mut entries, length)?;
            tables.try_push(table).map_err(|_| too_many)?;
        }
        if !entries.is_empty() {
            return Err(length.into());
        }
        let plan = Self { options, error_rate, seed, deletes, doubling_at, end, tables };
        plan.check()?;
        Ok(plan)
    }
}

/// The numbers of a table, with the next of the `entries` as its list. `length` is the error if
/// there are less.
fn decode_record<'a>(
    record: &[u8; RECORD_BYTES],
    entries: &mut &'a [[u8; ENTRY_BYTES as usize]],
    length: HeaderError,
) -> Result<TableRecord<'a>, HeaderError> {
    let mut fields = FieldReader::new(record);
    let windows = u64::from_le_bytes(fields.take());
    let start = u64::from_le_bytes(fields.take());
    let listed = u64::from_le_bytes(fields.take());
    let [width, spare] = fields.take();
    if fields.take() != [0; 6] {
        return Err(HeaderError::Reserved);
    }
    let split = usize::try_from(listed).ok().and_then(|listed| entries.split_at_checked(listed));
    let (list, rest) = split.ok_or(length)?;
    *entries = rest;
    Ok(TableRecord { shape: TableShape { windows, width, spare }, start, list })
}
