//! The Bloomline layout: all bits of an item in one page, in one to four lines of it.
//!
//! ```text
//! layer   | page 0 | page 1 | page 2 | ...                first line = place * lines / 2^64
//! page    | line 0 | line 1 | ... | line 63 |             further lines: first + j * stride, round the page
//! line    | word 0 | word 1 | ... | word 7  |             bits: words start, start + 1, ..., round the line
//! word    64 bits, one of them set by an item             which: six bits of the pattern
//! pattern | stride 13 | start 3 | place 7 | ... | place 0 |      (high to low)
//! ```
//!
//! A line's bits lie in words of their own, so vector operations test or set all of them at once
//! ([`super::backend`]). It costs 0.3 to 1.5 % more bits than free places in the line (see `rate`).

use super::geometry::Geometry;
use super::hash::{ItemHash, fold, scale};
use crate::simd::{Block, SECTOR_BITS, START_SHIFT};

/// Where in the first pattern the stride stands: what is left above places and start.
const STRIDE_SHIFT: u32 = START_SHIFT + SECTOR_BITS;
const STRIDE_BITS: u32 = u64::BITS - STRIDE_SHIFT;

/// What the first pattern is multiplied by to give that of line 1, 2 and 3: odd numbers without
/// structure (the fractions of the square roots of 2, 3 and 5).
const FURTHER: [u64; 3] = [0x6a09_e667_f3bc_c909, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b];

/// The item's first line, one of all lines of the layer.
#[inline(always)]
pub fn first_block<'a>(hash: &ItemHash, lines: &'a [Block]) -> &'a Block {
    let index = scale(hash.place, lines.len() as u64);
    // SAFETY: a word scaled to a length is below it, and a layer has at least one line.
    unsafe { lines.get_unchecked(index as usize) }
}

/// The same, to be written.
#[inline(always)]
pub fn first_block_mut<'a>(hash: &ItemHash, lines: &'a mut [Block]) -> &'a mut Block {
    let index = scale(hash.place, lines.len() as u64);
    // SAFETY: as in `first_block`.
    unsafe { lines.get_unchecked_mut(index as usize) }
}

/// The item's further lines: index among all lines of the layer, and pattern. All are different,
/// and in the page of the first.
#[inline(always)]
pub fn further_blocks(hash: ItemHash, geometry: Geometry) -> impl Iterator<Item = (usize, u64)> {
    let page_lines = geometry.blocks_per_page();
    let page = scale(hash.place, geometry.pages()) * page_lines;
    let first = scale(hash.place, geometry.blocks()) - page;
    let stride = 1 + (((hash.pattern >> STRIDE_SHIFT) * geometry.strides()) >> STRIDE_BITS);
    let mut line = first;
    FURTHER.iter().take(usize::from(geometry.blocks_per_item()) - 1).map(move |&multiplier| {
        // Once round the page at most: the strides of an item add up to less than a page. Without a
        // branch, which would be mispredicted.
        let over = (line + stride) as i64 - page_lines as i64;
        line = (over + (over >> 63 & page_lines as i64)) as u64;
        ((page + line) as usize, fold(hash.pattern, multiplier))
    })
}
