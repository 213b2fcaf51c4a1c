//! A filter as the commands that make it again, for the rewrite of an append-only file.

use std::ffi::{c_longlong, c_void};
use std::ops::ControlFlow;

use redis_module::raw::{RedisModuleIO, RedisModuleString};

use crate::server::api::api;
use bloomline_core::AnyFilter;

/// Writes BF.LOADCHUNK with the header, then one for each chunk of bits that is not all zero.
pub unsafe extern "C" fn rewrite(
    io: *mut RedisModuleIO,
    key: *mut RedisModuleString,
    value: *mut c_void,
) {
    // SAFETY: the server passes a filter of this type.
    let filter = unsafe { &*value.cast::<AnyFilter>() };
    let emit = |iterator: u64, data: &[u8]| {
        // SAFETY: stream and key are valid; the format takes a string, an integer, and a buffer
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
    };
    each_load(filter, emit);
}

/// Calls a function with iterator and data of each BF.LOADCHUNK that makes the filter again: the
/// header, then the chunks that have a set bit.
pub fn each_load(filter: &AnyFilter, mut load: impl FnMut(u64, &[u8])) {
    load(1, &filter.encode_header());
    filter.each_chunk(0, |chunk| {
        if !chunk.is_zero() {
            load(chunk.end() + 1, chunk.bytes());
        }
        ControlFlow::Continue(())
    });
}
