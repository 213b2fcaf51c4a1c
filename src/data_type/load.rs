//! Loading a filter from a stream: untrusted bytes, limits, and the reasons for a refusal.

use std::fmt;

use crate::policy::family::Names;
use crate::policy::limits::{Limits, Refusal};
use crate::server::alloc;
use crate::server::rdb::{LoadedString, ReadError, Reader};
use bloomline_core::Error;
use bloomline_core::host::pages::LARGE;
use bloomline_core::host::{Demand, Words, copy_to_zeros};

/// Bytes of a string of bits in Bloomline's layouts, except the last one of a layer or table. An
/// empty string stands for as many zeros.
///
/// The server reads a string into its own memory, from which it is copied. Strings of 2 MiB get
/// the same memory again and again. Those of 16 MiB got fresh pages each, which took more than half
/// of the time of a load.
pub const BITS_STRING: usize = 2 << 20;

/// The stream that a filter is loaded from, and the limits that apply to the filter.
pub struct Loader<'a> {
    /// The stream.
    pub reader: Reader,
    /// The limits.
    pub limits: Limits<'a>,
    /// The names of the filter's family.
    pub names: Names,
}

/// Why a filter is not loaded.
#[derive(Debug)]
pub enum LoadError {
    /// There is no memory for this number of bytes.
    OutOfMemory(u64),
    /// A limit forbids it.
    Refused(Refusal),
    /// The bytes are not a filter, or end too early.
    Bytes(String),
}

impl Loader<'_> {
    /// Logs a warning about the filter.
    pub fn warn(&self, reason: &str) {
        self.reader.warn(&format!("{} filter: {reason}", self.names.kind));
    }

    /// The reason for an error of the core.
    pub fn reason(&self, error: Error) -> LoadError {
        match (error, self.limits.refusal()) {
            (Error::OutOfMemory(bytes), _) => LoadError::OutOfMemory(bytes),
            (Error::Refused(_), Some(refusal)) => LoadError::Refused(refusal),
            _ => LoadError::Bytes(error.to_string()),
        }
    }

    /// Reads the strings of a layer or table, which is zero.
    ///
    /// # Errors
    ///
    /// A string of another length, and those of the stream.
    pub fn bits(&mut self, bits: &mut [u8]) -> Result<(), LoadError> {
        for part in bits.chunks_mut(BITS_STRING) {
            let string = self.reader.string()?;
            match string.bytes() {
                [] => {}
                bytes if bytes.len() == part.len() => copy_to_zeros(part, bytes),
                bytes => {
                    let (got, expected) = (bytes.len(), part.len());
                    return Err(format!("{got} bytes of bits instead of {expected}").into());
                }
            }
        }
        Ok(())
    }

    /// Reads the bits of a layer that are stored as one string. None if the string is not a whole
    /// number of words. The words keep the memory that the server allocated for the string.
    ///
    /// # Errors
    ///
    /// [`LoadError::Refused`] and [`LoadError::OutOfMemory`] before the string is read, and those
    /// of the stream.
    pub fn words(&mut self, demand: Demand) -> Result<Option<Words>, LoadError> {
        self.check(demand)?;
        Ok(adopt(self.reader.string()?))
    }

    /// Reads a string that should have `bytes` bytes, for which the limits were checked.
    ///
    /// # Errors
    ///
    /// [`LoadError::OutOfMemory`] before the string is read, and those of the stream.
    pub fn string(&mut self, bytes: u64) -> Result<LoadedString, LoadError> {
        check_memory(bytes)?;
        Ok(self.reader.string()?)
    }

    fn check(&self, demand: Demand) -> Result<(), LoadError> {
        if !self.limits.allows(demand) {
            let refused = self.limits.refusal().map(LoadError::Refused);
            return Err(refused.unwrap_or(LoadError::OutOfMemory(demand.new_bytes)));
        }
        check_memory(demand.new_bytes)
    }
}

/// Checks the free memory for a string that the server allocates itself: the server would report
/// lack of memory as data that ends too early.
fn check_memory(bytes: u64) -> Result<(), LoadError> {
    let can_allocate = || usize::try_from(bytes).is_ok_and(alloc::can_allocate);
    if bytes >= LARGE as u64 && !can_allocate() {
        return Err(LoadError::OutOfMemory(bytes));
    }
    Ok(())
}

/// The string's memory as words; none if it is not a whole number of them.
fn adopt(string: LoadedString) -> Option<Words> {
    let len = string.bytes().len() as u64;
    // SAFETY: the server's allocator, which is the global one, allocated the string with this
    // length and initialized it; `leak` gives up the ownership.
    let words = unsafe { Words::adopt(string.as_ptr(), len) }?;
    string.leak();
    Some(words)
}

impl From<ReadError> for LoadError {
    fn from(error: ReadError) -> Self {
        Self::Bytes(error.to_string())
    }
}

impl From<String> for LoadError {
    fn from(reason: String) -> Self {
        Self::Bytes(reason)
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfMemory(bytes) => write!(f, "there is no memory for {bytes} bytes"),
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Bytes(reason) => f.write_str(reason),
        }
    }
}
