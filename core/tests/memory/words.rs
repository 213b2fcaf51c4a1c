//! Words, the bits of a layer: the union of two, and shorter ones.

use std::ptr::NonNull;

use bloomline_core::memory::allocation::Kind;
use bloomline_core::memory::pages;
use bloomline_core::memory::words::{Mover, Words, copy_to_zeros, overwrite};
use bloomline_reference::items::mix;

/// Bytes from which words start on a page, and from which the system zeroes their pages.
const ALIGNED: u64 = 32 << 10;
const LAZY: u64 = 1 << 20;

/// Sizes in bytes around each limit, and the smallest. Miri takes a thousand times as long.
const SIZES: &[u64] = if cfg!(miri) {
    &[16, ALIGNED, ALIGNED + 8]
} else {
    &[
        8,
        16,
        4_096,
        ALIGNED - 8,
        ALIGNED,
        ALIGNED + 8,
        200_008,
        LAZY - 4_104,
        LAZY - 8,
        LAZY,
        LAZY + 8,
        4 * LAZY + 4_096,
    ]
};

fn zeroed(bytes: u64) -> Words {
    Words::zeroed(bytes / 8).unwrap()
}

/// The word at an index: different ones, none of them zero.
fn word(index: usize) -> u64 {
    mix(index as u64) | 1
}

fn written(bytes: u64) -> Words {
    let mut words = zeroed(bytes);
    words.as_mut_slice().iter_mut().enumerate().for_each(|(index, to)| *to = word(index));
    words
}

/// Words that the host allocated.
fn adopted(bytes: u64) -> Words {
    let words: Vec<u64> = (0..bytes as usize / 8).map(word).collect();
    let block = NonNull::from(Box::leak(words.into_boxed_slice())).cast();
    #[cfg(feature = "audit")]
    {
        // The ledger records the memory as the host's.
        bloomline_core::memory::ledger::returned(block.addr().get(), bytes as usize);
        bloomline_core::memory::ledger::adopted(block.addr().get(), bytes as usize);
    }
    // SAFETY: the memory has this size, was leaked, and comes from the global allocator.
    unsafe { Words::adopt(block, bytes) }.unwrap()
}

/// Moves the allocation of words, of which `bytes` bytes are allocated.
fn move_elsewhere(words: &mut Words, bytes: usize) {
    let mut move_block = |from: NonNull<u8>| {
        let layout = std::alloc::Layout::from_size_align(bytes, 8).unwrap();
        // SAFETY: the allocation has this layout, and the words use its copy from now on.
        unsafe {
            let to = NonNull::new(std::alloc::alloc(layout)).unwrap();
            from.copy_to_nonoverlapping(to, bytes);
            std::alloc::dealloc(from.as_ptr(), layout);
            Some(to)
        }
    };
    // SAFETY: `move_block` returns an allocation of the same size and content.
    words.relocate(&mut unsafe { Mover::new(&mut move_block) });
}

/// Asserts that the words are the first of those of [`written`], and that all operations work.
fn check_truncated(words: &mut Words, bytes: u64) {
    let len = bytes as usize / 8;
    assert_eq!((words.len(), words.bytes(), words.as_bytes().len()), (len as u64, bytes, len * 8));
    let is_kept = |words: &Words| words.as_slice().iter().enumerate().all(|(i, w)| *w == word(i));
    assert!(is_kept(words), "{bytes} bytes");
    assert!(words.as_slice().as_ptr().is_aligned());
    let kind = words.allocation().kind;
    assert!(kind == Kind::Exact || kind != Kind::Adopted && bytes >= ALIGNED, "{kind:?}, {bytes}");

    let copy = words.try_clone().unwrap();
    let ones: u32 = words.as_slice().iter().map(|word| word.count_ones()).sum();
    let fill = f64::from(ones) / (bytes * 8) as f64;
    assert!(is_kept(&copy) && !words.is_zero(0..len * 8) && words.fill(usize::MAX) == fill);
    let page = if kind == Kind::Exact { 0 } else { pages::PAGE };
    move_elsewhere(words, len * 8 + page);
    assert!(is_kept(words) && words.allocation().kind != Kind::Lazy);
    words.as_mut_slice().fill(0);
    assert!(words.is_zero(0..len * 8) && words.fill(usize::MAX) == 0.0);
    assert!(words.union(&copy) > 0 && is_kept(words));
}

