//! The table of callbacks, its registration, and the short callbacks.

use std::ffi::{CStr, c_void};
use std::ops::ControlFlow;
use std::ptr::{self, NonNull};

use redis_module::raw::{
    REDISMODULE_TYPE_METHOD_VERSION, RedisModuleDigest, RedisModuleString, RedisModuleTypeMethods,
};

use super::handle::{self, borrowed};
use super::{aof, defrag, rdb};
use crate::policy::counters::CREATIONS_REFUSED;
use crate::policy::limits::Limits;
use crate::server::api::api;
use crate::server::args::Arg;
use crate::server::loading::Loading;
use crate::server::log;
use bloomline_core::chunk::MAX_CHUNK_BYTES;

/// The name of the type: RedisBloom's, because files and programs contain it.
const NAME: &CStr = c"MBbloom--";

/// Bytes of memory that count as one unit of work when they are freed: a page.
const FREE_UNIT: u64 = 4096;

/// Registers the type. False if the server refuses it.
pub fn register(loading: Loading) -> bool {
    let mut methods = methods();
    // SAFETY: the module is being loaded, and the server copies name and methods.
    let filter_type = unsafe {
        api!(RedisModule_CreateDataType)(
            loading.as_ptr(),
            NAME.as_ptr(),
            rdb::ENCODING_VERSION,
            &mut methods,
        )
    };
    handle::set_type(filter_type);
    !filter_type.is_null()
}

/// The functions that the server calls for values of the type. An empty slot has a comment with the
/// reason.
fn methods() -> RedisModuleTypeMethods {
    RedisModuleTypeMethods {
        version: u64::from(REDISMODULE_TYPE_METHOD_VERSION),
        rdb_load: Some(rdb::load),
        rdb_save: Some(rdb::save),
        aof_rewrite: Some(aof::rewrite),
        mem_usage: Some(mem_usage),
        digest: Some(digest),
        free: Some(free),
        free_effort: Some(free_effort),
        copy: Some(copy),
        defrag: Some(defrag::defrag),
        // Nothing outside the keyspace is saved.
        aux_load: None,
        aux_save: None,
        aux_save2: None,
        aux_save_triggers: 0,
        // Nothing outside of the value refers to it, so unlinking has nothing to do.
        unlink: None,
        unlink2: None,
        // The variants of a later interface add the key's name and database. No callback needs
        // them.
        mem_usage2: None,
        free_effort2: None,
        copy2: None,
    }
}

unsafe extern "C" fn free(value: *mut c_void) {
    if let Some(value) = NonNull::new(value) {
        // SAFETY: the server gives up the value. May run on another thread: a filter is `Send`.
        drop(unsafe { handle::from_raw(value) });
    }
}

/// The bytes that the allocator uses for the filter and all its blocks of memory.
unsafe extern "C" fn mem_usage(value: *const c_void) -> usize {
    // SAFETY: the server passes a filter of this type, whose blocks are the allocator's.
    unsafe {
        let size = api!(RedisModule_MallocSize);
        let mut bytes = size(value.cast_mut());
        borrowed(value).each_block(|block| bytes += size(block.as_ptr().cast()));
        bytes
    }
}

unsafe extern "C" fn free_effort(_key: *mut RedisModuleString, value: *const c_void) -> usize {
    // SAFETY: the server passes a filter of this type.
    let bytes = unsafe { borrowed(value) }.size_bytes();
    // Above 64 units, which is 256 KiB, the server frees in the background. Zero would mean
    // "always".
    bytes.div_ceil(FREE_UNIT) as usize
}

/// Hashes the header and all bits. The bits are hashed in chunks, because the server's hash takes a
/// length of 32 bits.
///
/// A chunk of zeros is hashed as an empty one, so that untouched memory is not read. Different bits
/// still give different sequences, because the header determines the number and the lengths of the
/// chunks.
unsafe extern "C" fn digest(digest: *mut RedisModuleDigest, value: *mut c_void) {
    // SAFETY: the server passes a filter of this type, and reads the bytes before
    // its function returns.
    unsafe {
        let filter = borrowed(value);
        let add = |bytes: &[u8]| {
            api!(RedisModule_DigestAddStringBuffer)(digest, bytes.as_ptr().cast(), bytes.len())
        };
        add(&filter.encode_header());
        filter.each_chunk(0, MAX_CHUNK_BYTES, |chunk| {
            add(chunk.set_bytes());
            ControlFlow::Continue(())
        });
        api!(RedisModule_DigestEndSequence)(digest);
    }
}

/// Copies a filter for another key. Null if a limit or lack of memory forbids it; the server
/// replies with an error then.
///
/// Ends the process if the copy is replicated or loaded from a file, and there is no memory for it.
unsafe extern "C" fn copy(
    from: *mut RedisModuleString,
    to: *mut RedisModuleString,
    value: *const c_void,
) -> *mut c_void {
    let limits = Limits::outside_calls();
    // SAFETY: the server passes a filter of this type.
    let filter = unsafe { borrowed(value) };
    let error = match filter.try_clone(&mut limits.permit()) {
        Ok(copy) => return handle::into_raw(copy).as_ptr(),
        Err(error) => error,
    };
    // SAFETY: the server passes the names of both keys.
    let (from, to) = unsafe { (Arg::borrowed(&from).shown(), Arg::borrowed(&to).shown()) };
    let why = limits.reason(error);
    if limits.origin().ends_without_memory(filter.size_bytes()) {
        log::fatal(&format!("a primary or a file has copied filter '{from}' to '{to}', but {why}"));
    }
    CREATIONS_REFUSED.add(1);
    log::refusal(format_args!("COPY of filter '{from}' to '{to}' refused: {why}"));
    ptr::null_mut()
}
