//! Pages of the operating system, which zeroes them, drops them, and reports which were never
//! touched.
//!
//! Reading a page that was never touched costs a page fault. For a mostly empty filter of many
//! gigabytes this takes seconds. `/proc/self/pagemap` has eight bytes per page and can be read for
//! as much memory in some milliseconds. `mincore` does not suffice: it does not distinguish a page
//! that was swapped out from one that was never touched.

use std::ops::{ControlFlow, Range};
use std::ptr::NonNull;

/// Bytes of a page in the layouts of this crate. Pages of the operating system may be larger.
pub const PAGE: usize = 4096;

/// Bytes from which pages are zeroed and dropped by the operating system, and checked for use.
///
/// A system call takes some microseconds. Writing zeros to this many bytes takes a hundred times as
/// long, page faults included.
pub const LARGE: usize = 1 << 20;

/// True if dropped pages of private memory are zero when they are used again.
pub const ARE_LAZY: bool = cfg!(all(target_os = "linux", not(miri)));

/// True if all bytes are zero. Stops at the first 512 bytes that are not.
pub fn is_zero(bytes: &[u8]) -> bool {
    // There is no branch per byte, so that the compiler vectorises the loop.
    bytes.chunks(512).all(|chunk| chunk.iter().fold(0, |all, byte| all | byte) == 0)
}

/// Zeroes `size` bytes of memory. True if the operating system zeroes all whole pages at their
/// first use, which also proves that they are private, anonymous memory. It takes some
/// microseconds.
///
/// The `alloc_zeroed` of some servers' allocators writes zeros to recycled memory, and touches new
/// pages too.
///
/// # Safety
///
/// The memory must be `size` bytes long and exclusively the caller's.
pub unsafe fn zero(start: NonNull<u8>, size: usize) -> bool {
    // SAFETY: all written bytes lie in the memory of the caller.
    unsafe {
        // Only new memory is zeroed, which mostly has no pages yet: one system call takes as long
        // for all of it as for a part.
        let zeros = drop_pages(start, size, usize::MAX);
        start.write_bytes(0, zeros.start);
        start.add(zeros.end).write_bytes(0, size - zeros.end);
        !zeros.is_empty()
    }
}

/// Returns the whole pages of some memory to the operating system. The result is the range of its
/// bytes that are zero now; it is empty if the system did not drop the pages.
///
/// # Safety
///
/// The memory must be `size` bytes long and exclusively the caller's. Its content is lost.
pub unsafe fn discard(start: NonNull<u8>, size: usize) -> Range<usize> {
    /// Bytes per system call. Other threads cannot map memory during one.
    const STEP: usize = 4 << 20;
    // SAFETY: guaranteed by the caller.
    unsafe { drop_pages(start, size, STEP) }
}

/// [`discard`] with `step` bytes per system call, a multiple of its page, or `usize::MAX` for one
/// call.
///
/// # Safety
///
/// That of [`discard`].
#[cfg(all(target_os = "linux", not(miri)))]
unsafe fn drop_pages(start: NonNull<u8>, size: usize, step: usize) -> Range<usize> {
    /// Written to the first page beforehand, to check that the page was dropped: shared memory
    /// keeps its content, and not every emulated system drops pages.
    const MARK: u8 = 0xb1;
    let Some(page) = system_page() else { return 0..0 };
    let before = start.as_ptr().align_offset(page);
    let Some(rest) = size.checked_sub(before) else { return 0..0 };
    let end = before + rest / page * page;
    if end == before {
        return 0..0;
    }
    #[cfg(feature = "audit")]
    super::ledger::check_range(start.addr().get(), size, before..end);
    // SAFETY: the pages lie in the memory, whose content the caller gives up. The mark is written
    // and read as volatile, because the system may change it in between.
    unsafe {
        let first = start.add(before);
        first.write_volatile(MARK);
        let is_done = (before..end).step_by(step).all(|at| {
            let len = step.min(end - at);
            libc::madvise(start.add(at).as_ptr().cast(), len, libc::MADV_DONTNEED) == 0
        });
        if is_done && first.read_volatile() == 0 { before..end } else { 0..0 }
    }
}

