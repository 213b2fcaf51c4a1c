//! The stream of one value in an RDB file, a DUMP payload or a full synchronization.

use std::mem;
use std::ptr::NonNull;
use std::slice;

use redis_module::raw::{self, RedisModuleIO};

use super::alloc;
use super::api::api;
use super::log;

/// The longest string, in bytes, that a server may try to read as a number.
const MAX_NUMBER_BYTES: usize = 11;

/// The stream that a value is saved to.
pub struct Writer {
    io: *mut RedisModuleIO,
}

impl Writer {
    /// The stream that the server passed to a callback.
    ///
    /// # Safety
    ///
    /// `io` must be valid for writing for as long as the result is used. The server guarantees this
    /// until the callback returns.
    pub unsafe fn new(io: *mut RedisModuleIO) -> Self {
        Self { io }
    }

    pub fn unsigned(&self, value: u64) {
        raw::save_unsigned(self.io, value);
    }

    pub fn number(&self, value: f64) {
        raw::save_double(self.io, value);
    }

    pub fn string(&self, bytes: &[u8]) {
        // Redis 6.2 tries to read a string this short as a number, and may read one byte past its
        // end. A zero byte there ends the number.
        let mut terminated = [0; MAX_NUMBER_BYTES + 1];
        let bytes = match terminated.get_mut(..bytes.len()) {
            Some(copy) if copy.len() <= MAX_NUMBER_BYTES => {
                copy.copy_from_slice(bytes);
                copy
            }
            _ => bytes,
        };
        raw::save_slice(self.io, bytes);
    }
}

/// The stream that a value is loaded from. Its content is untrusted.
pub struct Reader {
    io: *mut RedisModuleIO,
}

/// Why a read failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error("the data ends too early")]
    Truncated,
    #[error("no memory for a string")]
    OutOfMemory,
}

/// A string of the stream, in memory of the server's allocator; freed when dropped.
pub struct LoadedString {
    start: NonNull<u8>,
    len: usize,
}

impl Reader {
    /// The stream that the server passed to a callback.
    ///
    /// # Safety
    ///
    /// `io` must be valid for reading for as long as the result is used. The server guarantees this
    /// until the callback returns.
    pub unsafe fn new(io: *mut RedisModuleIO) -> Self {
        Self { io }
    }

    /// Reads an unsigned integer.
    ///
    /// # Errors
    ///
    /// [`ReadError::Truncated`].
    pub fn unsigned(&mut self) -> Result<u64, ReadError> {
        raw::load_unsigned(self.io).map_err(|_| ReadError::Truncated)
    }

    /// Reads a number.
    ///
    /// # Errors
    ///
    /// [`ReadError::Truncated`].
    pub fn number(&mut self) -> Result<f64, ReadError> {
        raw::load_double(self.io).map_err(|_| ReadError::Truncated)
    }

    /// Reads a string.
    ///
    /// Not through the crate `redis_module`: the buffer that it returns cannot be adopted.
    ///
    /// # Errors
    ///
    /// Either [`ReadError`].
    pub fn string(&mut self) -> Result<LoadedString, ReadError> {
        let mut len = 0;
        // SAFETY: the stream is valid, as promised to `new`.
        let start = unsafe { api!(RedisModule_LoadStringBuffer)(self.io, &mut len) };
        let loaded = NonNull::new(start.cast()).map(|start| LoadedString { start, len });
        if raw::is_io_error(self.io) {
            return Err(ReadError::Truncated);
        }
        loaded.ok_or(ReadError::OutOfMemory)
    }

    /// Writes a warning with the position in the stream to the server's log.
    pub fn warn(&self, text: &str) {
        let text = log::line(text);
        // SAFETY: the stream is valid, as promised to `new`; the format takes one C string.
        unsafe {
            api!(RedisModule_LogIOError)(
                self.io,
                c"warning".as_ptr(),
                c"%s".as_ptr(),
                text.as_ptr(),
            );
        }
    }
}

impl LoadedString {
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the server allocated `len` bytes at `start` and initialized them.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// The start of the bytes.
    pub fn as_ptr(&self) -> NonNull<u8> {
        self.start
    }

    /// Leaves the memory to a new owner, who frees it through the global allocator.
    pub fn leak(self) {
        alloc::adopted(self.start, self.len);
        mem::forget(self);
    }
}

impl AsRef<[u8]> for LoadedString {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

impl Drop for LoadedString {
    fn drop(&mut self) {
        // SAFETY: the server allocated the string, and nothing uses it any more.
        unsafe { api!(RedisModule_Free)(self.start.as_ptr().cast()) };
    }
}
