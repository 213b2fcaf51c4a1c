//! A filter as the calls that recreate it, for AOF rewrites.

use std::ffi::{CStr, c_longlong, c_void};

use redis_module::raw::{RedisModuleIO, RedisModuleString};

use super::family::DataType;
use super::handle::borrowed;
use crate::server::api::api;

/// valkey-bloom's command that creates a filter of a payload.
const LOAD: &CStr = c"BF.LOAD";

/// Writes the calls that recreate the filter to an append-only file.
pub unsafe extern "C" fn rewrite<F: DataType>(
    io: *mut RedisModuleIO,
    key: *mut RedisModuleString,
    value: *mut c_void,
) {
    // SAFETY: the server passes a filter of this type.
    let filter = unsafe { borrowed::<F>(value) };
    if let Some(payload) = filter.payload() {
        // SAFETY: stream and key are valid; the format describes a string, and a buffer with its
        // length.
        unsafe {
            let (name, format) = (LOAD.as_ptr(), c"sb".as_ptr());
            api!(RedisModule_EmitAOF)(io, name, format, key, payload.as_ptr(), payload.len());
        }
        return;
    }
    filter.each_loadchunk(|iterator, data| {
        // SAFETY: stream and key are valid; the format describes a string, an integer, and a buffer
        // with its length.
        unsafe {
            api!(RedisModule_EmitAOF)(
                io,
                F::NAMES.loadchunk.as_ptr(),
                c"slb".as_ptr(),
                key,
                iterator as c_longlong,
                data.as_ptr(),
                data.len(),
            );
        }
    });
}
