//! Active defragmentation: blocks that lie badly are moved.
//!
//! The server's allocator moves only what lies in a slab, blocks of up to 14 KiB; a larger one has
//! pages of its own, and moving it would gain nothing.

use std::ffi::{c_int, c_ulong, c_void};
use std::ptr::NonNull;

use redis_module::raw::{RedisModuleDefragCtx, RedisModuleString};

use crate::server::alloc;
use crate::server::api::api;
use bloomline_core::AnyFilter;
use bloomline_core::memory::words::Mover;

/// The filter is done.
const DONE: c_int = 0;
/// Time was up; the cursor tells where to go on.
const MORE: c_int = 1;

/// Moves the filter itself, then layer by layer, as long as there is time.
pub unsafe extern "C" fn defrag(
    ctx: *mut RedisModuleDefragCtx,
    _key: *mut RedisModuleString,
    value: *mut *mut c_void,
) -> c_int {
    let mut move_block = |block: NonNull<u8>| {
        // SAFETY: the server passes a valid context; the block is its allocator's. It returns a
        // copy, the old one freed, or null.
        let moved =
            NonNull::new(unsafe { api!(RedisModule_DefragAlloc)(ctx, block.as_ptr().cast()) })?
                .cast();
        alloc::moved(block, moved);
        Some(moved)
    };
    // SAFETY: the server passes a place that holds a filter; nobody else uses it meanwhile.
    let filter = unsafe {
        if let Some(moved) = NonNull::new(*value).and_then(|value| move_block(value.cast())) {
            *value = moved.as_ptr().cast();
        }
        &mut *(*value).cast::<AnyFilter>()
    };
    // Without a cursor, which only large values get, the layers are begun from the first.
    let mut from: c_ulong = 0;
    // SAFETY: the context is valid.
    unsafe { api!(RedisModule_DefragCursorGet)(ctx, &mut from) };
    // SAFETY: see above.
    let should_stop = || unsafe { api!(RedisModule_DefragShouldStop)(ctx) } != 0;
    // SAFETY: `move_block` does what a mover must.
    let mut mover = unsafe { Mover::new(&mut move_block) };
    let Some(next) = filter.relocate(from as usize, &mut mover, should_stop) else { return DONE };
    // SAFETY: see above. A small value gets no second visit now, but the next cycle comes by again.
    unsafe { api!(RedisModule_DefragCursorSet)(ctx, next as c_ulong) };
    MORE
}
