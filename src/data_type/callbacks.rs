//! The table of callbacks, and the short ones.

use std::ffi::c_void;

use redis_module::raw::{REDISMODULE_TYPE_METHOD_VERSION, RedisModuleTypeMethods};

use super::{aof, rdb};
use crate::bloom::Filter;

/// Bytes of memory that count as one unit of work when it is freed: a page.
const FREE_UNIT: u64 = 4096;

/// What the server calls for values of the type. A slot without a function says why.
pub fn methods() -> RedisModuleTypeMethods {
    RedisModuleTypeMethods {
        version: u64::from(REDISMODULE_TYPE_METHOD_VERSION),
        rdb_load: Some(rdb::load),
        rdb_save: Some(rdb::save),
        aof_rewrite: Some(aof::rewrite),
        mem_usage: Some(mem_usage),
        free: Some(free),
        free_effort: Some(free_effort),
        // Nothing outside the keyspace is saved.
        aux_load: None,
        aux_save: None,
        aux_save2: None,
        aux_save_triggers: 0,
        // A filter leaves no trace elsewhere that unlinking would have to remove.
        unlink: None,
        unlink2: None,
        digest: None,
        copy: None,
        copy2: None,
        defrag: None,
        // The variants of a later interface add the key's name and database, which no callback here needs.
        mem_usage2: None,
        free_effort2: None,
    }
}

/// # Safety
///
/// What every callback is promised by the server: `value` is a filter of this type, which `store` or `rdb::load` boxed.
unsafe fn borrowed<'a>(value: *const c_void) -> &'a Filter {
    // SAFETY: promised by the caller.
    unsafe { &*value.cast() }
}

unsafe extern "C" fn free(value: *mut c_void) {
    // SAFETY: the server gives up the box that it was given. May run on another thread: a filter is `Send`.
    drop(unsafe { Box::from_raw(value.cast::<Filter>()) });
}

unsafe extern "C" fn mem_usage(value: *const c_void) -> usize {
    // SAFETY: see `borrowed`.
    unsafe { borrowed(value) }.size_bytes() as usize
}

unsafe extern "C" fn free_effort(
    _key: *mut redis_module::raw::RedisModuleString,
    value: *const c_void,
) -> usize {
    // SAFETY: see `borrowed`.
    let bytes = unsafe { borrowed(value) }.size_bytes();
    // Above 64 the server frees in the background, from 256 KiB on. Zero would mean "always".
    bytes.div_ceil(FREE_UNIT) as usize
}
