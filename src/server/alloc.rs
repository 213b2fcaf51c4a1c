//! The global allocator: the server's memory, so that it is counted, zeroed lazily, and refused instead of fatal.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use redis_module::raw;

/// The strictest alignment the servers' allocators promise.
const PROMISED_ALIGN: usize = 16;

/// Bytes from which a zeroed block is had by `Calloc` where there is no `TryCalloc`.
///
/// Asking twice costs some microseconds; writing zeros to so much, and taking the page faults for it, a quarter of a millisecond.
const LAZY_FROM: usize = 1 << 20;

/// Blocks handed out by the system before the server's functions were known.
static UNBOUND: AtomicUsize = AtomicUsize::new(0);

/// The server's allocator once the module interface is bound, the system's before.
///
/// In a process without a server, as a test is, it is the system's for ever. In a server nothing may be allocated before
/// the binding, since it would be freed by the other allocator: [`unbound_blocks`] tells.
///
/// In a server an alignment above 16 is refused: none promises one, and no type of this module needs it.
pub struct ServerAlloc;

/// How many blocks were handed out before the module interface was bound.
pub fn unbound_blocks() -> usize {
    UNBOUND.load(Ordering::Relaxed)
}

// SAFETY: blocks come from one allocator and go back to it, as long as none is allocated before the binding and freed after;
// the server's functions are thread-safe, return blocks of at least the size asked for, aligned to 16, or null where they may fail.
unsafe impl GlobalAlloc for ServerAlloc {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the function pointers are written once, before other threads exist; the caller promises a size above zero.
        unsafe {
            match (raw::RedisModule_TryAlloc, raw::RedisModule_Alloc) {
                (None, None) => {
                    UNBOUND.fetch_add(1, Ordering::Relaxed);
                    System.alloc(layout)
                }
                _ if layout.align() > PROMISED_ALIGN => ptr::null_mut(),
                (Some(try_alloc), _) => try_alloc(layout.size()).cast(),
                (None, Some(alloc)) => alloc(layout.size()).cast(),
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let size = layout.size();
        // SAFETY: as in `alloc`; a block that is zeroed by hand is not null.
        unsafe {
            match (raw::RedisModule_TryCalloc, raw::RedisModule_Calloc) {
                (None, None) => {
                    UNBOUND.fetch_add(1, Ordering::Relaxed);
                    System.alloc_zeroed(layout)
                }
                _ if layout.align() > PROMISED_ALIGN => ptr::null_mut(),
                (Some(try_calloc), _) => try_calloc(1, size).cast(),
                (None, Some(calloc)) if size >= LAZY_FROM => {
                    if can_be_had(size) {
                        calloc(1, size).cast()
                    } else {
                        ptr::null_mut()
                    }
                }
                (None, Some(_)) => {
                    let block = self.alloc(layout);
                    if !block.is_null() {
                        block.write_bytes(0, size);
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
                Some(free) => free(block.cast()),
                None => System.dealloc(block, layout),
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as in `dealloc`; the alignment was accepted when the block was allocated.
        unsafe {
            match (raw::RedisModule_TryRealloc, raw::RedisModule_Realloc) {
                (Some(try_realloc), _) => try_realloc(block.cast(), size).cast(),
                (None, Some(realloc)) => realloc(block.cast(), size).cast(),
                (None, None) => System.realloc(block, layout, size),
            }
        }
    }
}

/// Whether a block of this size can be had now, for `Calloc` ends the process if not.
///
/// Nothing is touched: a block is asked for and given back, from the server where it may refuse (7.0), else from the system (6.2).
unsafe fn can_be_had(size: usize) -> bool {
    // SAFETY: the block is freed by the function that belongs to the one that allocated it, and nobody else knows it.
    unsafe {
        if let (Some(try_alloc), Some(free)) = (raw::RedisModule_TryAlloc, raw::RedisModule_Free) {
            let block: *mut c_void = try_alloc(size);
            if block.is_null() {
                return false;
            }
            free(block);
            return true;
        }
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let block = libc::mmap(ptr::null_mut(), size, access, kind, -1, 0);
        if block == libc::MAP_FAILED {
            return false;
        }
        libc::munmap(block, size);
        true
    }
}
