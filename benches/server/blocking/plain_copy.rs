//! What it takes to copy memory, without a filter: the measure for COPY.

use std::io;
use std::ptr;
use std::time::Instant;

use crate::Result;
use crate::blocking::clock::milliseconds;

/// A mapping of memory that the system has not given yet, in pages of the usual size, as a server
/// has them: servers switch huge pages off, since they would be copied whole after a fork.
struct Fresh {
    start: *mut u8,
    len: usize,
}

impl Fresh {
    fn map(len: usize) -> io::Result<Fresh> {
        // SAFETY: a new private mapping at an address of the system's choice touches nothing that
        // exists.
        let start = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            libc::mmap(ptr::null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // Fails where the kernel knows no huge pages: then there are none.
        // SAFETY: the range is the mapping just made.
        unsafe { libc::madvise(start, len, libc::MADV_NOHUGEPAGE) };
        Ok(Fresh { start: start.cast(), len })
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        // SAFETY: the range is this mapping, and nothing borrows from it any more.
        unsafe { libc::munmap(self.start.cast(), self.len) };
    }
}

/// Milliseconds to get so many bytes from the system and copy as much into them.
pub struct PlainCopy {
    source: Vec<u8>,
}

impl PlainCopy {
    pub fn of(bytes: u64) -> Result<PlainCopy> {
        let bytes = usize::try_from(bytes)?;
        // Written, so that every page of it is there.
        let plain = PlainCopy { source: vec![0x5a; bytes] };
        // On a virtual machine, memory that was never used is slower the first time, for whoever is
        // first.
        plain.milliseconds()?;
        Ok(plain)
    }

    pub fn milliseconds(&self) -> Result<f64> {
        let started = Instant::now();
        let fresh = Fresh::map(self.source.len())?;
        // SAFETY: both have the length of the source, and the new mapping is no part of the source.
        unsafe { ptr::copy_nonoverlapping(self.source.as_ptr(), fresh.start, self.source.len()) };
        std::hint::black_box(fresh.start);
        Ok(milliseconds(started.elapsed()))
    }
}
