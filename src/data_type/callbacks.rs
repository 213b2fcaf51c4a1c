//! The table of callbacks, and the short callbacks.

use std::ffi::c_void;
use std::ptr::NonNull;

use redis_module::raw::{
    REDISMODULE_TYPE_METHOD_VERSION, RedisModuleDigest, RedisModuleString, RedisModuleTypeMethods,
};

use super::encodings::Encoding;
use super::family::DataType;
use super::handle::{self, borrowed};
use super::{aof, copies, defrag, rdb};
use crate::server::api::api;

/// Bytes of memory that count as one unit of work when they are freed: a page.
const FREE_UNIT: u64 = 4096;

/// The functions that the server calls for values of the type. An empty slot has a comment with the
/// reason.
pub const fn methods<E: Encoding>() -> RedisModuleTypeMethods {
    RedisModuleTypeMethods {
        version: REDISMODULE_TYPE_METHOD_VERSION as u64,
        rdb_load: Some(rdb::load::<E>),
        rdb_save: Some(rdb::save::<E>),
        aof_rewrite: Some(aof::rewrite::<E::Filter>),
        mem_usage: Some(mem_usage::<E::Filter>),
        digest: Some(digest::<E::Filter>),
        free: Some(free::<E::Filter>),
        free_effort: Some(free_effort::<E::Filter>),
        copy: Some(copies::copy::<E::Filter>),
        defrag: Some(defrag::defrag::<E::Filter>),
        // Nothing outside the keyspace is saved.
        aux_load: None,
        aux_save: None,
        aux_save2: None,
        aux_save_triggers: 0,
        // Nothing outside of the value refers to it, so unlinking has nothing to do.
        unlink: None,
        unlink2: None,
        // The variants of a later interface add the key's name and database, which are not needed
        // here.
        mem_usage2: None,
        free_effort2: None,
        copy2: None,
    }
}

unsafe extern "C" fn free<F: DataType>(value: *mut c_void) {
    if let Some(value) = NonNull::new(value) {
        // SAFETY: the server gives up the value. May run on another thread: a filter is `Send`.
        drop(unsafe { handle::from_raw::<F>(value) });
    }
}

/// The bytes that the allocator uses for the filter and all its blocks of memory.
unsafe extern "C" fn mem_usage<F: DataType>(value: *const c_void) -> usize {
    let mut bytes = 0;
    // SAFETY: the server passes a filter of this family, whose blocks are the allocator's.
    unsafe {
        let size = |block: NonNull<u8>| api!(RedisModule_MallocSize)(block.as_ptr().cast());
        borrowed::<F>(value).each_allocation(|block| bytes += size(block));
    }
    bytes
}

unsafe extern "C" fn free_effort<F: DataType>(
    _key: *mut RedisModuleString,
    value: *const c_void,
) -> usize {
    // SAFETY: the server passes a filter of this family.
    let bytes = unsafe { borrowed::<F>(value) }.size_bytes();
    // Above 64 units, which is 256 KiB, the server frees in the background. Zero would mean
    // "always".
    bytes.div_ceil(FREE_UNIT) as usize
}

/// Hashes what recreates the filter: iterators and data of its LOADCHUNK calls, without chunks of
/// zeros, so that untouched memory is not read. In chunks, because the server's hash takes a length
/// of 32 bits.
unsafe extern "C" fn digest<F: DataType>(digest: *mut RedisModuleDigest, value: *mut c_void) {
    // SAFETY: the server passes a filter of this family, and reads the bytes before its function
    // returns.
    unsafe {
        let add = |bytes: &[u8]| {
            api!(RedisModule_DigestAddStringBuffer)(digest, bytes.as_ptr().cast(), bytes.len())
        };
        borrowed::<F>(value).each_loadchunk(|iterator, data| {
            add(&iterator.to_le_bytes());
            add(data);
        });
        api!(RedisModule_DigestEndSequence)(digest);
    }
}
