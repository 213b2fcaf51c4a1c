//! A filter in an RDB file, a DUMP payload or a full sync.
//!
//! ```text
//! unsigned 2^64-1   where RedisBloom has the number of items
//! string            the header, 64 bytes
//! string...         the bits, oldest layer first, each layer in strings of 16 MiB and a last shorter one;
//!                   an empty string stands for as many zeros
//! ```

use std::ffi::{CString, c_int, c_void};
use std::fmt;
use std::ptr::{self, NonNull};
use std::slice;

use redis_module::raw::RedisModuleIO;

use super::handle::ENCODING_VERSION;
use super::value;
use crate::server::api::api;
use crate::server::counters::LOADS_REFUSED;
use crate::server::limits::{Limits, Refusal};
use crate::server::{alloc, log};
use bloomline_core::chunk::MAX_CHUNK_BYTES;
use bloomline_core::memory::pages::LARGE;
use bloomline_core::memory::words::{Words, copy_to_zeros};
use bloomline_core::{AnyFilter, Demand, Error, Filter};

/// Stands where RedisBloom has the number of items, of which there can't be so many.
pub(super) const OWN_LAYOUT: u64 = u64::MAX;

/// Bytes of the longest string that a server may take for a number.
const SHORT: usize = 11;

/// Saves a filter.
pub unsafe extern "C" fn save(io: *mut RedisModuleIO, value: *mut c_void) {
    let sink = Sink { io };
    // SAFETY: the server passes a filter of this type.
    match unsafe { &*value.cast::<AnyFilter>() } {
        AnyFilter::Bloomline(filter) => sink.filter(filter),
        AnyFilter::RedisBloom(chain) => sink.chain(chain),
    }
}

/// Loads a filter; null, with a log line, if the bytes are not one or a limit forbids it.
///
/// Ends the process where a primary or a file has the filter and there is no memory for it.
pub unsafe extern "C" fn load(io: *mut RedisModuleIO, encver: c_int) -> *mut c_void {
    let mut stream = Stream { io, limits: Limits::outside_calls() };
    let error = match stream.any_filter(encver) {
        Ok(filter) => return value::give(filter).as_ptr(),
        Err(error) => error,
    };
    if let LoadError::OutOfMemory(bytes) = error
        && stream.limits.origin().ends_without_memory(bytes)
    {
        log::end(&format!("a filter of a primary or a file cannot be loaded: {error}"));
    }
    LOADS_REFUSED.add(1);
    stream.log(&format!("not loaded: {error}"));
    ptr::null_mut()
}

/// Why a filter is not loaded.
#[derive(Debug)]
pub(super) enum LoadError {
    /// There is no memory for so many bytes.
    OutOfMemory(u64),
    /// A limit forbids it.
    Refused(Refusal),
    /// The bytes are no filter, or end too early.
    Bytes(String),
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

/// The stream a value is written to.
pub(super) struct Sink {
    io: *mut RedisModuleIO,
}

impl Sink {
    fn filter(&self, filter: &Filter) {
        self.unsigned(OWN_LAYOUT);
        self.string(&filter.encode_header());
        filter.chunks(0).for_each(|chunk| self.string(chunk.set_bytes()));
    }

    pub(super) fn unsigned(&self, value: u64) {
        // SAFETY: the server passes a stream that may be written to; so in every function of this
        // type.
        unsafe { api!(RedisModule_SaveUnsigned)(self.io, value) };
    }

    pub(super) fn number(&self, value: f64) {
        // SAFETY: see `unsigned`.
        unsafe { api!(RedisModule_SaveDouble)(self.io, value) };
    }

    pub(super) fn string(&self, bytes: &[u8]) {
        // Redis 6.2 looks for a number in a string this short, and reads on to a byte that can't be
        // part of one: a zero for it.
        let mut ended = [0; SHORT + 1];
        let bytes = match ended.get_mut(..bytes.len()) {
            Some(copy) if copy.len() <= SHORT => {
                copy.copy_from_slice(bytes);
                copy
            }
            _ => bytes,
        };
        // SAFETY: see `unsigned`; the bytes are copied.
        unsafe { api!(RedisModule_SaveStringBuffer)(self.io, bytes.as_ptr().cast(), bytes.len()) };
    }
}

/// The stream a value is read from. What it holds is hostile until it is checked.
pub(super) struct Stream {
    io: *mut RedisModuleIO,
    limits: Limits,
}

/// A string of the stream; freed when dropped.
pub(super) struct Loaded {
    start: NonNull<u8>,
    len: usize,
}

impl Stream {
    fn any_filter(&mut self, encver: c_int) -> Result<AnyFilter, LoadError> {
        if !(0..=ENCODING_VERSION).contains(&encver) {
            let reason =
                format!("a filter of encoding version {encver}, which this release does not read");
            return Err(reason.into());
        }
        match self.unsigned()? {
            OWN_LAYOUT if encver == ENCODING_VERSION => self.filter().map(AnyFilter::from),
            items => self.chain(encver, items).map(AnyFilter::from),
        }
    }

