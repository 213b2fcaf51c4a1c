//! Where the bit index of each sector stands in a pattern, as a table for vector backends.

use super::{BLOCK_SECTORS, INDEX_BITS, START_SHIFT};

/// For each sector of a block, the shift of its bit index in the pattern: sector `s` has bit
/// `(s - start) mod 8` of the pattern.
#[inline(always)]
pub fn shifts(pattern: u64) -> &'static [u64; BLOCK_SECTORS] {
    let Shifts(of_start) = &SHIFTS;
    #[expect(clippy::indexing_slicing, reason = "the remainder is below the length")]
    &of_start[(pattern >> START_SHIFT) as usize % BLOCK_SECTORS]
}

/// A shift per start and sector, aligned so that the row of a start is one cache line.
#[repr(align(64))]
struct Shifts([[u64; BLOCK_SECTORS]; BLOCK_SECTORS]);

static SHIFTS: Shifts = Shifts(of_all_starts());

#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn of_all_starts() -> [[u64; BLOCK_SECTORS]; BLOCK_SECTORS] {
    let mut shifts = [[0; BLOCK_SECTORS]; BLOCK_SECTORS];
    let mut start = 0;
    while start < BLOCK_SECTORS {
        let mut sector = 0;
        while sector < BLOCK_SECTORS {
            let index = (sector + BLOCK_SECTORS - start) % BLOCK_SECTORS;
            shifts[start][sector] = index as u64 * INDEX_BITS as u64;
            sector += 1;
        }
        start += 1;
    }
    shifts
}
