//! A bit per item of a call.

use bitvec::order::Msb0;
use bitvec::slice::BitSlice;
use bitvec::vec::BitVec;

/// Bits that are appended one by one, in memory that is requested before: a call of fewer than 64
/// items allocates nothing.
///
/// Not a `BitVec` from the start, whose `push` takes longer; see docs/explanation/performance.md.
pub struct Bits {
    /// Full words of 64 bits as bytes, in the order of the server's bitmaps: the first bit is the
    /// highest of the first byte.
    bytes: Vec<u8>,
    /// The bits after those, the first one the highest.
    word: u64,
    len: usize,
}

impl Bits {
    /// Room for a number of bits; `None` if there is no memory for it.
    #[inline(always)]
    pub fn with_room(bits: usize) -> Option<Self> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(bits / u64::BITS as usize * size_of::<u64>()).ok()?;
        Some(Self { bytes, word: 0, len: 0 })
    }

    #[inline(always)]
    pub fn push(&mut self, bit: bool) {
        self.word |= u64::from(bit) << (63 - self.len as u32 % u64::BITS);
        self.len += 1;
        if self.len.is_multiple_of(u64::BITS as usize) {
            self.end_word();
        }
    }

    /// Not inlined, so that [`Bits::push`] is small enough to be.
    #[inline(never)]
    fn end_word(&mut self) {
        self.bytes.extend(std::mem::take(&mut self.word).to_be_bytes());
    }

    pub fn count(&self) -> usize {
        self.len
    }

    /// The number of bits that are 1.
    #[inline(never)]
    pub fn ones(&self) -> usize {
        let in_word = self.word.count_ones() as usize;
        match &self.bytes[..] {
            [] => in_word,
            bytes => in_word + BitSlice::<u8, Msb0>::from_slice(bytes).count_ones(),
        }
    }

    #[inline(always)]
    pub fn any(&self) -> bool {
        self.word != 0 || !self.bytes.is_empty() && self.ones() != 0
    }

    pub fn iter(&self) -> impl Iterator<Item = bool> + Clone {
        let words = self.bytes.as_chunks().0.iter().map(|bytes| u64::from_be_bytes(*bytes));
        let words = words.chain([self.word]);
        let bits = words.flat_map(|word| (0..u64::BITS).map(move |bit| word << bit >> 63 == 1));
        bits.take(self.len)
    }

    /// The bits as a bitmap. Those after the last one are 0. Needs room for 64 bits more.
    pub fn into_bitmap(mut self) -> Vec<u8> {
        self.end_word();
        let mut bits = BitVec::<u8, Msb0>::from_vec(self.bytes);
        bits.truncate(self.len);
        bits.into_vec()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, clippy::indexing_slicing)]

    use super::Bits;

    #[test]
    fn bits_are_kept_in_the_memory_requested_before() {
        for len in [0, 1, 7, 8, 9, 63, 64, 65, 200, 4096] {
            let mut bits = Bits::with_room(len).expect("memory");
            let room = bits.bytes.capacity();
            let expected: Vec<bool> = (0..len).map(|index| index % 3 == 0).collect();
            expected.iter().for_each(|&bit| bits.push(bit));
            assert_eq!((bits.count(), bits.ones()), (len, len.div_ceil(3)));
            assert_eq!(bits.bytes.capacity(), room, "{len} bits");
            assert!(bits.iter().eq(expected.iter().copied()));
            let bitmap = bits.into_bitmap();
            assert_eq!(bitmap.len(), len.div_ceil(8));
            let bit = |index: usize| bitmap[index / 8] >> (7 - index % 8) & 1 == 1;
            // The first bit is the highest.
            assert!((0..len).map(bit).eq(expected));
            assert!((len..bitmap.len() * 8).all(|index| !bit(index)), "{len}");
        }
    }
}
