//! From an item's two hashes to its bits in a link: the inner loop of RedisBloom's layout.

use super::hash::Pair;
use crate::scale::scale;

/// A divisor, and what gives remainders by two multiplications instead of a division (Barrett
/// 1986).
#[derive(Clone, Copy, Debug)]
pub struct Modulus {
    /// At least 2.
    value: u64,
    /// 2^64 / `value`, rounded down.
    inverse: u64,
}

impl Modulus {
    /// A divisor of at least 2.
    pub fn new(value: u64) -> Self {
        let value = value.max(2);
        Self { value, inverse: ((1 << 64) / u128::from(value)) as u64 }
    }

    /// `n` modulo the value.
    ///
    /// The quotient is too small by less than one since the inverse is rounded, `n` being below
    /// 2^64, and by less than one since it is rounded itself: by one at most.
    #[inline(always)]
    pub fn reduce(self, n: u64) -> u64 {
        let rest = n - scale(n, self.inverse) * self.value;
        // The difference wraps to a large number where nothing is to be subtracted.
        rest.min(rest.wrapping_sub(self.value))
    }
}

/// The indexes of an item's bits: `(a + i b mod 2^64) mod modulus` for i from 0 on.
#[derive(Clone, Copy)]
pub struct Indexes {
    /// `a + i b mod 2^64`
    sum: u64,
    distance: u64,
    modulus: Modulus,
}

impl Indexes {
    /// From the first one on.
    #[inline(always)]
    pub fn new(pair: &Pair, modulus: Modulus) -> Self {
        Self { sum: pair.a, distance: pair.b, modulus }
    }

    /// The indexes behind the first `count`.
    #[inline(always)]
    pub fn skip(self, count: u32) -> Self {
        let steps = self.distance.wrapping_mul(count.into());
        Self { sum: self.sum.wrapping_add(steps), ..self }
    }

    /// The word in which the next bit lies, and the bit in it.
    #[inline(always)]
    pub fn next_place(&mut self) -> (usize, u64) {
        let index = self.modulus.reduce(self.sum);
        self.sum = self.sum.wrapping_add(self.distance);
        ((index / 64) as usize, 1 << (index % 64))
    }

    /// Whether the next `count` bits are set, looked at without a branch between them.
    ///
    /// False where the words are fewer than the modulus asks for.
    #[inline(always)]
    pub fn are_next_set(&mut self, words: &[u64], count: u32) -> bool {
        if self.modulus.value.div_ceil(64) > words.len() as u64 {
            return false;
        }
        let mut missing = 0;
        for _ in 0..count {
            let (word, bit) = self.next_place();
            // SAFETY: an index is below the modulus, for which there are words enough. A check a
            // bit costs a third of the time that a lookup takes in cache.
            missing |= !unsafe { words.get_unchecked(word) } & bit;
        }
        missing == 0
    }
}
