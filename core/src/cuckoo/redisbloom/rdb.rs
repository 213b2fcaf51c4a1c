//! A filter of RedisBloom's layout as the numbers and strings of a value, as RedisBloom writes it:
//!
//! ```text
//! unsigned tables                        written and read by `cuckoo::fields`
//! unsigned buckets, items, deletes, bucket_size, max_iterations, expansion
//! and for each table, oldest first:
//! unsigned buckets, string the slots, a byte each
//! ```
//!
//! This is version 4. Versions 0 to 3 have neither `deletes` and what follows it, nor the buckets
//! of a table. RedisBloom calls a table a sub-filter.

use super::RedisBloomCuckoo;
use super::numbers::CuckooNumbers;
use super::table::Table;
use crate::cuckoo::options::CuckooOptions;
use crate::cuckoo::tables::{Slots, Tables};
use crate::error::{CuckooError, Error, HeaderError};
use crate::memory::lists::try_push;
use crate::permit::Permit;
use crate::stream::{ReadFields, WriteFields, read_words};

impl RedisBloomCuckoo {
    /// Writes all after the number of tables.
    pub(crate) fn encode_fields(&self, to: &mut impl WriteFields) {
        let CuckooNumbers { items, buckets, deletes, .. } = self.numbers();
        let CuckooNumbers { bucket_size, max_iterations, expansion, .. } = self.numbers();
        for number in [buckets, items, deletes, bucket_size, max_iterations, expansion] {
            to.unsigned(number);
        }
        for table in self.list() {
            to.unsigned(table.buckets());
            to.string(table.as_bytes());
        }
    }

    /// Reads all after the number of tables. `old` are the options of filters of versions that do
    /// not store them.
    ///
    /// The slots keep the memory of their string if they can. `permit` gets one demand,
    /// for all tables, before the first is read.
    ///
    /// # Errors
    ///
    /// Those of the stream, [`Error::Header`], [`Error::Refused`] by `permit`,
    /// [`Error::OutOfMemory`].
    pub(crate) fn decode_fields<R: ReadFields>(
        from: &mut R,
        tables: u64,
        version: u32,
        old: CuckooOptions,
        permit: Permit,
    ) -> Result<Self, R::Error> {
        let (buckets, items) = (from.unsigned()?, from.unsigned()?);
        let is_new = version >= 4;
        let mut next = |old| if is_new { from.unsigned() } else { Ok(old) };
        let numbers = CuckooNumbers {
            items,
            buckets,
            tables,
            deletes: next(0)?,
            bucket_size: next(old.bucket_size.into())?,
            max_iterations: next(old.max_iterations.into())?,
            expansion: next(old.expansion.into())?,
        };
        let plan = Self::plan(&numbers, permit)?;
        let mut list = Vec::new();
        let bucket_size = plan.options.bucket_size;
        for (log2, index) in plan.log2_buckets().zip(0..) {
            let is_this = !is_new || from.unsigned()? == 1 << log2;
            let words = read_words(from, Table::bytes_of(log2, bucket_size))?;
            let words = words.filter(|_| is_this);
            let words = words.ok_or(Error::from(HeaderError::Cuckoo(CuckooError::Table(index))))?;
            try_push(&mut list, Table::with_words(words, log2, bucket_size))?;
        }
        Ok(Self::of_tables(&numbers, &plan, list.into_boxed_slice()))
    }
}
