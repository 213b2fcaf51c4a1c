//! Testing and setting the bits of an item in one line, word by word: the way that works
//! everywhere.

use super::super::sizing::LINE_WORDS;

/// A line of 512 bits.
pub type Line = [u64; LINE_WORDS];

/// Bits of a pattern that choose the bit in a word.
pub(super) const PLACE_BITS: u32 = 6;
/// Bits of a pattern that choose the first word of the window.
pub(super) const WORD_BITS: u32 = 3;
/// Where in a pattern they stand: above the places of all words.
pub(super) const START_SHIFT: u32 = PLACE_BITS * LINE_WORDS as u32;

/// A way to test and set the bits of a pattern in a line. All ways give the same answers.
///
/// A value of the type is the proof that this processor can do it that way.
pub trait Probe: Copy {
    /// A pattern, prepared for many lines.
    type Pattern: Copy;

    /// Prepares a pattern.
    fn prepare(self, pattern: u64) -> Self::Pattern;

    /// Whether the first `bits` bits of the pattern are set, 1 to 8.
    fn test(self, line: &Line, pattern: Self::Pattern, bits: u8) -> bool;

    /// The same of a pattern that is needed for one line only.
    #[inline(always)]
    fn test_once(self, line: &Line, pattern: u64, bits: u8) -> bool {
        self.test(line, self.prepare(pattern), bits)
    }

    /// Sets the first `bits` bits of the pattern.
    fn set(self, line: &mut Line, pattern: u64, bits: u8);
}

/// Word by word; needs no special instructions.
#[derive(Clone, Copy)]
pub struct Scalar;

/// For each word of a line, the bit that the pattern has there; and the word where it starts.
#[derive(Clone, Copy)]
pub struct Masks {
    bits: Line,
    start: usize,
}

impl Probe for Scalar {
    type Pattern = Masks;

    #[inline(always)]
    fn prepare(self, pattern: u64) -> Masks {
        let mut bits = [0; LINE_WORDS];
        for (word, place) in places(pattern, LINE_WORDS as u8) {
            #[expect(clippy::indexing_slicing, reason = "the remainder is below the length")]
            let mask = &mut bits[word % LINE_WORDS];
            *mask = 1 << place;
        }
        Masks { bits, start: (pattern >> START_SHIFT) as usize % LINE_WORDS }
    }

    /// A whole line at once: no branch, and a loop that compilers make vectors of.
    #[inline(always)]
    fn test(self, line: &Line, pattern: Masks, bits: u8) -> bool {
        let mut missing = 0;
        for ((word, mask), window) in
            line.iter().zip(&pattern.bits).zip(window(pattern.start, bits))
        {
            missing |= mask & window & !word;
        }
        missing == 0
    }

    /// Only the words that are asked for: cheaper than preparing the pattern.
    #[inline(always)]
    fn test_once(self, line: &Line, pattern: u64, bits: u8) -> bool {
        let mut all = 1;
        for (word, place) in places(pattern, bits) {
            #[expect(clippy::indexing_slicing, reason = "the remainder is below the length")]
            let word = line[word % LINE_WORDS];
            all &= word >> place;
        }
        all & 1 == 1
    }

    #[inline(always)]
    fn set(self, line: &mut Line, pattern: u64, bits: u8) {
        for (word, place) in places(pattern, bits) {
            #[expect(clippy::indexing_slicing, reason = "the remainder is below the length")]
            let word = &mut line[word % LINE_WORDS];
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
fn window(start: usize, bits: u8) -> &'static Line {
    let Windows(of_start) = &WINDOWS;
    &of_start[start % LINE_WORDS][usize::from(bits.wrapping_sub(1)) % LINE_WORDS]
}

/// Aligned so that a row is one cache line.
#[repr(align(64))]
struct Windows([[Line; LINE_WORDS]; LINE_WORDS]);

/// The windows from each start on: of one word, of two, and so on.
static WINDOWS: Windows = Windows(of_all_starts());

#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn of_all_starts() -> [[Line; LINE_WORDS]; LINE_WORDS] {
    let mut windows = [[[0; LINE_WORDS]; LINE_WORDS]; LINE_WORDS];
    let mut start = 0;
    while start < LINE_WORDS {
        let mut index = 0;
        while index < LINE_WORDS {
            // The word that is added here is in this window and all longer ones.
            let mut longer = index;
            while longer < LINE_WORDS {
                windows[start][longer][(start + index) % LINE_WORDS] = u64::MAX;
                longer += 1;
            }
            index += 1;
        }
        start += 1;
    }
    windows
}
