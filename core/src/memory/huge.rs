//! Huge pages behind large allocations.
//!
//! In a filter of gigabytes, the walk through the page tables costs as much as the access itself.
//! One entry for 2 MiB instead of 512 for 4 KiB saves most of it. Memory that is advised to have
//! huge pages from the start would take 2 MiB for the first item on each. So memory begins with
//! pages of 4 KiB, and a range of 2 MiB is *collapsed* (`MADV_COLLAPSE`, Linux 6.1) once all its
//! pages are in use: it takes no more memory than before.
//!
//! Allocations of [`FROM`] bytes or more are listed here. A [`Collapser`] visits them, on a thread
//! of the host: a collapse takes about a millisecond, and longer if the kernel has to find memory
//! first. The ranges are not locked. A collapse changes no byte, and `/proc/self/pagemap` says what
//! it may be applied to, so a range that was freed meanwhile, or belongs to something else by now,
//! does no harm.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(all(target_os = "linux", not(miri)))]
pub use collapser::{Collapser, MADV_COLLAPSE};

/// Bytes of a huge page: on x86-64, and on arm64 with pages of 4 KiB.
const HUGE: usize = 2 << 20;

/// Bytes from which an allocation gets huge pages: several times the memory whose addresses a
/// processor caches; see docs/explanation/performance.md.
pub const FROM: usize = 64 << 20;

/// Bits of a [`Range`] that hold its length. The others suffice for addresses of 57 bits.
const COUNT_BITS: u32 = 28;

/// The whole huge pages of an allocation: the number of the first one, and how many they are.
///
/// One word, so that it is read and written at once. It is 0 for no range.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Range(u64);

impl Range {
    /// `None` if the allocation is too small.
    fn of(start: NonNull<u8>, size: usize) -> Option<Self> {
        let start = start.addr().get();
        let first = start.div_ceil(HUGE);
        let count = ((start + size) / HUGE).saturating_sub(first);
        let is_listed = size >= FROM && count as u64 >> COUNT_BITS == 0;
        is_listed.then_some(Self((first as u64) << COUNT_BITS | count as u64))
    }

    /// The address of huge page `index` of the range, `None` after the last one.
    #[cfg(any(test, all(target_os = "linux", not(miri))))]
    fn page(self, index: usize) -> Option<usize> {
        let count = (self.0 & ((1 << COUNT_BITS) - 1)) as usize;
        (index < count).then_some(((self.0 >> COUNT_BITS) as usize + index) * HUGE)
    }
}

/// The ranges of all allocations. They are listed without a lock, because a process that is forked
/// while a thread holds one could never take it. If all slots are in use, a further allocation
/// keeps its small pages.
static RANGES: [AtomicU64; 4096] = [const { AtomicU64::new(0) }; 4096];

/// Replaces the first slot that holds `from`.
fn replace(from: u64, to: u64) {
    let (set, get) = (Ordering::Relaxed, Ordering::Relaxed);
    let _ = RANGES
        .iter()
        .any(|slot| slot.load(get) == from && slot.compare_exchange(from, to, set, get).is_ok());
}

/// Lists an allocation if it is large.
pub fn list(start: NonNull<u8>, size: usize) {
    if let Some(range) = Range::of(start, size) {
        replace(0, range.0);
    }
}

