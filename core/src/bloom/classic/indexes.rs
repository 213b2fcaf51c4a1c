//! The bits of an item in a layer, from its two hashes: the inner loop of RedisBloom's layout.

use std::marker::PhantomData;

use crate::hash::Pair;
use crate::math::scale::scale;
use crate::work;

/// Bits that are tested without a branch between them, after the first part of an item's bits. Down
/// to a rate of 1e-11 that is all of them. Fewer take longer if all bits of an item are set; see
/// docs/explanation/performance.md.
const TOGETHER: u32 = 32;

/// A divisor that gives remainders by two multiplications instead of a division (Barrett, 1986).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modulus {
    /// At least 2.
    value: u64,
    /// 2^64 / `value`, rounded down.
    inverse: u64,
}

impl Modulus {
    /// The divisor `value`, or 2 if it is less.
    pub fn new(value: u64) -> Self {
        let value = value.max(2);
        Self { value, inverse: ((1 << 64) / u128::from(value)) as u64 }
    }

    /// `n` modulo the divisor.
    ///
    /// Barrett reduction truncates twice: the inverse, which makes the quotient too small by less
    /// than one for `n` below 2^64, and the quotient itself. So the quotient is too small by at
    /// most one, and one conditional subtraction corrects the remainder.
    #[inline(always)]
    pub fn reduce(self, n: u64) -> u64 {
        let rest = n - scale(n, self.inverse) * self.value;
        // If `rest` is below the divisor, the difference wraps to a large number.
        rest.min(rest.wrapping_sub(self.value))
    }
}

/// What is done with a sum before it is reduced modulo the number of bits.
pub trait Reduction: Copy {
    /// The number that is reduced instead of `sum`.
    fn of(sum: u64) -> u64;
}

/// Nothing is done: RedisBloom's layout.
#[derive(Clone, Copy)]
pub struct Whole;

impl Reduction for Whole {
    #[inline(always)]
    fn of(sum: u64) -> u64 {
        sum
    }
}

/// The indexes of an item's bits: `(a + i b mod 2^64) mod modulus` for i from 0 on. `R` may change
/// the sum before it is taken modulo the modulus.
#[derive(Clone, Copy)]
pub struct Indexes<R: Reduction = Whole> {
    /// `a + i b mod 2^64`
    sum: u64,
    /// `b`
    distance: u64,
    modulus: Modulus,
    reduction: PhantomData<R>,
}

impl<R: Reduction> Indexes<R> {
    /// The indexes from the first one on.
    #[inline(always)]
    pub fn new(pair: &Pair, modulus: Modulus) -> Self {
        Self { sum: pair.a, distance: pair.b, modulus, reduction: PhantomData }
    }

    /// The indexes after the first `count`.
    #[inline(always)]
    pub fn skip(self, count: u32) -> Self {
        let steps = self.distance.wrapping_mul(count.into());
        Self { sum: self.sum.wrapping_add(steps), ..self }
    }

    /// The index of the word that holds the next bit, and a mask of the bit.
    #[inline(always)]
    pub fn next_bit(&mut self) -> (usize, u64) {
        let index = self.modulus.reduce(R::of(self.sum));
        self.sum = self.sum.wrapping_add(self.distance);
        ((index / 64) as usize, 1 << (index % 64))
    }

    /// True if the next `count` bits are set. They are tested without a branch between them.
    ///
    /// False if `words` has fewer bits than the modulus.
    #[inline(always)]
    pub fn are_next_set(&mut self, words: &[u64], count: u32) -> bool {
        if self.modulus.value.div_ceil(64) > words.len() as u64 {
            return false;
        }
        work::count(count.into());
        let mut missing = 0;
        for _ in 0..count {
            let (word, bit) = self.next_bit();
            // SAFETY: the index is below the modulus, and there are words for that many bits. A
            // bounds check per bit would cost time; see docs/explanation/performance.md.
            missing |= !unsafe { words.get_unchecked(word) } & bit;
        }
        missing == 0
    }

    /// The same, with a branch after each `TOGETHER` bits: in a layer that does not contain the
    /// item, hardly any further bits are tested, however many the item has.
    #[inline(always)]
    pub fn are_all_set(&mut self, words: &[u64], count: u32) -> bool {
        if count <= TOGETHER {
            return self.are_next_set(words, count);
        }
        self.are_many_set(words, count)
    }

    /// [`Indexes::are_all_set`] for many bits. Not inlined, so that few bits are tested as fast as
    /// without it.
    #[inline(never)]
    fn are_many_set(mut self, words: &[u64], count: u32) -> bool {
        let mut left = count;
        while left > TOGETHER {
            if !self.are_next_set(words, TOGETHER) {
                return false;
            }
            left -= TOGETHER;
        }
        self.are_next_set(words, left)
    }
}
