//! A filter as the commands that make it again, for the rewrite of an append-only file.

use std::ffi::{c_longlong, c_void};

use redis_module::raw::{RedisModuleIO, RedisModuleString};

use super::rdb::is_zero;
use crate::bloom::AnyFilter;
use crate::server::api::api;

/// Writes BF.LOADCHUNK with the header, then one for each chunk of bits that is not all zero.
pub unsafe extern "C" fn rewrite(io: *mut RedisModuleIO, key: *mut RedisModuleString, value: *mut c_void) {
    // SAFETY: the server passes a filter of this type.
    let filter = unsafe { &*value.cast::<AnyFilter>() };
    let emit = |iterator: u64, data: &[u8]| {
        // SAFETY: stream and key are valid; the format takes a string, an integer, and a buffer with its length.
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
    };
    emit(1, &filter.encode_header());
    let mut offset = 0;
    while let Some(chunk) = filter.chunk(offset) {
        offset += chunk.len() as u64;
        if !is_zero(chunk) {
            emit(offset + 1, chunk);
        }
    }
}