/// Lets the operating system back whole pages with memory before all of them are written: one call
/// takes less time than a page fault per page (see docs/explanation/performance.md). The content
/// stays, and nothing else depends on whether the system does it (Linux 5.14).
pub fn populate(bytes: &mut [u8]) {
    #[cfg(all(target_os = "linux", not(miri)))]
    if let Some(page) = system_page() {
        let whole = bytes.get_mut(bytes.as_ptr().align_offset(page)..).unwrap_or_default();
        // SAFETY: the call changes no byte, and the pages begin in the borrowed memory.
        unsafe {
            libc::madvise(whole.as_mut_ptr().cast(), whole.len(), libc::MADV_POPULATE_WRITE);
        }
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = bytes;
}

/// Does nothing: other systems do not guarantee that dropped pages are zero.
///
/// # Safety
///
/// There are no requirements.
#[cfg(not(all(target_os = "linux", not(miri))))]
unsafe fn drop_pages(_start: NonNull<u8>, _size: usize, _step: usize) -> Range<usize> {
    0..0
}

/// Bytes of a page of the operating system.
#[cfg(all(target_os = "linux", not(miri)))]
fn system_page() -> Option<usize> {
    // SAFETY: `sysconf` takes a number and has no requirements.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) })
        .ok()
        .filter(|page| page.is_power_of_two())
}

/// Calls `visit` with the ranges of `bytes` that may differ from zero, in order, until it breaks.
///
/// `bytes` must lie in an allocation of [`Kind::Lazy`](super::allocation::Kind::Lazy), or the
/// result is wrong. If the system does not report which pages were touched, all bytes are one
/// range.
pub fn visit_touched(bytes: &[u8], mut visit: impl FnMut(Range<usize>) -> ControlFlow<()>) {
    #[cfg(all(target_os = "linux", not(miri)))]
    if bytes.len() >= LARGE
        && let Some(mut pagemap) = pagemap::Pagemap::open()
    {
        return pagemap.visit(bytes, visit);
    }
    let _ = visit(0..bytes.len());
}

#[cfg(all(target_os = "linux", not(miri)))]
pub(super) mod pagemap {
    use std::fs::File;
    use std::ops::{ControlFlow, Range};
    use std::os::unix::fs::FileExt;

    use super::system_page;

    /// Pages per read: 16 KiB of entries, 8 MiB of memory.
    const ENTRIES: usize = 2048;
    const ENTRY_BYTES: usize = 8;
    /// The bits of an entry that are set if the page is present, swapped out or being migrated:
    /// it was touched.
    const TOUCHED: u64 = 0b11 << 62;
    /// The bits of an entry that are set if the page is present, or shared memory or of a file, or
    /// mapped once: the last one excludes the zero page and pages that a forked child shares.
    const OWNED: u64 = 1 << 63 | 1 << 61 | 1 << 56;

    /// `/proc/self/pagemap`: one entry per page of the process (Linux,
    /// `Documentation/admin-guide/mm/pagemap.rst`).
    ///
    /// It is opened for each use, because a forked child would otherwise read the entries of its
    /// parent.
    pub struct Pagemap {
        file: File,
        page: usize,
        entries: [u8; ENTRIES * ENTRY_BYTES],
    }

    impl Pagemap {
        /// `None` if the file is missing, unreadable, or does not report a page that is in use.
        pub fn open() -> Option<Self> {
            let file = File::open("/proc/self/pagemap").ok()?;
            let mut pagemap =
                Self { file, page: system_page()?, entries: [0; ENTRIES * ENTRY_BYTES] };
            // The page that holds `entries` itself has just been written.
            let own = pagemap.entries.as_ptr().addr() / pagemap.page;
            let (entry, _) =
                pagemap.read(own, 1).then(|| pagemap.entries.split_first_chunk())??;
            is_touched(entry).then_some(pagemap)
        }

        /// Reads the entries of `count` pages, at most [`ENTRIES`], from page number `first` on.
        fn read(&mut self, first: usize, count: usize) -> bool {
            let offset = (first * ENTRY_BYTES) as u64;
            let entries = self.entries.get_mut(..count * ENTRY_BYTES);
            entries.is_some_and(|entries| self.file.read_exact_at(entries, offset).is_ok())
        }

        /// True if `count` pages, at most [`ENTRIES`], from page number `first` on are all present,
        /// private memory of this process only. Always false if the system's pages do not have
        /// [`PAGE`](super::PAGE) bytes.
        pub fn is_owned(&mut self, first: usize, count: usize) -> bool {
            if self.page != super::PAGE || !self.read(first, count) {
                return false;
            }
            let (entries, _) = self.entries.as_chunks();
            entries.get(..count).is_some_and(|entries| entries.iter().all(is_owned))
        }

        /// See [`visit_touched`](super::visit_touched). Adjacent touched pages are one range.
        pub fn visit(
            &mut self,
            bytes: &[u8],
            mut visit: impl FnMut(Range<usize>) -> ControlFlow<()>,
        ) {
            let (start, page_bytes) = (bytes.as_ptr().addr(), self.page);
            let end = start + bytes.len();
            // Page numbers. The bytes may start and end within a page.
            let (mut page, last) = (start / page_bytes, end.div_ceil(page_bytes));
            while page < last {
                let count = (last - page).min(ENTRIES);
                if !self.read(page, count) {
                    self.entries.fill(0xff);
                }
                let (entries, _) = self.entries.as_chunks();
                let entries = entries.get(..count).unwrap_or_default();
                for run in entries.chunk_by(|a, b| is_touched(a) == is_touched(b)) {
                    let from = (page * page_bytes).max(start) - start;
                    page += run.len();
                    let to = (page * page_bytes).min(end) - start;
                    if run.first().is_some_and(is_touched) && visit(from..to).is_break() {
                        return;
                    }
                }
            }
        }
    }

    /// True if the page is present, private memory, and no other process has it.
    fn is_owned(entry: &[u8; ENTRY_BYTES]) -> bool {
        u64::from_ne_bytes(*entry) & OWNED == 1 << 63 | 1 << 56
    }

    /// True unless the entry says that the page was never touched.
    fn is_touched(entry: &[u8; ENTRY_BYTES]) -> bool {
        u64::from_ne_bytes(*entry) & TOUCHED != 0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing)]

    use super::*;

    fn start_of(bytes: &mut [u8]) -> NonNull<u8> {
        NonNull::from(bytes).cast()
    }

    #[test]
    fn zeroes_all_bytes_and_not_their_neighbours() {
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
            unsafe { zero(start_of(&mut bytes[start..]), size) };
            assert!(bytes[..start].iter().all(|byte| *byte == 0xff), "before {start}, {size}");
            assert!(bytes[start..start + size].iter().all(|byte| *byte == 0), "{start}, {size}");
            assert_eq!(bytes[start + size], 0xff, "after {start}, {size}");
        }
    }

    #[test]
    fn discards_whole_pages_of_a_large_vector() {
        let mut bytes = vec![0xffu8; 4 * LARGE];
        // SAFETY: the bytes belong to the vector.
        let dropped = unsafe { discard(start_of(&mut bytes), bytes.len()) };
        assert!(!ARE_LAZY || dropped.len() > 3 * LARGE);
    }

    #[test]
    fn is_zero_finds_the_first_and_the_last_byte() {
        for len in [1, 511, 512, 513, 4096, 5000] {
            let mut bytes = vec![0; len];
            assert!(is_zero(&bytes));
            for at in [0, len / 2, len - 1] {
                bytes[at] = 1;
                assert!(!is_zero(&bytes), "{at} of {len}");
                bytes[at] = 0;
            }
        }
    }

    /// The visited ranges, at most `most`.
    fn visited(bytes: &[u8], most: usize) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        visit_touched(bytes, |range| {
            ranges.push(range);
            if ranges.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        ranges
    }

    #[test]
    fn visits_written_pages_and_few_others() {
        let mut memory = vec![0xffu8; 40 * LARGE];
        // SAFETY: the bytes belong to the vector.
        let is_lazy = unsafe { zero(start_of(&mut memory), memory.len()) };
        // The bytes start and end within a page, and need more than one read of the page map.
        let bytes = &mut memory[100..40 * LARGE - 1];
        let written = [3 * LARGE + 5, 9 * LARGE, 9 * LARGE + 1, 30 * LARGE, 40 * LARGE - 102];
        written.iter().for_each(|&at| bytes[at] = 1);
        let ranges = visited(bytes, usize::MAX);
        assert!(ranges.is_sorted_by(|a, b| a.end <= b.start), "{ranges:?}");
        for at in written {
            assert!(ranges.iter().any(|range| range.contains(&at)), "{at} in {ranges:?}");
        }
        let outside = |at: &usize| !ranges.iter().any(|range| range.contains(at));
        assert!((0..bytes.len()).filter(outside).all(|at| bytes[at] == 0));
        if is_lazy && std::path::Path::new("/proc/self/pagemap").exists() {
            // A huge page of 2 MiB is touched as a whole.
            let touched: usize = ranges.iter().map(ExactSizeIterator::len).sum();
            assert!(touched <= 10 * (2 << 20), "{touched} bytes in {ranges:?}");
            assert_eq!(visited(bytes, 2).len(), 2);
        }
    }

    #[test]
    fn few_bytes_are_one_range() {
        assert_eq!(visited(&[0; 4096], 9), vec![Range { start: 0, end: 4096 }]);
    }
}
