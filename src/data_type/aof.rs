//! A filter as the BF.LOADCHUNK calls that recreate it, for AOF rewrites.

use std::ffi::{c_longlong, c_void};

use redis_module::raw::{RedisModuleIO, RedisModuleString};

use super::handle::borrowed;
use crate::policy::replicate::each_loadchunk;
use crate::server::api::api;

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
