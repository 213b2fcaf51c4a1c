//! Counting the set bits of words, or of the OR of several.

use super::pages::PAGE;
use crate::math::estimate::Fill;

const PAGE_WORDS: usize = PAGE / size_of::<u64>();

/// The fill of the OR of some words, all of the same length, counted in at most `sample` evenly
/// spaced pages, but in at least one.
///
/// It is exact if the words have at most `sample` pages. Words of length 0 have no set bit.
pub fn fill_of_union<'a>(all: impl Iterator<Item = &'a [u64]> + Clone, sample: usize) -> Fill {
    let len = all.clone().map(<[u64]>::len).next().unwrap_or(0);
    let pages = len.div_ceil(PAGE_WORDS);
    let step = pages.div_ceil(sample.max(1)).max(1);
    let (mut ones, mut counted) = (0, 0);
    let mut union = [0; PAGE_WORDS];
    for start in (0..len).step_by(step * PAGE_WORDS) {
        let page = union.get_mut(..PAGE_WORDS.min(len - start)).unwrap_or_default();
        page.fill(0);
        for words in all.clone() {
            let words = words.get(start..).unwrap_or_default();
            page.iter_mut().zip(words).for_each(|(union, word)| *union |= word);
        }
        ones += page.iter().map(|word| word.count_ones() as usize).sum::<usize>();
        counted += page.len();
    }
    let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
    Fill {
        set: share(ones, counted * u64::BITS as usize),
        counted: if len == 0 { 1.0 } else { share(counted, len) },
    }
}
