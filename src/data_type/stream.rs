//! A stream of the server as the core writes and reads it: untrusted bytes, and why they are no
//! filter.

use std::ffi::c_int;
use std::fmt;

use super::family::Names;
use crate::policy::limits::{Limits, Refusal};
use crate::server::alloc;
use crate::server::rdb::{LoadedString, ReadError, Reader, Writer};
use bloomline_core::Error;
use bloomline_core::host::Words;
use bloomline_core::host::pages::LARGE;
use bloomline_core::host::stream::{OwnedBytes, ReadFields, WriteFields};

/// The stream that a filter is saved to.
pub struct Saver(pub Writer);

impl WriteFields for Saver {
    fn unsigned(&mut self, value: u64) {
        self.0.unsigned(value);
    }

    fn number(&mut self, value: f64) {
        self.0.number(value);
    }

    fn string(&mut self, bytes: &[u8]) {
        self.0.string(bytes);
    }
}

/// The stream that a filter is loaded from.
pub struct Loader {
    pub reader: Reader,
    /// The names of the filter's family.
    pub names: Names,
}

impl Loader {
    pub fn warn(&self, reason: &str) {
        self.reader.warn(&format!("{} filter: {reason}", self.names.kind));
    }
}

impl ReadFields for Loader {
    type Bytes = LoadedString;
    type Error = LoadError;

    fn unsigned(&mut self) -> Result<u64, LoadError> {
        Ok(self.reader.unsigned()?)
    }

    fn number(&mut self) -> Result<f64, LoadError> {
        Ok(self.reader.number()?)
    }

    fn string(&mut self) -> Result<LoadedString, LoadError> {
        Ok(self.reader.string()?)
    }

    /// The server allocates the string itself, and would report lack of memory as data that ends
    /// too early.
    fn long_string(&mut self, bytes: u64) -> Result<LoadedString, LoadError> {
        let can_allocate = || usize::try_from(bytes).is_ok_and(alloc::can_allocate);
        if bytes >= LARGE as u64 && !can_allocate() {
            return Err(LoadError::OutOfMemory(bytes));
        }
        self.string()
    }

    fn repaired(&mut self, what: fmt::Arguments) {
        self.warn(&format!("repaired: {what}"));
    }
}

impl OwnedBytes for LoadedString {
    fn into_words(self) -> Result<Words, Self> {
        let len = self.bytes().len() as u64;
        // SAFETY: the server's allocator, which is the global one, allocated the string with this
        // length and initialized it; `leak` gives up the ownership.
        match unsafe { Words::adopt(self.as_ptr(), len) } {
            Some(words) => {
                self.leak();
                Ok(words)
            }
            None => Err(self),
        }
    }
}

/// Why a filter is not loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("there is no memory for {0} bytes")]
    OutOfMemory(u64),
    #[error(transparent)]
    Refused(Refusal),
    /// The numbers and strings are not a filter.
    #[error(transparent)]
    Core(#[from] Error),
    #[error(transparent)]
    Stream(#[from] ReadError),
    /// A later release has written it.
    #[error("its encoding version is {found}, and the newest that this release reads is {newest}")]
    Version { found: c_int, newest: c_int },
}

impl LoadError {
    /// What is behind an error of the core: the limit that was exceeded, or lack of memory.
    pub fn under(self, limits: &Limits) -> Self {
        match (self, limits.refusal()) {
            (Self::Core(Error::OutOfMemory(bytes)), _) => Self::OutOfMemory(bytes),
            (Self::Core(Error::Refused(_)), Some(refusal)) => Self::Refused(refusal),
            (error, _) => error,
        }
    }
}
