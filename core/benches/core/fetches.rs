//! The baseline of lookups: their blocks are prefetched in groups as a filter does, without any
//! test.

use std::hint::black_box;

use bloomline_reference::items::mix;

/// Items that a filter prefetches together.
const GROUP: u64 = 64;
const PAGE_WORDS: u64 = 512;
const BLOCK_SECTORS: u64 = 8;

/// Where the cache lines of an item lie.
#[derive(Clone, Copy)]
pub enum Lines {
    /// This many blocks in one page, as in the Bloomline layout.
    InPage(u64),
    /// This many anywhere, as in RedisBloom's layout.
    Anywhere(u64),
}

/// Prefetches and then reads the cache lines of `items` items from number `first` on.
pub fn fetch(words: &[u64], lines: Lines, first: u64, items: u64) {
    for start in (first..first + items).step_by(GROUP as usize) {
        let group = start..(start + GROUP).min(first + items);
        for index in group.clone().flat_map(|item| word_indexes(item, lines, words.len() as u64)) {
            prefetch(words, index);
        }
        for index in group.flat_map(|item| word_indexes(item, lines, words.len() as u64)) {
            black_box(words.get(index));
        }
    }
}

fn word_indexes(item: u64, lines: Lines, len: u64) -> impl Iterator<Item = usize> {
    let scaled = |random: u64, range: u64| ((u128::from(random) * u128::from(range)) >> 64) as u64;
    let page = scaled(mix(item), len / PAGE_WORDS) * PAGE_WORDS;
    let count = match lines {
        Lines::InPage(count) | Lines::Anywhere(count) => count,
    };
    (0..count).map(move |line| {
        let random = mix(item ^ line << 48);
        let word = match lines {
            Lines::InPage(_) => page + random % (PAGE_WORDS / BLOCK_SECTORS) * BLOCK_SECTORS,
            Lines::Anywhere(_) => scaled(random, len),
        };
        word as usize
    })
}

fn prefetch(words: &[u64], index: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(words.as_ptr().wrapping_add(index).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (words, index);
}
