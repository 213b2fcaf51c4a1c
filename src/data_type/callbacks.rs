//! The table of callbacks, and the short ones.

use std::ffi::c_void;
use std::ops::ControlFlow;
use std::ptr::{self, NonNull};

use redis_module::raw::{
    REDISMODULE_TYPE_METHOD_VERSION, RedisModuleDigest, RedisModuleString, RedisModuleTypeMethods,
};

use super::{aof, defrag, rdb, value};
use crate::server::api::api;
use crate::server::args::Arg;
use crate::server::counters::CREATIONS_REFUSED;
use crate::server::limits::Limits;
use crate::server::log;
use bloomline_core::AnyFilter;

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
        // A filter leaves no trace elsewhere that unlinking would have to remove.
        unlink: None,
        unlink2: None,
        // The variants of a later interface add the key's name and database, which no callback here
        // needs.
        mem_usage2: None,
        free_effort2: None,
        copy2: None,
    }
}

/// # Safety
///
/// `value` must be what the server passes to a callback of this type: given by `value::give`, alive
/// and not being changed.
unsafe fn borrowed<'a>(value: *const c_void) -> &'a AnyFilter {
    // SAFETY: promised by the caller.
    unsafe { &*value.cast() }
}

unsafe extern "C" fn free(value: *mut c_void) {
    if let Some(value) = NonNull::new(value) {
        // SAFETY: the server gives up the value. May run on another thread: a filter is `Send`.
        drop(unsafe { value::take_back(value) });
    }
}

/// The bytes that the allocator gave for the filter and all its blocks.
unsafe extern "C" fn mem_usage(value: *const c_void) -> usize {
    // SAFETY: see `borrowed`; the blocks are the allocator's.
    unsafe {
        let size = api!(RedisModule_MallocSize);
        let mut bytes = size(value.cast_mut());
        borrowed(value).each_block(|block| bytes += size(block.as_ptr().cast()));
        bytes
    }
}

unsafe extern "C" fn free_effort(_key: *mut RedisModuleString, value: *const c_void) -> usize {
    // SAFETY: see `borrowed`.
    let bytes = unsafe { borrowed(value) }.size_bytes();
    // Above 64 the server frees in the background, from 256 KiB on. Zero would mean "always".
    bytes.div_ceil(FREE_UNIT) as usize
}

/// The header and all bits, in chunks: the server's hash takes a length of 32 bits.
///
/// A chunk of zeros counts as an empty one, so that untouched memory is not read. Different bits
/// still give different sequences: the header fixes the number and the lengths of the chunks.
unsafe extern "C" fn digest(digest: *mut RedisModuleDigest, value: *mut c_void) {
    // SAFETY: see `borrowed`; the bytes are read before the function returns.
    unsafe {
        let filter = borrowed(value);
        let add = |bytes: &[u8]| {
            api!(RedisModule_DigestAddStringBuffer)(digest, bytes.as_ptr().cast(), bytes.len())
        };
        add(&filter.encode_header());
        filter.each_chunk(0, |chunk| {
            add(chunk.set_bytes());
            ControlFlow::Continue(())
        });
        api!(RedisModule_DigestEndSequence)(digest);
    }
}

/// A copy for another key; null, which the server answers as an error, if a limit or lack of memory
/// forbids it. Ends the process where a primary or a file has made the copy.
unsafe extern "C" fn copy(
    from: *mut RedisModuleString,
    to: *mut RedisModuleString,
    value: *const c_void,
) -> *mut c_void {
    let limits = Limits::outside_calls();
    // SAFETY: see `borrowed`.
    let filter = unsafe { borrowed(value) };
    let error = match filter.try_clone(&mut limits.permit()) {
        Ok(copy) => return value::give(copy).as_ptr(),
        Err(error) => error,
    };
    // SAFETY: the server passes the names of both keys.
    let (from, to) = unsafe { (Arg::borrowed(&from).shown(), Arg::borrowed(&to).shown()) };
    let why = limits.reason(error);
    if limits.origin().ends_without_memory(filter.size_bytes()) {
        log::end(&format!("a primary or a file has copied filter '{from}' to '{to}', but {why}"));
    }
    CREATIONS_REFUSED.add(1);
    log::refusal(format_args!("COPY of filter '{from}' to '{to}' refused: {why}"));
    ptr::null_mut()
}
