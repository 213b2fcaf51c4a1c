//! The operating system, called directly: memory and random bytes.

use std::io;
use std::ptr;

/// The most bytes that one system call fills completely.
const MAX_RANDOM: usize = 256;

/// True if the operating system can map this many bytes now. No page is touched.
pub fn can_map(size: usize) -> bool {
    let (access, kind) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: the mapping is new, and nothing else refers to it.
    unsafe {
        let block = libc::mmap(ptr::null_mut(), size, access, kind, -1, 0);
        block != libc::MAP_FAILED && libc::munmap(block, size) == 0
    }
}

/// The machine's physical memory in bytes; `u64::MAX` if the operating system does not report it.
pub fn physical_memory() -> u64 {
    // SAFETY: `sysconf` takes no pointer.
    let (pages, size) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    match (u64::try_from(pages), u64::try_from(size)) {
        (Ok(pages), Ok(size)) => pages.saturating_mul(size),
        _ => u64::MAX,
    }
}

/// Fills a buffer with random bytes of the operating system, one system call per 256 bytes.
///
/// # Errors
///
/// The error of the system call: a sandbox may forbid it.
pub fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    for part in bytes.chunks_mut(MAX_RANDOM) {
        // SAFETY: the pointer and the length are those of a writable slice.
        #[cfg(target_os = "linux")]
        let is_filled = unsafe { libc::getrandom(part.as_mut_ptr().cast(), part.len(), 0) } >= 0;
        // SAFETY: as above.
        #[cfg(not(target_os = "linux"))]
        let is_filled = unsafe { libc::getentropy(part.as_mut_ptr().cast(), part.len()) } == 0;
        if !is_filled {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
