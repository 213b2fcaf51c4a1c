//! The answers of a bulk call: a bit per item and per empty line.

use super::lines::Lines;
use super::packed::Packed;
use crate::policy::bits::Bits;

/// Answers that are collected before they are replied. That of an empty line is 0, so that the
/// place of an answer is the number of its line.
pub struct Answers<'a> {
    bits: Bits,
    /// The lines after that of the last item; none if no line is empty.
    lines: Lines<'a>,
}

impl<'a> Answers<'a> {
    /// Room for the answers to all items of a call; `None` if there is no memory for it.
    pub fn to(items: Packed<'a>) -> Option<Self> {
        // A word more, because the last one is appended whole.
        let bits = Bits::with_room(items.answers() + u64::BITS as usize)?;
        Some(Self { bits, lines: items.lines_with_empty() })
    }

    /// Adds the answer to the next item.
    #[inline(always)]
    pub fn push(&mut self, answer: bool) {
        if !self.lines.is_over() {
            self.end_empty_lines();
        }
        self.bits.push(answer);
    }

    /// Adds the answers to the empty lines before the next item, or at the end. To be called once
    /// after the last answer.
    #[inline(never)]
    pub fn end_empty_lines(&mut self) {
        while self.lines.next().is_some_and(<[u8]>::is_empty) {
            self.bits.push(false);
        }
    }

    /// All answers so far.
    pub fn into_bits(self) -> Bits {
        self.bits
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed test panics")]

    use super::Answers;
    use crate::command::packed::{Form, Packed};

    #[test]
    fn empty_lines_answer_0_in_their_places() {
        let items = Packed::new(Form::Lines, b"\na\n\r\n\nb\nc\n\n").unwrap();
        // The answers to the items, of which the last may be missing, and those to the lines.
        let all: [(&[bool], &[bool]); 4] = [
            (&[true; 3], &[false, true, false, false, true, true, false]),
            (&[true; 2], &[false, true, false, false, true]),
            (&[true], &[false, true, false, false]),
            (&[], &[false]),
        ];
        for (given, expected) in all {
            let mut answers = Answers::to(items).unwrap();
            given.iter().for_each(|&answer| answers.push(answer));
            answers.end_empty_lines();
            assert!(answers.into_bits().iter().eq(expected.iter().copied()));
        }
    }
}
