//! Loading a filter from a stream: untrusted bytes, limits, and the reasons for a refusal.

use std::fmt;

use crate::policy::limits::{Limits, Refusal};
use crate::server::alloc;
use crate::server::rdb::{LoadedString, ReadError, Reader};
use bloomline_core::memory::pages::LARGE;
use bloomline_core::memory::words::Words;
use bloomline_core::{Demand, Error};

/// The stream that a filter is loaded from, and the limits that apply to the filter.
pub struct Loader {
    /// The stream.
    pub reader: Reader,
    /// The limits.
    pub limits: Limits,
}

/// Why a filter is not loaded.
#[derive(Debug)]
pub enum LoadError {
    /// There is no memory for so many bytes.
    OutOfMemory(u64),
    /// A limit forbids it.
    Refused(Refusal),
    /// The bytes are not a filter, or end too early.
    Bytes(String),
}

impl Loader {
    /// Logs a warning about the filter.
    pub fn warn(&self, reason: &str) {
        self.reader.warn(&format!("bloom filter: {reason}"));
    }

    /// The reason for an error of the core.
    pub fn reason(&self, error: Error) -> LoadError {
        match (error, self.limits.refusal()) {
            (Error::OutOfMemory(bytes), _) => LoadError::OutOfMemory(bytes),
            (Error::Refused(_), Some(refusal)) => LoadError::Refused(refusal),
            _ => LoadError::Bytes(error.to_string()),
        }
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

    /// Checks the limits and the free memory for a string that the server allocates itself: the
    /// server would report lack of memory as data that ends too early.
    fn check(&self, demand: Demand) -> Result<(), LoadError> {
        if !self.limits.allows(demand) {
            let refused = self.limits.refusal().map(LoadError::Refused);
            return Err(refused.unwrap_or(LoadError::OutOfMemory(demand.new_bytes)));
        }
        let is_large = demand.new_bytes >= LARGE as u64;
        let can_allocate = || usize::try_from(demand.new_bytes).is_ok_and(alloc::can_allocate);
        if is_large && !can_allocate() {
            Err(LoadError::OutOfMemory(demand.new_bytes))
        } else {
            Ok(())
        }
    }
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
