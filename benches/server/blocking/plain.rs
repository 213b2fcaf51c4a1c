//! Passes over memory without a filter, for comparison with COPY, BF.MERGE and BF.COMPACT.

use std::hint::black_box;
use std::io;
use std::ptr;
use std::time::Instant;

use super::clock::milliseconds;
use crate::result::Result;

/// A mapping that is not backed by memory yet, with pages of the usual size. Servers disable huge
/// pages as well, because a write after a fork would copy a whole huge page.
struct Fresh {
    start: *mut u8,
    len: usize,
}

impl Fresh {
    fn map(len: usize) -> io::Result<Fresh> {
        // SAFETY: a new private mapping at an address of the system's choice affects no existing
        // memory.
        let start = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            libc::mmap(ptr::null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // This fails on kernels without huge pages, where it is not needed.
        //
        // SAFETY: the range is the mapping just made.
        unsafe { libc::madvise(start, len, libc::MADV_NOHUGEPAGE) };
        Ok(Fresh { start: start.cast(), len })
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        // SAFETY: the range is this mapping, and no borrow of it is left.
        unsafe { libc::munmap(self.start.cast(), self.len) };
    }
}

/// The time to allocate this many bytes from the system and to copy as many into them.
pub struct PlainCopy {
    source: Vec<u8>,
}

impl PlainCopy {
    pub fn of(bytes: u64) -> Result<PlainCopy> {
        let bytes = usize::try_from(bytes)?;
        // Written, so that all its pages are backed by memory.
        let plain = PlainCopy { source: vec![0x5a; bytes] };
        // On a virtual machine the first use of memory is slower. This run takes that cost.
        plain.milliseconds()?;
        Ok(plain)
    }

    pub fn milliseconds(&self) -> Result<f64> {
        let started = Instant::now();
        let fresh = Fresh::map(self.source.len())?;
        // SAFETY: both have the length of the source, and the new mapping does not overlap it.
        unsafe { ptr::copy_nonoverlapping(self.source.as_ptr(), fresh.start, self.source.len()) };
        black_box(fresh.start);
        Ok(milliseconds(started.elapsed()))
    }
}

/// The milliseconds to OR words into as many others, in the plainest loop there is.
#[inline(never)]
pub fn unite(to: &mut [u64], from: &[u64]) -> f64 {
    let started = Instant::now();
    to.iter_mut().zip(from).for_each(|(to, from)| *to |= from);
    black_box(to);
    milliseconds(started.elapsed())
}
