//! The answers of a bulk call: a bit per item and per empty line, and their number.

use bitvec::order::Msb0;
use bitvec::slice::BitSlice;
use bitvec::vec::BitVec;

use super::lines::Lines;
use super::packed::Packed;

/// Answers that are collected before they are replied. That of an empty line is 0, so that the
/// place of an answer is the number of its line.
pub struct Answers<'a> {
    /// Full words of 64 answers as bytes, in the order of the server's bitmaps: the first answer is
    /// the highest bit of the first byte. Not a `BitVec` yet, whose appending takes longer.
    bytes: Vec<u8>,
    /// The answers after those, the first one in the highest bit.
    word: u64,
    len: usize,
    /// The lines after that of the last item; none if no line is empty.
    lines: Lines<'a>,
}

impl<'a> Answers<'a> {
    /// Room for the answers to all items of a call; `None` if there is no memory for it.
    pub fn to(items: Packed<'a>) -> Option<Self> {
        // One word more than the answers may need, because the last word is appended whole.
        let words = items.answers() / u64::BITS as usize + 1;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(words * size_of::<u64>()).ok()?;
        Some(Self { bytes, word: 0, len: 0, lines: items.lines_with_empty() })
    }

    /// Adds the answer to the next item.
    #[inline(always)]
    pub fn push(&mut self, answer: bool) {
        if !self.lines.is_over() {
            self.end_empty_lines();
        }
        self.push_bit(answer);
    }

    /// Adds the answers to the empty lines before the next item, or at the end. To be called once
    /// after the last answer.
    #[inline(never)]
    pub fn end_empty_lines(&mut self) {
        while self.lines.next().is_some_and(<[u8]>::is_empty) {
            self.push_bit(false);
        }
    }

    #[inline(always)]
    fn push_bit(&mut self, answer: bool) {
        self.word |= u64::from(answer) << (63 - self.len as u32 % u64::BITS);
        self.len += 1;
        if self.len.is_multiple_of(u64::BITS as usize) {
            self.end_word();
        }
    }

    /// Not inlined, so that [`Answers::push`] is small enough to be.
    #[inline(never)]
    fn end_word(&mut self) {
        self.bytes.extend(std::mem::take(&mut self.word).to_be_bytes());
    }

    /// The number of answers.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The number of answers that are 1.
    pub fn ones(&self) -> u64 {
        let in_bytes = BitSlice::<u8, Msb0>::from_slice(&self.bytes).count_ones();
        in_bytes as u64 + u64::from(self.word.count_ones())
    }

    /// The answers as a bitmap. The bits after the last answer are 0.
    pub fn into_bitmap(mut self) -> Vec<u8> {
        self.end_word();
        let mut bits = BitVec::<u8, Msb0>::from_vec(self.bytes);
        bits.truncate(self.len);
        bits.into_vec()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use std::num::NonZeroUsize;

    use super::Answers;
    use crate::command::packed::{Form, Packed};

    /// The bits of a bitmap of `len` answers; those after them are 0.
    fn bits(bitmap: &[u8], len: usize) -> Vec<u8> {
        assert_eq!(bitmap.len(), len.div_ceil(8));
        let bit = |index: usize| bitmap[index / 8] >> (7 - index % 8) & 1;
        assert!((len..bitmap.len() * 8).all(|index| bit(index) == 0), "{len}");
        (0..len).map(bit).collect()
    }

    #[test]
    fn first_answer_is_the_highest_bit() {
        for len in [0, 1, 7, 8, 9, 63, 64, 65, 200] {
            let data = vec![b'x'; len];
            let items = Packed::new(Form::Fixed(NonZeroUsize::MIN), &data).unwrap();
            let mut answers = Answers::to(items).unwrap();
            (0..len).for_each(|index| answers.push(index % 3 == 0));
            answers.end_empty_lines();
            assert_eq!((answers.len(), answers.ones()), (len, len.div_ceil(3) as u64));
            let expected: Vec<u8> = (0..len).map(|index| u8::from(index % 3 == 0)).collect();
            assert_eq!(bits(&answers.into_bitmap(), len), expected);
        }
    }

    #[test]
    fn empty_lines_answer_0_in_their_places() {
        let items = Packed::new(Form::Lines, b"\na\n\r\n\nb\nc\n\n").unwrap();
        // The answers to the items, of which the last may be missing, and those to the lines.
        let all: [(&[bool], &[u8]); 4] = [
            (&[true; 3], &[0, 1, 0, 0, 1, 1, 0]),
            (&[true; 2], &[0, 1, 0, 0, 1]),
            (&[true], &[0, 1, 0, 0]),
            (&[], &[0]),
        ];
        for (given, expected) in all {
            let mut answers = Answers::to(items).unwrap();
            given.iter().for_each(|&answer| answers.push(answer));
            answers.end_empty_lines();
            assert_eq!((answers.len(), answers.ones()), (expected.len(), given.len() as u64));
            assert_eq!(bits(&answers.into_bitmap(), expected.len()), expected);
        }
    }
}
