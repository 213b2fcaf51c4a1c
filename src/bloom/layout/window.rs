//! Where the bits of a pattern stand in the words of a line, for vectors that hold all words.

use super::super::sizing::LINE_WORDS;
use super::probe::{Line, PLACE_BITS, START_SHIFT};

/// For each word of a line, how far up in the pattern the place of its bit stands: word w has bit
/// (w - start) mod 8 of the pattern.
#[inline(always)]
pub fn shifts(pattern: u64) -> &'static Line {
    let Shifts(of_start) = &SHIFTS;
    #[expect(clippy::indexing_slicing, reason = "the remainder is below the length")]
    &of_start[(pattern >> START_SHIFT) as usize % LINE_WORDS]
}

/// Aligned so that a row is one cache line.
#[repr(align(64))]
struct Shifts([Line; LINE_WORDS]);

/// The shifts for each start of a window.
static SHIFTS: Shifts = Shifts(of_all_starts());

#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn of_all_starts() -> [Line; LINE_WORDS] {
    let mut shifts = [[0; LINE_WORDS]; LINE_WORDS];
    let mut start = 0;
    while start < LINE_WORDS {
        let mut word = 0;
        while word < LINE_WORDS {
            let index = (word + LINE_WORDS - start) % LINE_WORDS;
            shifts[start][word] = index as u64 * PLACE_BITS as u64;
            word += 1;
        }
        start += 1;
    }
    shifts
}
