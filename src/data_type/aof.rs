//! A filter as the commands that make it again, for the rewrite of an append-only file.

use std::ffi::{c_longlong, c_void};
use std::ops::ControlFlow;

use redis_module::raw::{RedisModuleIO, RedisModuleString};

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
    filter.each_chunk(0, |chunk| {
        if !chunk.is_zero() {
            emit(chunk.end() + 1, chunk.bytes());
        }
        ControlFlow::Continue(())
    });
}