#[test]
fn bytes_that_fill_no_whole_words_end_in_unused_ones() {
    for bytes in (1..200).chain([4_095, 32_767, 32_769, (2 << 20) + 3]) {
        let mut words = Words::for_bytes(bytes).expect("memory");
        assert_eq!((words.bytes(), words.len()), (bytes, bytes.div_ceil(8)));
        assert_eq!(words.as_mut_bytes().len() as u64, bytes);
        words.as_mut_bytes().fill(0xff);
        assert_eq!((words.as_bytes().len() as u64, words.view().bytes()), (bytes, bytes));
        assert!((1.0 - 1e-12..=1.0).contains(&words.fill(4_096)), "{bytes} bytes");
        let copy = words.try_clone().expect("memory");
        assert_eq!((copy.bytes(), copy.as_slice()), (bytes, words.as_slice()));
        let ones = words.as_slice().iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        assert_eq!(ones, 8 * bytes, "an unused byte was written");
        assert!(!words.is_zero(0..usize::MAX) && words.equals(0, copy.as_bytes()));
        let mut empty = Words::for_bytes(bytes).expect("memory");
        assert_eq!((empty.union(&words), empty.union(&words)), (8 * bytes, 0));
    }
}

#[test]
fn truncated_words_of_all_kinds_keep_their_start() {
    for (index, from) in SIZES.iter().copied().enumerate() {
        for to in SIZES.iter().copied().take(index) {
            for create in [written, adopted] {
                let mut words = create(from);
                words.truncate(to / 8);
                check_truncated(&mut words, to);
            }
            // Words that are truncated step by step, and after they were moved.
            let mut words = written(from);
            let page = if words.allocation().kind == Kind::Exact { 0 } else { pages::PAGE };
            move_elsewhere(&mut words, from as usize + page);
            words.truncate(u64::midpoint(from, to) / 8);
            words.truncate(to / 8);
            check_truncated(&mut words, to);
        }
    }
}

#[test]
fn truncating_to_nothing_or_more_changes_nothing() {
    for bytes in [64, ALIGNED, LAZY] {
        let mut words = written(bytes);
        let before = (words.allocation().start, words.allocation().kind);
        for len in [0, bytes / 8, bytes / 8 + 1, u64::MAX] {
            words.truncate(len);
            assert_eq!(
                (words.allocation().start, words.allocation().kind, words.bytes()),
                (before.0, before.1, bytes)
            );
        }
    }
}

#[test]
fn union_equals_the_or_of_all_words() {
    for bytes in SIZES.iter().copied() {
        // No word, the first, the last, every hundredth, and all.
        let last = bytes as usize / 8 - 1;
        let selections: [&dyn Fn(usize) -> bool; 5] =
            [&|_| false, &|i| i == 0, &|i| i == last, &|i| i % 100 == 7, &|_| true];
        let select = |selection: &dyn Fn(usize) -> bool, salt: usize| {
            let mut words = zeroed(bytes);
            let slice = words.as_mut_slice();
            (0..=last).filter(|&i| selection(i)).for_each(|i| slice[i] = word(i + salt));
            words
        };
        for to in selections {
            for from in selections {
                let (mut words, other) = (select(to, 0), select(from, 1 << 30));
                let before = words.as_slice().to_vec();
                let expected: Vec<u64> =
                    before.iter().zip(other.as_slice()).map(|(a, b)| a | b).collect();
                let ones =
                    |words: &[u64]| words.iter().map(|it| u64::from(it.count_ones())).sum::<u64>();
                let new_bits: u64 = ones(&expected) - ones(&before);
                assert_eq!(words.union(&other), new_bits, "{bytes} bytes");
                assert!(words.as_slice() == expected, "{bytes} bytes");
                assert_eq!(words.union(&other), 0, "nothing changes the second time");
                assert!(words.as_slice() == expected, "{bytes} bytes");
            }
        }
    }
}

