//! The global allocator: memory comes from the server's allocator, so that the server counts it,
//! and lack of memory is no panic.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering};

use redis_module::raw;

#[cfg(feature = "audit")]
use bloomline_core::host::ledger;
use bloomline_core::host::pages;

use super::system;

/// The strictest alignment that the servers' allocators guarantee, in bytes. A server that cannot
/// ask the C library for the size of a block, as with musl, stores it in the 8 bytes before the
/// block.
const GUARANTEED_ALIGN: usize = 8;

/// From this size on, a block is first mapped on trial if the server's allocator ends the process
/// when memory is short. The trial takes some microseconds.
const LARGE: usize = 1 << 20;

/// From this size on, the operating system zeroes the pages of a block if the server's allocator
/// cannot: eight pages. A few system calls take as long as writing to as many fresh pages.
const ZEROED_BY_SYSTEM: usize = 32 * 1024;

/// Blocks that the system allocated before the server's functions were known.
static UNBOUND: AtomicUsize = AtomicUsize::new(0);

/// The server's allocator once the module interface is bound; the system's before.
///
/// A process without a server, such as a unit test, always uses the system's allocator. In a
/// server nothing may be allocated before the binding, because the other allocator would free it:
/// [`unbound_blocks`] counts such blocks.
///
/// Blocks with an alignment above 8 bytes are always the system's: no server guarantees one. Only
/// hash tables need it here, and none outlives its call.
pub struct ServerAlloc;

/// The number of blocks that were allocated before the module interface was bound.
pub fn unbound_blocks() -> usize {
    UNBOUND.load(Ordering::Relaxed)
}

/// Reports a block that the server allocated and that the module now owns to the ledger of the
/// feature `audit`.
#[inline]
pub fn adopted(_block: NonNull<u8>, _size: usize) {
    #[cfg(feature = "audit")]
    ledger::adopted(_block.addr().get(), _size);
}

/// Reports a block that the server moved to the ledger of the feature `audit`.
#[inline]
pub fn moved(_from: NonNull<u8>, _to: NonNull<u8>) {
    #[cfg(feature = "audit")]
    ledger::moved(_from.addr().get(), _to.addr().get());
}

// SAFETY: a block is freed by the allocator that allocated it, provided that none is allocated
// before the binding and freed after it; the server's functions are thread-safe, and return blocks
// of at least the requested size, aligned to 8, or null where they may fail. A larger alignment
// always means the system's allocator.
unsafe impl GlobalAlloc for ServerAlloc {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the function pointers are written once, before other threads exist; the caller
        // promises a size above zero.
        unsafe {
            match (raw::RedisModule_TryAlloc, raw::RedisModule_Alloc) {
                _ if layout.align() > GUARANTEED_ALIGN => System.alloc(layout),
                (None, None) => {
                    UNBOUND.fetch_add(1, Ordering::Relaxed);
                    System.alloc(layout)
                }
                (Some(try_alloc), _) => try_alloc(layout.size()).cast(),
                (None, Some(_)) if !may_be_requested(layout.size()) => ptr::null_mut(),
                (None, Some(alloc)) => alloc(layout.size()).cast(),
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`; its block has the requested size if it is not null, and is the
        // caller's.
        unsafe {
            match raw::RedisModule_TryCalloc {
                Some(try_calloc) if layout.align() <= GUARANTEED_ALIGN => {
                    try_calloc(1, layout.size()).cast()
                }
                // A server without `TryCalloc` (6.2, 7.0). A filter may have thousands of layers,
                // so that no page is touched here that no item touches.
                _ => {
                    let block = self.alloc(layout);
                    match NonNull::new(block) {
                        Some(start) if layout.size() >= ZEROED_BY_SYSTEM => {
                            pages::zero(start, layout.size());
                        }
                        Some(start) => start.write_bytes(0, layout.size()),
                        None => {}
                    }
                    block
                }
            }
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller promises a block of this allocator.
        unsafe {
            match raw::RedisModule_Free {
                Some(free) if layout.align() <= GUARANTEED_ALIGN => free(block.cast()),
                _ => System.dealloc(block, layout),
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as in `dealloc`.
        unsafe {
            match (raw::RedisModule_TryRealloc, raw::RedisModule_Realloc) {
                _ if layout.align() > GUARANTEED_ALIGN => System.realloc(block, layout, size),
                (Some(try_realloc), _) => try_realloc(block.cast(), size).cast(),
                // A smaller block needs no memory that is not there.
                (None, Some(_)) if size > layout.size() && !may_be_requested(size) => {
                    ptr::null_mut()
                }
                (None, Some(realloc)) => realloc(block.cast(), size).cast(),
                (None, None) => System.realloc(block, layout, size),
            }
        }
    }
}

/// True if a block of this many bytes may be requested from a server without `TryAlloc` (6.2),
/// which ends if its allocator fails.
fn may_be_requested(size: usize) -> bool {
    size < LARGE || system::can_map(size)
}

/// True if the allocator can provide a block of this many bytes now. No page is touched.
///
/// Needed for strings that the server itself reads: it reports lack of memory as data that ends
/// too early.
pub fn can_allocate(size: usize) -> bool {
    let Ok(layout) = Layout::from_size_align(size.max(1), 1) else { return false };
    // SAFETY: the size is above zero, and the block is freed as it was allocated.
    unsafe {
        let block = ServerAlloc.alloc(layout);
        if !block.is_null() {
            ServerAlloc.dealloc(block, layout);
        }
        !block.is_null()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;

    use super::*;

    /// Redis 6.2's function, which is that of the system here, but ends the process if it fails.
    unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
        // SAFETY: the block is the system's: before the binding, all are.
        let moved = unsafe { libc::realloc(block, size) };
        if moved.is_null() { std::process::abort() } else { moved }
    }

    #[test]
    fn a_block_that_cannot_grow_stays_where_the_server_would_end() {
        const MOST: usize = isize::MAX as usize - 4096;
        let layout = Layout::new::<[u8; 64]>();
        // SAFETY: the pointer is one that fits the system's blocks, also those of other threads;
        // the block is freed as it was allocated.
        unsafe {
            raw::RedisModule_Realloc = Some(realloc);
            let block = ServerAlloc.alloc(layout);
            block.write(7);
            assert!(ServerAlloc.realloc(block, layout, MOST).is_null());
            assert_eq!(block.read(), 7);
            ServerAlloc.dealloc(block, layout);
            raw::RedisModule_Realloc = None;
        }
    }
}
