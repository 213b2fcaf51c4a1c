//! A cuckoo filter as the numbers and strings of a value.
//!
//! Both layouts share RedisBloom's type and encoding version. The first number distinguishes them:
//! 2^64 - 1 for Bloomline's layout, the number of tables for RedisBloom's.
//!
//! ```text
//! unsigned 2^64-1
//! string            the header
//! string...         the tables, oldest first: each in strings of 2 MiB and a shorter last one; an
//!                   empty string stands for as many zeros
//! ```
//!
//! ```text
//! unsigned tables
//! ...               see `redisbloom::rdb`
//! ```

use super::AnyCuckoo;
use super::bloomline::BloomlineCuckoo;
use super::options::CuckooOptions;
use super::redisbloom::RedisBloomCuckoo;
use super::tables::Tables;
use super::word::CuckooKind;
use crate::permit::Permit;
use crate::stream::{BITS_STRING, BLOOMLINE, ReadFields, VERSION, WriteFields, read_bits};

impl AnyCuckoo {
    /// Writes the filter as a value of RedisBloom's type.
    pub fn encode_fields(&self, to: &mut impl WriteFields) {
        match self.view() {
            CuckooKind::Bloomline(filter) => {
                to.unsigned(BLOOMLINE);
                to.string(&filter.encode_header());
                filter.parts(BITS_STRING).for_each(|part| to.string(part));
            }
            CuckooKind::RedisBloom(filter) => {
                to.unsigned(u64::from(filter.table_count()));
                filter.encode_fields(to);
            }
        }
    }

    /// Reads a value of RedisBloom's type, of an encoding version up to [`VERSION`]. `old` are the
    /// options of filters of versions that do not store them.
    ///
    /// `permit` is asked before memory is allocated.
    ///
    /// # Errors
    ///
    /// Those of the stream, [`Error::Header`](crate::Error::Header),
    /// [`Error::Chunk`](crate::Error::Chunk), [`Error::Refused`](crate::Error::Refused) by
    /// `permit`, [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn decode_fields<R: ReadFields>(
        from: &mut R,
        version: u32,
        old: CuckooOptions,
        permit: Permit,
    ) -> Result<Self, R::Error> {
        match from.unsigned()? {
            BLOOMLINE if version == VERSION => {
                let header = from.string()?;
                let mut filter = BloomlineCuckoo::decode_header(header.as_ref(), permit)?;
                filter.try_each_table_mut(|table| read_bits(from, table))?;
                Ok(Self::in_box(filter)?)
            }
            tables => {
                let filter = RedisBloomCuckoo::decode_fields(from, tables, version, old, permit)?;
                Ok(Self::in_box(filter)?)
            }
        }
    }
}
