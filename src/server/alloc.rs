//! The global allocator: the server's memory, so that it is counted, zeroed lazily, and refused instead of fatal.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use redis_module::raw;

/// The strictest alignment the servers' allocators promise.
const PROMISED_ALIGN: usize = 16;

/// Bytes from which the system is asked: for zeros, to take back what is freed, and for a server that can't refuse, what there is.
///
/// Each takes some microseconds; to write zeros to so much, and to take the page faults for it, a quarter of a millisecond.
const LARGE: usize = 1 << 20;

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
                (None, Some(_)) if layout.size() >= LARGE && !can_be_had(layout.size()) => ptr::null_mut(),
                (None, Some(alloc)) => alloc(layout.size()).cast(),
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`, whose block has the size asked for if it is not null.
        unsafe {
            match (raw::RedisModule_TryCalloc, raw::RedisModule_Alloc) {
                (None, None) => {
                    UNBOUND.fetch_add(1, Ordering::Relaxed);
                    System.alloc_zeroed(layout)
                }
                _ if layout.align() > PROMISED_ALIGN => ptr::null_mut(),
                (Some(try_calloc), _) if layout.size() < LARGE => try_calloc(1, layout.size()).cast(),
                _ => {
                    let block = self.alloc(layout);
                    if !block.is_null() {
                        zero(block, layout.size());
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
                Some(free) => {
                    // Here, for large filters are freed by a thread of the server's; left to the allocator, the pages
                    // may have to go within a later call. Nothing is lost if the system did not take them.
                    let _ = discard(block, layout.size());
                    free(block.cast());
                }
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

/// Whether the system has a block of this size now, for a server without `TryAlloc` (6.2) ends if not. Nothing is touched.
fn can_be_had(size: usize) -> bool {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: the mapping is new, and nobody else knows it.
    unsafe {
        let block = libc::mmap(ptr::null_mut(), size, access, kind, -1, 0);
        block != libc::MAP_FAILED && libc::munmap(block, size) == 0
    }
}

/// Makes a block all zeros. Of a large one whole pages go back to the system, and are new ones when they are touched.
///
/// Some servers' allocators write the zeros of recycled memory instead, and touch pages that were new: 29 MB took up to 10 ms.
///
/// # Safety
///
/// The block is the caller's, and `size` bytes long.
unsafe fn zero(block: *mut u8, size: usize) {
    // SAFETY: all bytes written to lie within the block.
    unsafe {
        let zeros = discard(block, size);
        block.write_bytes(0, zeros.start);
        block.add(zeros.end).write_bytes(0, size - zeros.end);
    }
}

/// Gives the whole pages of a large block back to the system; which of its bytes are zeros now: none if it did not take them.
///
/// # Safety
///
/// As for [`zero`].
#[cfg(target_os = "linux")]
#[inline]
unsafe fn discard(block: *mut u8, size: usize) -> Range<usize> {
    /// What the first page holds before, to see that it is gone: not every emulated system does as it is told.
    const MARK: u8 = 0xb1;
    if size < LARGE {
        return 0..0;
    }
    // SAFETY: the pages lie within the block, whose content is of no use to anyone. The mark is written and read where the system
    // may change it, hence as volatile.
    unsafe {
        let Ok(page) = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)) else { return 0..0 };
        let start = block.align_offset(page);
        let Some(rest) = size.checked_sub(start) else { return 0..0 };
        let end = start + rest / page * page;
        let first = block.add(start);
        first.write_volatile(MARK);
        let is_done = libc::madvise(first.cast(), end - start, libc::MADV_DONTNEED) == 0;
        if is_done && first.read_volatile() == 0 { start..end } else { 0..0 }
    }
}

/// Other systems take the advice without promising zeros.
#[cfg(not(target_os = "linux"))]
unsafe fn discard(_block: *mut u8, _size: usize) -> Range<usize> {
    0..0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing)]

    use super::*;

    #[test]
    fn a_block_is_zeroed_wherever_it_begins_and_ends_and_its_neighbours_are_not() {
        for (start, size) in [
            (0, LARGE),
            (1, LARGE),
            (4095, LARGE + 4097),
            (4096, LARGE),
            (16, 3 * LARGE - 17),
            (16, 5),
            (9, 4096),
        ] {
            let mut bytes = vec![0xffu8; start + size + 1];
            // SAFETY: the bytes lie within the vector.
            unsafe { zero(bytes.as_mut_ptr().add(start), size) };
            assert!(bytes[..start].iter().all(|byte| *byte == 0xff), "before {start}, {size}");
            assert!(bytes[start..start + size].iter().all(|byte| *byte == 0), "{start}, {size}");
            assert_eq!(bytes[start + size], 0xff, "behind {start}, {size}");
        }
    }

    #[test]
    fn a_large_block_is_zeroed_without_being_touched() {
        let mut bytes = vec![0xffu8; 4 * LARGE];
        // SAFETY: the bytes are those of the vector.
        let pages = unsafe { discard(bytes.as_mut_ptr(), bytes.len()) };
        assert!(cfg!(not(target_os = "linux")) || pages.len() > 3 * LARGE);
    }
}
