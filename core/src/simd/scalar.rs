//! Testing and setting the bits of an item in one line, word by word: the way that works
//! everywhere.

use super::{BLOCK_SECTORS, Backend, Block, PLACE_BITS, START_SHIFT};

/// The sectors of a block.
type Sectors = [u64; BLOCK_SECTORS];

/// Word by word; needs no special instructions.
#[derive(Clone, Copy)]
pub struct Scalar;

/// For each word of a line, the bit that the pattern has there; and the word where it starts.
#[derive(Clone, Copy)]
pub struct Masks {
    bits: Sectors,
    start: usize,
}

impl Backend for Scalar {
    type Pattern = Masks;

    #[inline(always)]
    fn prepare(self, pattern: u64) -> Masks {
        let mut bits = [0; BLOCK_SECTORS];
        for (word, place) in places(pattern, BLOCK_SECTORS as u8) {
            #[expect(clippy::indexing_slicing, reason = "the remainder is below the length")]
            let mask = &mut bits[word % BLOCK_SECTORS];
            *mask = 1 << place;
        }
        Masks { bits, start: (pattern >> START_SHIFT) as usize % BLOCK_SECTORS }
    }

    /// A whole line at once: no branch, and a loop that compilers make vectors of.
    #[inline(always)]
    fn test(self, line: &Block, pattern: Masks, bits: u8) -> bool {
        let mut missing = 0;
        for ((word, mask), window) in
            line.0.iter().zip(&pattern.bits).zip(window(pattern.start, bits))
        {
            missing |= mask & window & !word;
        }
        missing == 0
    }

    /// Only the words that are asked for: cheaper than preparing the pattern.
    #[inline(always)]
    fn test_once(self, line: &Block, pattern: u64, bits: u8) -> bool {
        let mut all = 1;
        for (word, place) in places(pattern, bits) {
            #[expect(clippy::indexing_slicing, reason = "the remainder is below the length")]
            let word = line.0[word % BLOCK_SECTORS];
            all &= word >> place;
        }
        all & 1 == 1
    }

    #[inline(always)]
    fn set(self, line: &mut Block, pattern: u64, bits: u8) {
        for (word, place) in places(pattern, bits) {
            #[expect(clippy::indexing_slicing, reason = "the remainder is below the length")]
            let word = &mut line.0[word % BLOCK_SECTORS];
            *word |= 1 << place;
        }
    }
}

/// Word and bit of each bit of a pattern.
#[inline(always)]
fn places(pattern: u64, bits: u8) -> impl Iterator<Item = (usize, u32)> {
    let start = (pattern >> START_SHIFT) as usize;
    (0..u32::from(bits)).map(move |i| {
        let place = (pattern >> (i * PLACE_BITS)) as u32 % u64::BITS;
        (start + i as usize, place)
    })
}

/// All bits of the words of a window: of `bits` words, 1 to 8, from `start` on.
#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "the remainders are below the lengths")]
fn window(start: usize, bits: u8) -> &'static Sectors {
    let Windows(of_start) = &WINDOWS;
    &of_start[start % BLOCK_SECTORS][usize::from(bits.wrapping_sub(1)) % BLOCK_SECTORS]
}

/// Aligned so that a row is one cache line.
#[repr(align(64))]
struct Windows([[Sectors; BLOCK_SECTORS]; BLOCK_SECTORS]);

/// The windows from each start on: of one word, of two, and so on.
static WINDOWS: Windows = Windows(of_all_starts());

#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn of_all_starts() -> [[Sectors; BLOCK_SECTORS]; BLOCK_SECTORS] {
    let mut windows = [[[0; BLOCK_SECTORS]; BLOCK_SECTORS]; BLOCK_SECTORS];
    let mut start = 0;
    while start < BLOCK_SECTORS {
        let mut index = 0;
        while index < BLOCK_SECTORS {
            // The word that is added here is in this window and all longer ones.
            let mut longer = index;
            while longer < BLOCK_SECTORS {
                windows[start][longer][(start + index) % BLOCK_SECTORS] = u64::MAX;
                longer += 1;
            }
            index += 1;
        }
        start += 1;
    }
    windows
}
