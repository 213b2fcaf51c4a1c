//! A Bloom filter as the numbers and strings of a value.
//!
//! Bloomline's layout and RedisBloom's share RedisBloom's type and encoding version. The first
//! number distinguishes them: 2^64 - 1 for Bloomline's layout, the number of items for
//! RedisBloom's.
//!
//! ```text
//! unsigned 2^64-1
//! string            the header, 64 bytes; more for a windowed or a listed filter
//! string...         the bits, oldest layer first: each layer in strings of 2 MiB and a shorter
//!                   last one; an empty string stands for as many zeros
//! ```
//!
//! ```text
//! unsigned items
//! ...               see `redisbloom::rdb`
//! ```
//!
//! valkey-bloom's layout has another type: see `valkey::rdb`.

use std::ops::ControlFlow;

use super::{AnyFilter, AnyRef};
use crate::bloom::redisbloom::RedisBloomFilter;
use crate::error::{Error, HeaderError};
use crate::permit::Permit;
use crate::spec::Layout;
use crate::stream::{BITS_STRING, BLOOMLINE, ReadFields, VERSION, WriteFields, read_bits};

impl AnyFilter {
    /// Writes the filter as a value of the type of its layout.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], in valkey-bloom's layout only; not all was written then.
    pub fn encode_fields(&self, to: &mut impl WriteFields) -> Result<(), Error> {
        match self.view() {
            AnyRef::Bloomline(_) | AnyRef::Small(_) | AnyRef::Windowed(_) => {
                to.unsigned(BLOOMLINE);
                to.string(&self.encode_header());
                self.each_chunk(0, BITS_STRING, |chunk| {
                    to.string(chunk.set_bytes());
                    ControlFlow::Continue(())
                });
            }
            AnyRef::RedisBloom(filter) => {
                to.unsigned(stored_len(filter.len()));
                filter.encode_fields(to);
            }
            AnyRef::ValkeyBloom(filter) => filter.encode_fields(to)?,
        }
        Ok(())
    }

    /// Reads a value of RedisBloom's type, of an encoding version up to [`VERSION`].
    ///
    /// A wrong number of items is repaired. `permit` is asked before memory is allocated.
    ///
    /// # Errors
    ///
    /// Those of the stream, [`Error::Header`], [`Error::Chunk`], [`Error::Refused`] by `permit`,
    /// [`Error::OutOfMemory`].
    pub fn decode_fields<R: ReadFields>(
        from: &mut R,
        version: u32,
        permit: Permit,
    ) -> Result<Self, R::Error> {
        match from.unsigned()? {
            BLOOMLINE if version == VERSION => Self::decode_strings(from, permit),
            items => {
                let filter = RedisBloomFilter::decode_fields(from, version, permit)?;
                let found = filter.len();
                if stored_len(found) != items {
                    from.repaired(format_args!("{found} items in the links, {items} in the sum"));
                }
                Ok(Self::in_box(filter)?)
            }
        }
    }

    /// Reads the header and the bits in Bloomline's layout.
    fn decode_strings<R: ReadFields>(from: &mut R, permit: Permit) -> Result<Self, R::Error> {
        let header = from.string()?;
        let mut filter = Self::decode_header(header.as_ref(), permit)?;
        if filter.layout() != Layout::Bloomline {
            return Err(Error::from(HeaderError::Magic).into());
        }
        filter.try_each_layer_mut(|bits| read_bits(from, bits))?;
        Ok(filter)
    }
}

/// The number of items as it is stored: at most 2^64 - 2. Only forged layers hold more.
fn stored_len(items: u64) -> u64 {
    items.min(BLOOMLINE - 1)
}
