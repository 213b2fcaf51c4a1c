//! A filter in an RDB file, a DUMP payload or a full sync.
//!
//! ```text
//! unsigned 2^64-1   where RedisBloom has the number of items
//! string            the header, 64 bytes
//! string...         the bits, oldest layer first, each layer in strings of 16 MiB and a last shorter one;
//!                   an empty string stands for as many zeros
//! ```

use std::ffi::{CString, c_int, c_void};
use std::ptr::{self, NonNull};
use std::slice;

use redis_module::raw::RedisModuleIO;

use super::handle::ENCODING_VERSION;
use crate::bloom::Filter;
use crate::bloom::codec::MAX_CHUNK_BYTES;
use crate::server::api::api;
use crate::server::limits;

/// Stands where RedisBloom has the number of items, of which there can't be so many.
const OWN_LAYOUT: u64 = u64::MAX;

/// A string of no bytes. Redis 6.2 reads the byte behind a short string, so there must be one.
const EMPTY: &[u8] = [0; 8].split_at(0).0;

/// Saves a filter.
pub unsafe extern "C" fn save(io: *mut RedisModuleIO, value: *mut c_void) {
    // SAFETY: the server passes a filter of this type, and a stream that may be written to.
    let filter = unsafe { &*value.cast::<Filter>() };
    let put = |bytes: &[u8]| {
        // SAFETY: as above; the bytes are copied.
        unsafe { api!(RedisModule_SaveStringBuffer)(io, bytes.as_ptr().cast(), bytes.len()) }
    };
    // SAFETY: as above.
    unsafe { api!(RedisModule_SaveUnsigned)(io, OWN_LAYOUT) };
    put(&filter.encode_header());
    for layer in filter.layers() {
        for chunk in layer.as_bytes().chunks(MAX_CHUNK_BYTES) {
            put(if is_zero(chunk) { EMPTY } else { chunk });
        }
    }
}

/// Loads a filter; null, with a log line, if the bytes are not one.
pub unsafe extern "C" fn load(io: *mut RedisModuleIO, encver: c_int) -> *mut c_void {
    let mut stream = Stream { io };
    match stream.filter(encver) {
        Ok(filter) => Box::into_raw(Box::new(filter)).cast(),
        Err(reason) => {
            stream.log(&reason);
            ptr::null_mut()
        }
    }
}

/// Whether all bytes are zero; stops at the first that is not.
pub fn is_zero(chunk: &[u8]) -> bool {
    chunk.iter().all(|&byte| byte == 0)
}

/// The stream a value is read from. What it holds is hostile until it is checked.
struct Stream {
    io: *mut RedisModuleIO,
}

/// A string of the stream; freed when dropped.
struct Loaded {
    start: NonNull<u8>,
    len: usize,
}

impl Stream {
    fn filter(&mut self, encver: c_int) -> Result<Filter, String> {
        if encver != ENCODING_VERSION {
            return Err(format!("a filter of encoding version {encver}, which this release does not read"));
        }
        if self.unsigned()? != OWN_LAYOUT {
            return Err("a filter in RedisBloom's layout, which this release does not read".into());
        }
        let header = self.string()?;
        let mut permit = |demand: crate::bloom::Demand| limits::may_load(demand.filter_bytes);
        let mut filter =
            Filter::decode_header(header.bytes(), &mut permit).map_err(|error| error.to_string())?;
        for layer in filter.layers_mut() {
            for chunk in layer.as_mut_bytes().chunks_mut(MAX_CHUNK_BYTES) {
                let string = self.string()?;
                match string.bytes() {
                    // A new layer is zero already.
                    [] => {}
                    bytes if bytes.len() == chunk.len() => chunk.copy_from_slice(bytes),
                    bytes => return Err(format!("{} bytes of bits instead of {}", bytes.len(), chunk.len())),
                }
            }
        }
        Ok(filter)
    }

    fn unsigned(&mut self) -> Result<u64, String> {
        // SAFETY: the server passes a stream that may be read from; so in every function of this type.
        let value = unsafe { api!(RedisModule_LoadUnsigned)(self.io) };
        self.check().map(|()| value)
    }

    fn string(&mut self) -> Result<Loaded, String> {
        let mut len = 0;
        // SAFETY: see `unsigned`.
        let start = unsafe { api!(RedisModule_LoadStringBuffer)(self.io, &mut len) };
        let loaded = NonNull::new(start.cast()).map(|start| Loaded { start, len });
        self.check()?;
        loaded.ok_or_else(|| "no memory for a string".into())
    }

    fn check(&self) -> Result<(), String> {
        // SAFETY: see `unsigned`.
        match unsafe { api!(RedisModule_IsIOError)(self.io) } {
            0 => Ok(()),
            _ => Err("the data ends too early".into()),
        }
    }

    fn log(&self, reason: &str) {
        let text = CString::new(reason).unwrap_or_default();
        // SAFETY: see `unsigned`; the format takes one C string.
        unsafe {
            api!(RedisModule_LogIOError)(
                self.io,
                c"warning".as_ptr(),
                c"bloom filter not loaded: %s".as_ptr(),
                text.as_ptr(),
            );
        }
    }
}

impl Loaded {
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
