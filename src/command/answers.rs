//! The answers of a bulk call: a bit per item, and their number.

/// Answers that are collected before they are replied.
#[derive(Default)]
pub struct Answers {
    /// Full words of 64 answers as bytes, in the order of the server's bitmaps: the first answer is
    /// the highest bit of the first byte.
    bytes: Vec<u8>,
    /// The answers after those, the first one in the highest bit.
    word: u64,
    len: usize,
}

impl Answers {
    /// Room for `len` answers; `None` if there is no memory for it.
    pub fn with_capacity(len: usize) -> Option<Self> {
        let mut answers = Self::default();
        let bytes = len.div_ceil(u64::BITS as usize) * size_of::<u64>();
        answers.bytes.try_reserve_exact(bytes).ok()?;
        Some(answers)
    }

    /// Adds an answer.
    #[inline(always)]
    pub fn push(&mut self, answer: bool) {
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
        let in_bytes: u64 = self.bytes.iter().map(|byte| u64::from(byte.count_ones())).sum();
        in_bytes + u64::from(self.word.count_ones())
    }

    /// The answers as a bitmap. The bits after the last answer are 0.
    pub fn into_bitmap(mut self) -> Vec<u8> {
        self.end_word();
        self.bytes.truncate(self.len.div_ceil(8));
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::Answers;

    #[test]
    fn first_answer_is_the_highest_bit() {
        for len in [0, 1, 7, 8, 9, 63, 64, 65, 200] {
            let mut answers = Answers::with_capacity(len).unwrap();
            (0..len).for_each(|index| answers.push(index % 3 == 0));
            assert_eq!((answers.len(), answers.ones()), (len, len.div_ceil(3) as u64));
            let bitmap = answers.into_bitmap();
            assert_eq!(bitmap.len(), len.div_ceil(8));
            let bit = |index: usize| bitmap[index / 8] >> (7 - index % 8) & 1;
            assert!((0..len).all(|index| bit(index) == u8::from(index % 3 == 0)), "{len}");
            assert!((len..bitmap.len() * 8).all(|index| bit(index) == 0), "{len}");
        }
    }
}
