//! The global allocator: the server's memory, so that the server counts it, and running out of it
//! is no panic.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering};

use redis_module::raw;

#[cfg(feature = "audit")]
use bloomline_core::memory::ledger;

/// The strictest alignment the servers' allocators promise.
const PROMISED_ALIGN: usize = 16;

/// Blocks of this many bytes or more are first tried with the system where the server's allocator
/// ends the process when memory is short. It takes some microseconds.
const LARGE: usize = 1 << 20;

/// Blocks handed out by the system before the server's functions were known.
static UNBOUND: AtomicUsize = AtomicUsize::new(0);

/// The server's allocator once the module interface is bound, the system's before.
///
/// In a process without a server, as a test is, it is the system's for ever. In a server nothing
/// may be allocated before the binding, since it would be freed by the other allocator:
/// [`unbound_blocks`] tells.
///
/// In a server an alignment above 16 is refused: none promises one, and no type of this module
/// needs it.
pub struct ServerAlloc;

/// How many blocks were handed out before the module interface was bound.
pub fn unbound_blocks() -> usize {
    UNBOUND.load(Ordering::Relaxed)
}

/// Reports a block that was handed out to the ledger of the feature `audit`.
#[inline]
fn handed_out(block: *mut u8, _size: usize) -> *mut u8 {
    #[cfg(feature = "audit")]
    ledger::handed_out(block.addr(), _size);
    block
}

/// Reports a block that comes back to the ledger of the feature `audit`.
#[inline]
fn returned(_block: *mut u8, _size: usize) {
    #[cfg(feature = "audit")]
    ledger::returned(_block.addr(), _size);
}

/// A block that the server allocated belongs to this program from now on.
#[inline]
pub fn adopted(_block: NonNull<u8>, _size: usize) {
    #[cfg(feature = "audit")]
    ledger::adopted(_block.addr().get(), _size);
}

/// The server has moved a block and freed the old one.
#[inline]
pub fn moved(_from: NonNull<u8>, _to: NonNull<u8>) {
    #[cfg(feature = "audit")]
    ledger::moved(_from.addr().get(), _to.addr().get());
}

// SAFETY: blocks come from one allocator and go back to it, as long as none is allocated before the
// binding and freed after; the server's functions are thread-safe, and return blocks of at least
// the requested size, aligned to 16, or null where they may fail.
unsafe impl GlobalAlloc for ServerAlloc {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the function pointers are written once, before other threads exist; the caller
        // promises a size above zero.
        let block = unsafe {
            match (raw::RedisModule_TryAlloc, raw::RedisModule_Alloc) {
                (None, None) => {
                    UNBOUND.fetch_add(1, Ordering::Relaxed);
                    System.alloc(layout)
                }
                _ if layout.align() > PROMISED_ALIGN => ptr::null_mut(),
                (Some(try_alloc), _) => try_alloc(layout.size()).cast(),
                (None, Some(_)) if layout.size() >= LARGE && !is_available(layout.size()) => {
                    ptr::null_mut()
                }
                (None, Some(alloc)) => alloc(layout.size()).cast(),
            }
        };
        handed_out(block, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`, whose block has the size asked for if it is not null.
        unsafe {
            match raw::RedisModule_TryCalloc {
                Some(try_calloc) if layout.align() <= PROMISED_ALIGN => {
                    handed_out(try_calloc(1, layout.size()).cast(), layout.size())
                }
                _ => {
                    let block = self.alloc(layout);
                    if !block.is_null() {
                        block.write_bytes(0, layout.size());
                    }
                    block
                }
            }
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        returned(block, layout.size());
        // SAFETY: the caller promises a block of this allocator.
        unsafe {
            match raw::RedisModule_Free {
                Some(free) => free(block.cast()),
                None => System.dealloc(block, layout),
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        returned(block, layout.size());
        // SAFETY: as in `dealloc`; the alignment was accepted when the block was allocated.
        let new: *mut u8 = unsafe {
            match (raw::RedisModule_TryRealloc, raw::RedisModule_Realloc) {
                (Some(try_realloc), _) => try_realloc(block.cast(), size).cast(),
                (None, Some(realloc)) => realloc(block.cast(), size).cast(),
                (None, None) => System.realloc(block, layout, size),
            }
        };
        // Where there is no memory the old block stays.
        if new.is_null() {
            handed_out(block, layout.size());
        }
        handed_out(new, size)
    }
}

/// True if the allocator can provide a block of this size now. Nothing is touched.
///
/// For strings that the server reads itself: it reports lack of memory as data that ends too early.
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

/// True if the system can provide a block of this size now: a server without `TryAlloc` (6.2) ends
/// where it cannot. Nothing is touched.
fn is_available(size: usize) -> bool {
    let (access, kind) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: the mapping is new, and nobody else knows it.
    unsafe {
        let block = libc::mmap(ptr::null_mut(), size, access, kind, -1, 0);
        block != libc::MAP_FAILED && libc::munmap(block, size) == 0
    }
}