    fn filter(&mut self) -> Result<Filter, LoadError> {
        let header = self.string()?;
        let decoded = Filter::decode_header(header.bytes(), &mut self.limits.permit());
        let mut filter = decoded.map_err(|error| match (error, self.limits.refusal()) {
            (Error::OutOfMemory(bytes), _) => LoadError::OutOfMemory(bytes),
            (Error::Refused(_), Some(refusal)) => LoadError::Refused(refusal),
            _ => LoadError::Bytes(error.to_string()),
        })?;
        for layer in filter.layers_mut() {
            for chunk in layer.as_mut_bytes().chunks_mut(MAX_CHUNK_BYTES) {
                let string = self.string()?;
                match string.bytes() {
                    // A new layer is zero already.
                    [] => {}
                    bytes if bytes.len() == chunk.len() => copy_to_zeros(chunk, bytes),
                    bytes => {
                        let (got, expected) = (bytes.len(), chunk.len());
                        return Err(format!("{got} bytes of bits instead of {expected}").into());
                    }
                }
            }
        }
        Ok(filter)
    }

    /// Puts a layer whose bits come as one string before the limits and the allocator.
    pub(super) fn may_load(&self, demand: Demand) -> Result<(), LoadError> {
        if !self.limits.allows(demand) {
            let refused = self.limits.refusal().map(LoadError::Refused);
            return Err(refused.unwrap_or(LoadError::OutOfMemory(demand.new_bytes)));
        }
        // The server reads the string itself, and reports lack of memory as data that ends too
        // early.
        let is_large = demand.new_bytes >= LARGE as u64;
        let can_allocate = || usize::try_from(demand.new_bytes).is_ok_and(alloc::can_allocate);
        if is_large && !can_allocate() {
            Err(LoadError::OutOfMemory(demand.new_bytes))
        } else {
            Ok(())
        }
    }

    pub(super) fn unsigned(&mut self) -> Result<u64, String> {
        // SAFETY: the server passes a stream that may be read from; so in every function of this
        // type.
        let value = unsafe { api!(RedisModule_LoadUnsigned)(self.io) };
        self.check().map(|()| value)
    }

    pub(super) fn number(&mut self) -> Result<f64, String> {
        // SAFETY: see `unsigned`.
        let value = unsafe { api!(RedisModule_LoadDouble)(self.io) };
        self.check().map(|()| value)
    }

    pub(super) fn string(&mut self) -> Result<Loaded, String> {
        let mut len = 0;
        // SAFETY: see `unsigned`.
        let start = unsafe { api!(RedisModule_LoadStringBuffer)(self.io, &mut len) };
        let loaded = NonNull::new(start.cast()).map(|start| Loaded { start, len });
        self.check()?;
        loaded.ok_or_else(|| "no memory for a string".into())
    }

    pub(super) fn check(&self) -> Result<(), String> {
        // SAFETY: see `unsigned`.
        match unsafe { api!(RedisModule_IsIOError)(self.io) } {
            0 => Ok(()),
            _ => Err("the data ends too early".into()),
        }
    }

    pub(super) fn log(&self, reason: &str) {
        let text = CString::new(reason).unwrap_or_default();
        // SAFETY: see `unsigned`; the format takes one C string.
        unsafe {
            api!(RedisModule_LogIOError)(
                self.io,
                c"warning".as_ptr(),
                c"bloom filter: %s".as_ptr(),
                text.as_ptr(),
            );
        }
    }
}

impl Loaded {
    /// The string's memory as words; none if it is no whole number of them.
    pub(super) fn into_words(self) -> Option<Words> {
        // SAFETY: the server allocated it, its function frees any block, and it is ours alone.
        let words = unsafe { Words::adopt(self.start, self.len as u64) }?;
        alloc::adopted(self.start, self.len);
        std::mem::forget(self);
        Some(words)
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the server allocated `len` bytes at `start`, and they are ours.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: as in `bytes`; nobody uses them any more.
        unsafe { api!(RedisModule_Free)(self.start.as_ptr().cast()) };
    }
}
