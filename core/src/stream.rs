//! The value of a key as numbers and strings, one after the other, as servers store it in RDB
//! files, DUMP payloads and full synchronizations.
//!
//! The file `rdb` of each layout says which numbers and strings a filter has, and reads them.
//! They may come from anywhere: nothing is requested for a size that is only claimed, but for bits
//! whose pages are untouched until they are read.

use std::fmt;

use crate::error::{ChunkError, Error, HeaderError};
use crate::memory::words::{Words, copy_to_zeros};

/// The version of RedisBloom's encodings that is written, which is the newest one that is read.
/// Both types have the same.
pub const VERSION: u32 = 4;

/// The first number of a filter in Bloomline's layouts, which share RedisBloom's types. RedisBloom
/// writes a number of items or tables there.
pub(crate) const BLOOMLINE: u64 = u64::MAX;

/// Bytes of a string of bits in Bloomline's layouts, except the last one of a layer or table. An
/// empty string stands for as many zeros.
///
/// The server reads a string into its own memory, from which it is copied. Strings of 2 MiB get the
/// same memory again and again; larger ones get fresh pages each, which costs more than the copy.
pub const BITS_STRING: usize = 2 << 20;

/// A string of a stream.
pub trait OwnedBytes: AsRef<[u8]> + Sized {
    /// The memory of the string as words.
    ///
    /// # Errors
    ///
    /// The string, if its memory cannot be that of words.
    fn into_words(self) -> Result<Words, Self>;
}

impl OwnedBytes for Vec<u8> {
    fn into_words(self) -> Result<Words, Self> {
        Err(self)
    }
}

pub trait ReadFields {
    /// A string of the stream.
    type Bytes: OwnedBytes;
    /// Why nothing can be read, or the error of the filter.
    type Error: From<Error>;

    /// Reads an unsigned number.
    ///
    /// # Errors
    ///
    /// Those of the stream.
    fn unsigned(&mut self) -> Result<u64, Self::Error>;

    /// Reads a floating-point number.
    ///
    /// # Errors
    ///
    /// Those of the stream.
    fn number(&mut self) -> Result<f64, Self::Error>;

    /// Reads a string.
    ///
    /// # Errors
    ///
    /// Those of the stream.
    fn string(&mut self) -> Result<Self::Bytes, Self::Error>;

    /// Reads a string that should have `bytes` bytes, after a check that there is memory for it if
    /// the stream does not check that itself.
    ///
    /// # Errors
    ///
    /// Lack of memory, and those of the stream.
    fn long_string(&mut self, bytes: u64) -> Result<Self::Bytes, Self::Error> {
        let _ = bytes;
        self.string()
    }

    /// Gets what was wrong and could be repaired.
    fn repaired(&mut self, what: fmt::Arguments) {
        let _ = what;
    }
}

/// A stream that is written.
pub trait WriteFields {
    fn unsigned(&mut self, value: u64);

    fn number(&mut self, value: f64);

    fn string(&mut self, bytes: &[u8]);
}

/// A number of a field that is narrower than what a stream can hold.
///
/// # Errors
///
/// [`HeaderError::Range`].
pub(crate) fn within<T: TryFrom<u64>>(field: &'static str, number: u64) -> Result<T, Error> {
    T::try_from(number).map_err(|_| HeaderError::Range { field, number }.into())
}

/// Reads a string of `bytes` bytes as words: its own memory, or a copy of it, with zeros up to a
/// whole word. `None` if it is shorter or longer, or empty.
///
/// # Errors
///
/// [`Error::OutOfMemory`], and those of the stream.
pub(crate) fn read_words<R: ReadFields>(
    from: &mut R,
    bytes: u64,
) -> Result<Option<Words>, R::Error> {
    let text = from.long_string(bytes)?;
    if bytes == 0 || text.as_ref().len() as u64 != bytes {
        return Ok(None);
    }
    let words = text.into_words().or_else(|text| {
        let mut words = Words::zeroed(bytes.div_ceil(8))?;
        if let Some(content) = words.as_mut_bytes().get_mut(..text.as_ref().len()) {
            copy_to_zeros(content, text.as_ref());
        }
        Ok(words)
    });
    words.map(Some).map_err(|error: Error| error.into())
}

/// Reads the strings of the bits of a layer or table, which are zero.
///
/// # Errors
///
/// [`ChunkError::Length`], and those of the stream.
pub(crate) fn read_bits<R: ReadFields>(from: &mut R, bits: &mut [u8]) -> Result<(), R::Error> {
    for part in bits.chunks_mut(BITS_STRING) {
        let text = from.string()?;
        match text.as_ref() {
            [] => {}
            bytes if bytes.len() == part.len() => copy_to_zeros(part, bytes),
            bytes => {
                let (len, expected) = (bytes.len() as u64, part.len() as u64);
                return Err(Error::from(ChunkError::Length { len, expected }).into());
            }
        }
    }
    Ok(())
}
