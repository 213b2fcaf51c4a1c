//! The header in RedisBloom's layout: everything about a filter but its tables, as CF.SCANDUMP
//! returns it and CF.LOADCHUNK takes it.
//!
//! ```text
//! 0      8        16       24      32           34              36         38
//! items  buckets  deletes  tables  bucket_size  max_iterations  expansion
//! ```
//!
//! All numbers are little-endian, without padding between the fields.

use super::RedisBloomCuckoo;
use super::numbers::CuckooNumbers;
use crate::error::{Error, HeaderError};
use crate::header_fields::{FieldReader, FieldWriter};
use crate::permit::Permit;

pub const HEADER_BYTES: usize = 38;

impl RedisBloomCuckoo {
    /// The header: everything about the filter but its tables. [`HEADER_BYTES`] long.
    pub fn encode_header(&self) -> Vec<u8> {
        let numbers = self.numbers();
        let mut fields = FieldWriter::<HEADER_BYTES>::new();
        fields.put(numbers.items.to_le_bytes());
        fields.put(numbers.buckets.to_le_bytes());
        fields.put(numbers.deletes.to_le_bytes());
        fields.put(numbers.tables.to_le_bytes());
        fields.put((numbers.bucket_size as u16).to_le_bytes());
        fields.put((numbers.max_iterations as u16).to_le_bytes());
        fields.put((numbers.expansion as u16).to_le_bytes());
        fields.finish().to_vec()
    }

    /// The filter of a header, with all slots empty; `load_chunk` writes them.
    ///
    /// The bytes may come from anywhere. Nothing is allocated before all numbers are valid and the
    /// permit was granted.
    ///
    /// # Errors
    ///
    /// [`Error::Header`], [`Error::Refused`] by `permit`, [`Error::OutOfMemory`].
    pub fn decode_header(bytes: &[u8], permit: Permit) -> Result<Self, Error> {
        Self::with_numbers(&describe(bytes)?, permit)
    }
}

/// The numbers in a header, which may be any.
pub(super) fn describe(bytes: &[u8]) -> Result<CuckooNumbers, HeaderError> {
    if bytes.len() != HEADER_BYTES {
        return Err(HeaderError::Length(bytes.len()));
    }
    let mut fields = FieldReader::new(bytes);
    Ok(CuckooNumbers {
        items: u64::from_le_bytes(fields.take()),
        buckets: u64::from_le_bytes(fields.take()),
        deletes: u64::from_le_bytes(fields.take()),
        tables: u64::from_le_bytes(fields.take()),
        bucket_size: u16::from_le_bytes(fields.take()).into(),
        max_iterations: u16::from_le_bytes(fields.take()).into(),
        expansion: u16::from_le_bytes(fields.take()).into(),
    })
}
