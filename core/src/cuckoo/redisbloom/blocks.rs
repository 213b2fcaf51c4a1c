//! Which blocks of a table have fingerprints, and what a call keeps of that.
//!
//! A call that deletes many items may compact some hundred times, and each compaction visits all
//! fingerprints of the newest table. A large table of few fingerprints is read once per call: then
//! only the blocks that had fingerprints are.

use std::ops::ControlFlow;

use crate::memory::pages::PAGE;
use crate::memory::words::Words;
use crate::work;

pub(super) const BLOCK: usize = PAGE / u64::BITS as usize;

/// A word per page of a table and a bit per block: 0 if all its slots are empty. Without words any
/// block may have fingerprints.
#[derive(Debug, Default)]
pub(in crate::cuckoo) struct Blocks(Option<Words>);

/// What a call that deletes items keeps from one compaction for the next. No item is inserted in
/// between.
#[derive(Debug, Default)]
pub(in crate::cuckoo) struct Kept {
    /// True if the filter counts at least as many items as there are: deletions keep that.
    pub(super) is_counted: bool,
    /// Those of the newest table, which gets no fingerprints in the meantime.
    pub(super) newest: Option<Blocks>,
}

impl Blocks {
    /// Those of a table, whose touched pages are read. They take a 512th of its bytes; where there
    /// is no memory for that, or the table is one page, any block may have fingerprints.
    pub(super) fn of(table: &Words) -> Self {
        const PAGE_WORDS: usize = PAGE / size_of::<u64>();
        let pages = table.as_slice().chunks(PAGE_WORDS);
        if pages.len() < 2 {
            return Self(None);
        }
        let Ok(mut blocks) = Words::zeroed(pages.len() as u64) else { return Self(None) };
        table.visit_touched(0..table.bytes() as usize, |touched| {
            let (first, end) = (touched.start / PAGE, touched.end.div_ceil(PAGE));
            let words = blocks.as_mut_slice().get_mut(first..end).unwrap_or_default();
            work::count((words.len() * PAGE / BLOCK) as u64);
            for (bits, page) in words.iter_mut().zip(pages.clone().skip(first)) {
                *bits = occupied_blocks(page);
            }
            ControlFlow::Continue(())
        });
        Self(Some(blocks))
    }

    /// The bits of a page of `slots` slots.
    pub(super) fn of_page(&self, page: usize, slots: usize) -> u64 {
        match &self.0 {
            Some(words) => words.as_slice().get(page).copied().unwrap_or_default(),
            None => u64::MAX >> (u64::BITS - slots.div_ceil(BLOCK) as u32),
        }
    }

    /// Overwrites the bits of a page.
    pub(super) fn set_page(&mut self, page: usize, bits: u64) {
        let words = self.0.as_mut().and_then(|words| words.as_mut_slice().get_mut(page));
        if let Some(word) = words {
            *word = bits;
        }
    }
}

/// The bits of the blocks of a page that are not zero.
fn occupied_blocks(page: &[u64]) -> u64 {
    let blocks = page.chunks(BLOCK / size_of::<u64>());
    let is_occupied = |block: &[u64]| block.iter().fold(0, |all, word| all | word) != 0;
    (0..).zip(blocks).fold(0, |bits, (at, block)| bits | u64::from(is_occupied(block)) << at)
}
