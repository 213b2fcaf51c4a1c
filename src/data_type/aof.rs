//! A filter as the BF.LOADCHUNK calls that recreate it, for AOF rewrites and copies.

use std::ffi::{c_longlong, c_void};
use std::ops::ControlFlow;

use redis_module::raw::{RedisModuleIO, RedisModuleString};

use super::handle::borrowed;
use crate::server::api::api;
use bloomline_core::AnyFilter;
use bloomline_core::chunk::MAX_CHUNK_BYTES;

/// Writes the BF.LOADCHUNK calls that recreate the filter to an append-only file.
pub unsafe extern "C" fn rewrite(
    io: *mut RedisModuleIO,
    key: *mut RedisModuleString,
    value: *mut c_void,
) {
    // SAFETY: the server passes a filter of this type.
    let filter = unsafe { borrowed(value) };
    each_loadchunk(filter, |iterator, data| {
        // SAFETY: stream and key are valid; the format describes a string, an integer, and a buffer
        // with its length.
        unsafe {
            api!(RedisModule_EmitAOF)(
                io,
                c"BF.LOADCHUNK".as_ptr(),
                c"slb".as_ptr(),
                key,
                iterator as c_longlong,
                data.as_ptr(),
                data.len(),
            );
        }
    });
}

/// Calls a function with iterator and data of each BF.LOADCHUNK that recreates the filter: first
/// the header, then each chunk that has a set bit.
pub fn each_loadchunk(filter: &AnyFilter, mut load: impl FnMut(u64, &[u8])) {
    load(1, &filter.encode_header());
    filter.each_chunk(0, MAX_CHUNK_BYTES, |chunk| {
        if !chunk.is_zero() {
            load(chunk.end() + 1, chunk.bytes());
        }
        ControlFlow::Continue(())
    });
}
