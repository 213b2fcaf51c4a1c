//! Testing and setting the bits of an item in one line, word by word: the way that works everywhere.

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

    /// Sets the first `bits` bits of the pattern.
    fn set(self, line: &mut Line, pattern: Self::Pattern, bits: u8);
}

/// Word by word; needs no special instructions.
#[derive(Clone, Copy)]
pub struct Scalar;

impl Probe for Scalar {
    type Pattern = u64;

    #[inline(always)]
    fn prepare(self, pattern: u64) -> u64 {
        pattern
    }

    #[inline(always)]
    fn test(self, line: &Line, pattern: u64, bits: u8) -> bool {
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
