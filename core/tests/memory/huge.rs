//! Huge pages behind large words.

use std::fs;
use std::ops::Range;

use bloomline_core::memory::huge::{Collapser, FROM, MADV_COLLAPSE};
use bloomline_core::memory::pages::PAGE;
use bloomline_core::memory::words::Words;

const HUGE: usize = 2 << 20;

/// Why the kernel or the system's setting does not permit what is tested.
fn missing() -> Option<String> {
    let mode = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    let mode = mode.unwrap_or_else(|error| error.to_string());
    // SAFETY: no page is named, and the process's setting is read.
    let (is_known, is_disabled) = unsafe {
        (
            libc::madvise(std::ptr::null_mut(), 0, MADV_COLLAPSE) == 0,
            libc::prctl(libc::PR_GET_THP_DISABLE, 0, 0, 0, 0) != 0,
        )
    };
    match () {
        // In the mode `always`, memory has huge pages from the start.
        () if !mode.contains("[madvise]") => Some(format!("huge pages are {}", mode.trim())),
        () if !is_known => Some("the kernel has no MADV_COLLAPSE (Linux 6.1)".to_owned()),
        () if is_disabled => Some("huge pages are disabled for the process".to_owned()),
        () => None,
    }
}

/// Words in a mapping that the kernel does not join with its neighbours.
struct Mapped(Words);

impl Mapped {
    fn new(bytes: usize) -> Self {
        let words = Words::zeroed(bytes as u64 / 8).unwrap();
        // SAFETY: the advice is about memory of the words.
        let result = unsafe {
            libc::madvise(words.as_bytes().as_ptr() as *mut _, bytes, libc::MADV_DONTDUMP)
        };
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
        Self(words)
    }

    /// Writes one byte to each page that is selected.
    fn touch(&mut self, is_selected: impl Fn(usize) -> bool) {
        let pages = self.0.as_mut_bytes().chunks_mut(PAGE).enumerate();
        pages
            .filter(|(page, _)| is_selected(*page))
            .for_each(|(page, bytes)| bytes[9] = page as u8);
    }

    /// The mapping's numbers of kibibytes in `smaps`, in bytes: resident, and in huge pages.
    fn resident_and_huge(&self) -> (usize, usize) {
        let start = format!("{:x}-", self.0.as_bytes().as_ptr().addr());
        let smaps = fs::read_to_string("/proc/self/smaps").unwrap();
        let of_mapping = &smaps[smaps.find(&format!("\n{start}")).unwrap()..];
        let number = |name: &str| {
            let text = &of_mapping[of_mapping.find(name).unwrap() + name.len()..];
            text.split_whitespace().next().unwrap().parse::<usize>().unwrap() << 10
        };
        (number("\nRss:"), number("\nAnonHugePages:"))
    }

    /// The numbers of the pages in each whole huge page.
    fn whole(&self) -> Vec<Range<usize>> {
        let start = self.0.as_bytes().as_ptr().addr();
        let (first, last) = (start.div_ceil(HUGE), (start + self.0.as_bytes().len()) / HUGE);
        let page = |huge: usize| (huge * HUGE - start) / PAGE;
        (first..last).map(|huge| page(huge)..page(huge + 1)).collect()
    }
}

/// All in one test, since a pass visits the words of all.
#[test]
fn pages_are_collapsed_where_all_are_in_use() {
    if let Some(reason) = missing() {
        eprintln!("NOT TESTED: {reason}");
        return;
    }
    let mut collapser = Collapser::default();

    let mut small = Mapped::new(FROM - 2 * PAGE);
    small.touch(|_| true);
    collapser.pass();
    assert_eq!(small.resident_and_huge(), (FROM - 2 * PAGE, 0), "below the limit");
    drop(small);

    let mut sparse = Mapped::new(FROM);
    sparse.touch(|page| page % 512 != 0);
    assert!(sparse.0.as_slice().iter().any(|word| *word != 0), "the others are read");
    let before = sparse.resident_and_huge();
    collapser.pass();
    assert_eq!(sparse.resident_and_huge(), before, "a page of zeros takes no memory");
    assert_eq!(before.1, 0);
    drop(sparse);

    let mut words = Mapped::new(FROM + 3 * PAGE);
    let whole = words.whole();
    let (gap, last) = (whole[3].start + 77, whole.len() - 1);
    words.touch(|page| page != gap);
    let before = (words.0.as_slice().to_vec(), words.resident_and_huge().0);
    // A child of this process shares all pages.
    // SAFETY: the child calls functions that are safe after a fork only.
    let child = unsafe { libc::fork() };
    if child == 0 {
        loop {
            // SAFETY: it has no requirements.
            unsafe { libc::pause() };
        }
    }
    collapser.pass();
    let shared = words.resident_and_huge();
    // SAFETY: the process is the child of this one.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
    assert_eq!(shared, (before.1, 0), "while a child shares the pages");
    collapser.pass();
    assert_eq!(words.resident_and_huge(), (before.1, last * HUGE), "all but the one with a gap");
    assert!(words.0.as_slice() == before.0, "the content");
    words.touch(|page| page == gap);
    collapser.pass();
    assert_eq!(words.resident_and_huge().1, (last + 1) * HUGE, "without the gap");

    // What is given back stays so.
    let released = whole[5].start * PAGE..whole[5].end * PAGE;
    let before = words.resident_and_huge().0;
    words.0.release_zeros(released);
    collapser.pass();
    let after = words.resident_and_huge();
    assert!(after.0 <= before - HUGE + PAGE, "{after:?} of {before}");
}
