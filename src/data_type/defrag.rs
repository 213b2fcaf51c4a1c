//! Active defragmentation: the server moves blocks of memory out of sparsely used slabs.
//!
//! The server's allocator moves only blocks of up to 14 KiB, which share slabs. A larger block
//! shares no page, and moving it would gain nothing.

use std::ffi::{c_int, c_ulong, c_void};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use redis_module::raw::{RedisModuleDefragCtx, RedisModuleString};

use super::family::DataType;
use crate::policy::counters::{DEFRAG_HITS, DEFRAG_MISSES};
use crate::policy::setting::DEFRAG_ENABLED;
use crate::server::alloc;
use crate::server::api::api;
use bloomline_core::host::Mover;

/// All blocks were visited.
const DONE: c_int = 0;
/// Time is up; the cursor stores where to continue.
const MORE: c_int = 1;

/// Moves the filter itself, then its layers one by one, until the time is up.
pub unsafe extern "C" fn defrag<F: DataType>(
    ctx: *mut RedisModuleDefragCtx,
    _key: *mut RedisModuleString,
    value: *mut *mut c_void,
) -> c_int {
    if !DEFRAG_ENABLED.is_on() {
        return DONE;
    }
    let mut move_block = |block: NonNull<u8>| {
        // SAFETY: the server passes a valid context, and the block is its allocator's. It returns
        // null, or a copy of the block, whose original it has freed.
        let moved =
            NonNull::new(unsafe { api!(RedisModule_DefragAlloc)(ctx, block.as_ptr().cast()) });
        let counter = if moved.is_some() { &DEFRAG_HITS } else { &DEFRAG_MISSES };
        counter.add(1);
        let moved = moved?.cast();
        alloc::moved(block, moved);
        Some(moved)
    };
    // SAFETY: the server passes a pointer to the value of a filter, which nothing else uses until
    // the function returns.
    let value = unsafe { &mut *value };
    let Some(word) = NonNull::new(*value) else { return DONE };
    // SAFETY: as above. The filter stays the server's: it is not dropped.
    let mut filter = ManuallyDrop::new(unsafe { F::from_raw(word) });
    // Only large values get a cursor. Without one, the layers are moved from the first on.
    let mut from: c_ulong = 0;
    // SAFETY: the context is valid.
    unsafe { api!(RedisModule_DefragCursorGet)(ctx, &mut from) };
    // SAFETY: the context is valid.
    let should_stop = || unsafe { api!(RedisModule_DefragShouldStop)(ctx) } != 0;
    // SAFETY: `move_block` meets the contract of a mover: the result is a copy, or none.
    let mut mover = unsafe { Mover::new(&mut move_block) };
    let next = filter.relocate(from as usize, &mut mover, should_stop);
    *value = filter.as_raw().as_ptr();
    let Some(next) = next else { return DONE };
    // SAFETY: the context is valid. A small value has no cursor; it is visited again in the next
    // cycle.
    unsafe { api!(RedisModule_DefragCursorSet)(ctx, next as c_ulong) };
    MORE
}
