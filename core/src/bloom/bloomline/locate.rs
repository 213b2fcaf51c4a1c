//! From the hash of an item to its blocks and bits.
//!
//! ```text
//! layer   | page 0 | page 1 | page 2 | ...            first block = block hash * blocks / 2^64, unless folded
//! page    | block 0 | block 1 | ... | block 63 |      further blocks: first + j * stride, around the page
//! block   | sector 0 | sector 1 | ... | sector 7 |    bits: sectors start, start + 1, ..., around the block
//! sector  64 bits, one of them set by an item         which one: six bits of the pattern
//! pattern | stride 13 | start 3 | index 7 | ... | index 0 |      (high to low)
//! ```
//!
//! The bits of a block lie in different sectors, so vector instructions test or set all of them at
//! once ([`crate::simd`]). This costs 0.3 to 1.5 % more bits than bits anywhere in the block
//! ([`super::rate`]). Small layers have sectors without blocks ([`super::sectors`]).

use super::geometry::Geometry;
use crate::hash::xxh3::{ItemHash, mix};
use crate::math::scale::scale;
use crate::simd::{SECTOR_BITS, START_SHIFT};

/// Where in the first pattern the stride stands: above the bit indexes and the start.
const STRIDE_SHIFT: u32 = START_SHIFT + SECTOR_BITS;
const STRIDE_BITS: u32 = u64::BITS - STRIDE_SHIFT;

/// Multipliers that derive the patterns of blocks 1, 2 and 3 from the first: odd numbers without
/// structure (the fractions of the square roots of 2, 3 and 5).
pub(super) const FURTHER: [u64; 3] =
    [0x6a09_e667_f3bc_c909, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b];

/// Where an item lies in a layer: its first block, and what the others are derived from. In a small
/// layer the first sector takes the place of the block.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    /// Index of the first block, among all blocks of the layer.
    pub first: usize,
    /// The hash of the item. Its pattern is that of the first block.
    pub hash: ItemHash,
}

impl From<Spot> for ItemHash {
    #[inline(always)]
    fn from(spot: Spot) -> Self {
        spot.hash
    }
}

/// Locates an item in a layer that stores a given number of blocks.
#[inline(always)]
pub fn locate(hash: &ItemHash, geometry: &Geometry, blocks: u64) -> Spot {
    let first = if geometry.is_whole() {
        scale(hash.block_hash, blocks)
    } else if geometry.is_small() {
        scale(hash.block_hash, geometry.sectors().into())
    } else {
        locate_folded(hash.block_hash, geometry, blocks)
    };
    Spot { first: first as usize, hash: *hash }
}

/// The first block of an item in a folded layer that stores a given number of blocks; see
/// [`Fold`](super::fold::Fold), whose rule this is in blocks instead of pages.
///
/// Selects without a branch between paired and single pages, because which one an item has is
/// unpredictable.
#[inline(always)]
fn locate_folded(block_hash: u64, geometry: &Geometry, blocks: u64) -> u64 {
    let (pages, page_blocks, halvings) =
        (geometry.pages(), geometry.blocks_per_page(), geometry.halvings());
    let page = scale(block_hash, pages);
    let within = scale(block_hash, geometry.blocks()) - page * page_blocks;
    let halved = page >> halvings;
    // Half of the single blocks, which are the first ones: the stored blocks without those that
    // would be left if all pages were paired.
    let all_paired = ((pages.wrapping_sub(1) >> halvings >> 1) + 1) * page_blocks;
    let half = blocks.wrapping_sub(all_paired);
    let single = halved * page_blocks;
    let paired = (halved >> 1) * page_blocks + half;
    (if single < 2 * half { single } else { paired }) + within
}

/// The stride of an item: the blocks from one of its blocks to the next, 1 to `strides`.
#[inline(always)]
pub(super) fn stride(pattern: u64, strides: u64) -> u64 {
    1 + (((pattern >> STRIDE_SHIFT) * (strides & 0xff)) >> STRIDE_BITS)
}

/// The block of a page that is `stride` blocks after `block`.
///
/// `(L - 1) * stride` is less than the blocks of a page, so one conditional wrap is enough. It is
/// branchless, because whether an item wraps is unpredictable.
#[inline(always)]
pub(super) fn next_within(block: u64, stride: u64, page_blocks: u64) -> u64 {
    let over = (block + stride) as i64 - page_blocks as i64;
    (over + (over >> 63 & page_blocks as i64)) as u64
}

impl Spot {
    /// The item's blocks but the first: index among all blocks of the layer, and pattern. All are
    /// different, and in the page of the first.
    #[inline(always)]
    pub fn further(self, geometry: &Geometry) -> impl Iterator<Item = (usize, u64)> {
        let ItemHash { block_hash, pattern } = self.hash;
        let stride = stride(pattern, geometry.strides());
        let hashed_page =
            (scale(block_hash, geometry.pages()) * geometry.blocks_per_page()) as usize;
        let within = if geometry.is_folded() {
            scale(block_hash, geometry.blocks()) as usize - hashed_page
        } else {
            self.first - hashed_page
        };
        let page = self.first - within;
        let page_blocks = geometry.blocks_per_page();
        let mut block = within as u64;
        FURTHER.iter().take(geometry.further_blocks().into()).map(move |&multiplier| {
            block = next_within(block, stride, page_blocks);
            (page + block as usize, mix(pattern, multiplier))
        })
    }
}