#[test]
fn union_finds_the_change_of_any_single_bit() {
    let bytes: u64 = if cfg!(miri) { 520 } else { ALIGNED + 8 };
    for bit in (0..bytes as usize * 8).step_by(61) {
        let (mut words, mut other) = (zeroed(bytes), zeroed(bytes));
        other.as_mut_bytes()[bit / 8] = 1 << (bit % 8);
        assert_eq!(words.union(&other), 1, "bit {bit}");
        assert_eq!(words.union(&other), 0, "bit {bit}");
        assert_eq!(words.as_bytes(), other.as_bytes());
    }
}

/// Resident pages, on a system that zeroes pages lazily.
#[cfg(all(target_os = "linux", not(miri)))]
mod untouched {
    use super::*;

    /// Lazy words without huge pages, of which one touched page would be 512.
    fn lazy(bytes: u64) -> Words {
        let words = zeroed(bytes);
        assert_eq!(words.allocation().kind, Kind::Lazy);
        // SAFETY: the advice is about memory of the words. It fails if there are no huge pages,
        // which is fine.
        unsafe {
            let start = words.as_bytes().as_ptr().cast_mut();
            libc::madvise(start.cast(), bytes as usize, libc::MADV_NOHUGEPAGE);
        }
        words
    }

    /// The number of resident pages of `bytes` bytes from `start` on.
    fn resident_pages(start: *const u8, bytes: u64) -> usize {
        let mut pages = vec![0u8; bytes as usize / pages::PAGE];
        // SAFETY: `start` lies on a page within a mapping, and there is one byte per page.
        let result =
            unsafe { libc::mincore(start.cast_mut().cast(), bytes as usize, pages.as_mut_ptr()) };
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
        pages.iter().filter(|page| **page & 1 == 1).count()
    }

    fn resident(words: &Words) -> usize {
        resident_pages(words.as_bytes().as_ptr(), words.bytes())
    }

    #[test]
    fn union_touches_only_pages_with_new_bits() {
        const BYTES: u64 = 64 << 20;
        let (mut words, mut other) = (lazy(BYTES), lazy(BYTES));
        // One page is read to check that the system has dropped the pages.
        assert_eq!(words.union(&other), 0);
        assert!(resident(&words) <= 1 && resident(&other) <= 1);
        // Pages that were touched, and a few of them with bits.
        let slice = other.as_mut_slice();
        slice.iter_mut().step_by(512 * 16).for_each(|word| *word = 1);
        slice.iter_mut().step_by(512 * 16).skip(10).for_each(|word| *word = 0);
        let before = resident(&other);
        assert!(words.union(&other) > 0);
        assert!(resident(&words) <= 11, "{} pages", resident(&words));
        assert!(resident(&other) <= before + 1, "{} pages", resident(&other));
        assert_eq!(words.as_bytes(), other.as_bytes());
    }

    #[test]
    fn copies_touch_no_page_of_zeros() {
        const BYTES: u64 = 2 << 20;
        // Pages of zeros: none of the first 100, every other one, all of the last 200.
        let from = {
            let mut words = written(BYTES);
            for (page, words) in words.as_mut_slice().chunks_mut(pages::PAGE / 8).enumerate() {
                if page >= 312 || page >= 100 && page.is_multiple_of(2) {
                    words.fill(0);
                }
            }
            words
        };
        let mut to = lazy(BYTES);
        copy_to_zeros(to.as_mut_bytes(), from.as_bytes());
        // Reading a page makes it resident.
        assert_eq!(resident(&to), 100 + 106);
        assert!(to.as_slice() == from.as_slice());
        overwrite(to.as_mut_bytes(), zeroed(BYTES).as_bytes());
        assert!(to.is_zero(0..BYTES as usize));
        // The bytes may begin within a page.
        overwrite(&mut to.as_mut_bytes()[8..], &from.as_bytes()[8..]);
        assert!(to.is_zero(0..8) && to.as_bytes()[8..] == from.as_bytes()[8..]);
    }

    #[test]
    fn truncation_touches_no_page_of_lazy_words() {
        let mut words = lazy(64 << 20);
        for (mib, kind) in [(32, Kind::Lazy), (1, Kind::Lazy)] {
            words.truncate((mib << 20) / 8);
            // An allocator that moves the memory touches it.
            assert!(words.allocation().kind != kind || resident(&words) <= 1);
        }
        words.truncate(1);
        assert_eq!((words.allocation().kind, words.as_slice()), (Kind::Exact, &[0][..]));
    }
}
