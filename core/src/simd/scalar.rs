//! The scalar backend, which works sector by sector on every processor.

use super::{BLOCK_SECTORS, Backend, Block, INDEX_BITS, START_SHIFT};

type Sectors = [u64; BLOCK_SECTORS];

/// The scalar backend. It needs no special instructions.
#[derive(Clone, Copy)]
pub struct Scalar;

/// For each sector of a block, the bit of the pattern; and the first of the consecutive sectors.
#[derive(Clone, Copy)]
pub struct Masks {
    bits: Sectors,
    start: usize,
}

impl Backend for Scalar {
    type Pattern = Masks;
    type Lanes = u64;

    #[inline(always)]
    fn prepare(self, pattern: u64) -> Masks {
        let mut bits = [0; BLOCK_SECTORS];
        for (sector, index) in bit_indexes(pattern, BLOCK_SECTORS as u8) {
            #[expect(clippy::indexing_slicing, reason = "the remainder is below the length")]
            let mask = &mut bits[sector % BLOCK_SECTORS];
            *mask = 1 << index;
        }
        Masks { bits, start: (pattern >> START_SHIFT) as usize % BLOCK_SECTORS }
    }

    /// Tests all eight sectors without a branch, so that the compiler vectorises the loop.
    #[inline(always)]
    fn test(self, block: &Block, pattern: Masks, bits: u8) -> bool {
        let mut missing = 0;
        for ((sector, mask), used) in
            block.0.iter().zip(&pattern.bits).zip(used_sectors(pattern.start, bits))
        {
            missing |= mask & used & !sector;
        }
        missing == 0
    }

    /// Tests only the sectors of the pattern, which is cheaper than to prepare it.
    #[inline(always)]
    fn test_once(self, block: &Block, pattern: u64, bits: u8) -> bool {
        let mut all = 1;
        for (sector, index) in bit_indexes(pattern, bits) {
            #[expect(clippy::indexing_slicing, reason = "the remainder is below the length")]
            let sector = block.0[sector % BLOCK_SECTORS];
            all &= sector >> index;
        }
        all & 1 == 1
    }

    #[inline(always)]
    fn set(self, block: &mut Block, pattern: u64, bits: u8) {
        for (sector, index) in bit_indexes(pattern, bits) {
            #[expect(clippy::indexing_slicing, reason = "the remainder is below the length")]
            let sector = &mut block.0[sector % BLOCK_SECTORS];
            *sector |= 1 << index;
        }
    }

    #[inline(always)]
    fn lanes(self, mut number: impl FnMut(usize) -> u64) -> u64 {
        number(0)
    }
}

/// Sector and bit index of each of the first `bits` bits of a pattern. The sector is to be reduced
/// modulo [`BLOCK_SECTORS`].
#[inline(always)]
fn bit_indexes(pattern: u64, bits: u8) -> impl Iterator<Item = (usize, u32)> {
    let start = (pattern >> START_SHIFT) as usize;
    (0..u32::from(bits)).map(move |i| {
        let index = (pattern >> (i * INDEX_BITS)) as u32 % u64::BITS;
        (start + i as usize, index)
    })
}

/// A block with all bits set in `count` consecutive sectors, 1 to 8, from `start` on.
#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "the remainders are below the lengths")]
fn used_sectors(start: usize, count: u8) -> &'static Sectors {
    let UsedSectors(of_start) = &USED_SECTORS;
    &of_start[start % BLOCK_SECTORS][usize::from(count.wrapping_sub(1)) % BLOCK_SECTORS]
}

/// A block per start and number of consecutive sectors, aligned so that each is one cache line.
#[repr(align(64))]
struct UsedSectors([[Sectors; BLOCK_SECTORS]; BLOCK_SECTORS]);

/// For each start, the blocks of one consecutive sector, of two, and so on.
static USED_SECTORS: UsedSectors = UsedSectors(of_all_starts());

#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn of_all_starts() -> [[Sectors; BLOCK_SECTORS]; BLOCK_SECTORS] {
    let mut blocks = [[[0; BLOCK_SECTORS]; BLOCK_SECTORS]; BLOCK_SECTORS];
    let mut start = 0;
    while start < BLOCK_SECTORS {
        let mut index = 0;
        while index < BLOCK_SECTORS {
            // Sector `start + index` is used if there are more than `index` sectors.
            let mut longer = index;
            while longer < BLOCK_SECTORS {
                blocks[start][longer][(start + index) % BLOCK_SECTORS] = u64::MAX;
                longer += 1;
            }
            index += 1;
        }
        start += 1;
    }
    blocks
}