/// Removes an allocation that was listed with this size.
pub fn unlist(start: NonNull<u8>, size: usize) {
    if let Some(range) = Range::of(start, size) {
        replace(range.0, 0);
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod collapser {
    use std::fs::File;
    use std::io::{self, Read};
    use std::ptr::NonNull;
    use std::sync::atomic::Ordering;
    use std::time::{Duration, Instant};
    use std::{ptr, thread};

    use super::{HUGE, RANGES, Range};
    use crate::memory::pages::PAGE;
    use crate::memory::pages::pagemap::Pagemap;

    /// The system's setting, such as `always [madvise] never`.
    const MODE: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

    /// The advice that makes pages huge (`asm-generic/mman-common.h`, Linux 6.1). The package
    /// `libc` has it for glibc only.
    pub const MADV_COLLAPSE: libc::c_int = 25;

    /// The time from which a collapse has copied something. A page that is huge already takes some
    /// microseconds. A wrong guess costs only time.
    const COPIED: Duration = Duration::from_micros(50);

    /// Work without a pause. A collapse is not interrupted.
    const SLICE: Duration = Duration::from_millis(1);

    /// The pause after a slice, in times of its work: it leaves the core to the server, and the
    /// mappings to commands that wait for them.
    const PAUSE: u32 = 4;

    /// The shortest time between two passes.
    const REST: Duration = Duration::from_secs(1);

    /// Collapses the pages of all listed allocations, in passes. It lives as long as the process.
    #[derive(Debug)]
    pub struct Collapser {
        /// A mapped huge page: see [`Collapser::find_memory`].
        spare: Option<NonNull<u8>>,
    }

    // SAFETY: the mapping belongs to the collapser, and may be used from any thread.
    unsafe impl Send for Collapser {}

    impl Default for Collapser {
        fn default() -> Self {
            let (access, kind) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            // SAFETY: the mapping is new, and nothing else refers to it.
            let block = unsafe { libc::mmap(ptr::null_mut(), 2 * HUGE, access, kind, -1, 0) };
            if block == libc::MAP_FAILED {
                return Self { spare: None };
            }
            let block = block.cast::<u8>();
            // SAFETY: one of the aligned huge pages lies in the mapping as a whole.
            let spare = unsafe {
                let spare = block.add(block.align_offset(HUGE));
                libc::madvise(spare.cast(), HUGE, libc::MADV_HUGEPAGE);
                spare
            };
            Self { spare: NonNull::new(spare) }
        }
    }

    impl Collapser {
        /// Visits all huge pages of all listed allocations once, with pauses: at most a fifth of
        /// the time is work. Returns how long to wait until the next pass, so that passes that
        /// collapse nothing take at most a hundredth of the time.
        pub fn pass(&mut self) -> Duration {
            let is_idle = RANGES.iter().all(|slot| slot.load(Ordering::Relaxed) == 0);
            if is_idle || !is_permitted() {
                return REST;
            }
            let Some(mut pagemap) = Pagemap::open() else { return REST };
            let mut pace = Pace::new();
            let (mut has_memory, mut is_found) = (false, false);
            for slot in &RANGES {
                let mut index = 0;
                // The range is read each time, since it may be freed while others are visited.
                while let Some(page) = Range(slot.load(Ordering::Relaxed)).page(index) {
                    index += 1;
                    if pagemap.is_owned(page / PAGE, HUGE / PAGE) {
                        if !has_memory {
                            self.find_memory();
                        }
                        match collapse(page) {
                            Ok(is_new) => {
                                has_memory = !is_new;
                                is_found |= is_new;
                            }
                            // The kernel gives up early, and may find memory for the next one.
                            Err(libc::ENOMEM | libc::EBUSY) => has_memory = false,
                            Err(_) => has_memory = true,
                        }
                    }
                    pace.pause();
                }
            }
            if is_found { REST } else { REST.max(100 * pace.worked()) }
        }

        /// Lets the kernel find memory for the next collapse: it takes the huge page that was freed
        /// last.
        ///
        /// A collapse locks all mappings of the process while it copies. In a virtual machine,
        /// where memory that is used for the first time may come from the host, it takes several
        /// times as long without this, and a command may have to wait for it; see
        /// docs/explanation/performance.md.
        fn find_memory(&mut self) {
            let Some(spare) = self.spare else { return };
            // SAFETY: the huge page belongs to the collapser, and its content is not used.
            unsafe {
                spare.write_volatile(1);
                libc::madvise(spare.as_ptr().cast(), HUGE, libc::MADV_DONTNEED);
            }
        }
    }

    /// Collapses one huge page, of which the process must own all pages. True if it was not huge
    /// before. Fails with a number of `errno`.
    fn collapse(page: usize) -> Result<bool, i32> {
        let began = Instant::now();
        let page = ptr::without_provenance_mut(page);
        // SAFETY: this changes no byte, whatever is mapped there.
        match unsafe { libc::madvise(page, HUGE, MADV_COLLAPSE) } {
            0 => Ok(began.elapsed() >= COPIED),
            _ => Err(io::Error::last_os_error().raw_os_error().unwrap_or(0)),
        }
    }

    /// The work of a pass, in slices.
    struct Pace {
        /// That of the slices before.
        worked: Duration,
        /// The start of the slice.
        resumed: Instant,
    }

    impl Pace {
        fn new() -> Self {
            Self { worked: Duration::ZERO, resumed: Instant::now() }
        }

        /// Pauses for [`PAUSE`] times the work since the last pause, if that was a slice.
        fn pause(&mut self) {
            let worked = self.resumed.elapsed();
            if worked >= SLICE {
                thread::sleep(PAUSE * worked);
                self.worked += worked;
                self.resumed = Instant::now();
            }
        }

        fn worked(&self) -> Duration {
            self.worked + self.resumed.elapsed()
        }
    }

    /// True if the kernel can collapse pages, and the system and the process permit huge pages.
    fn is_permitted() -> bool {
        // The thread allocates nothing: without memory, that would end the process.
        let mut mode = [0; 64];
        let is_on = File::open(MODE)
            .is_ok_and(|mut file| file.read(&mut mode).is_ok_and(|read| read != 0))
            && !mode.windows(7).any(|word| word == b"[never]");
        // SAFETY: no page is named, which only checks that the kernel knows the advice; the
        // process's setting is read.
        let (is_known, is_disabled) = unsafe {
            (
                libc::madvise(ptr::null_mut(), 0, MADV_COLLAPSE) == 0,
                libc::prctl(libc::PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1,
            )
        };
        is_known && !is_disabled && is_on
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed test panics")]

    use super::*;

    fn start(address: usize) -> NonNull<u8> {
        NonNull::without_provenance(address.try_into().unwrap())
    }

    #[test]
    fn ranges_are_the_whole_huge_pages() {
        let pages = |at: usize, size: usize| -> Vec<usize> {
            let range = Range::of(start(at), size).unwrap();
            (0..).map_while(|index| range.page(index).map(|page| page / HUGE)).collect()
        };
        assert_eq!(pages(7 * HUGE, FROM), (7..39).collect::<Vec<_>>());
        assert_eq!(pages(7 * HUGE + 1, FROM), (8..39).collect::<Vec<_>>());
        assert_eq!(pages(7 * HUGE - 1, FROM), (7..38).collect::<Vec<_>>());
        // The highest addresses of processes with page tables of five levels.
        let high = (1 << 57) - (1 << 46);
        assert_eq!(pages(high, 1 << 40).len(), 1 << 19);
        assert_eq!(pages(high, 1 << 40).first(), Some(&(high / HUGE)));
        assert!(Range::of(start(HUGE), FROM - 1).is_none());
        assert!(Range::of(start(HUGE), 1 << 50).is_none());
    }

    #[test]
    fn unlisted_ranges_leave_their_slots() {
        let is_listed =
            |range: Range| RANGES.iter().any(|it| it.load(Ordering::Relaxed) == range.0);
        // No process has memory there.
        let all = (1..=9_000).map(|index| start((1 << 56) + index * FROM));
        let range = |at: NonNull<u8>| Range::of(at, FROM).unwrap();
        all.clone().for_each(|at| list(at, FROM));
        // What finds no slot is not listed.
        let listed = all.clone().filter(|at| is_listed(range(*at))).count();
        assert!((4_000..=RANGES.len()).contains(&listed), "{listed}");
        all.clone().for_each(|at| unlist(at, FROM));
        assert!(!all.clone().any(|at| is_listed(range(at))));
    }
}
