//! Choices from bytes: the only source of randomness of programs.

use std::ops::RangeInclusive;

use crate::random::Random;

/// Bytes that decide what a program does: those of a fuzzer, or an endless sequence for a seed.
pub struct Choices<'a> {
    bytes: &'a [u8],
    random: Option<Random>,
}

impl<'a> Choices<'a> {
    /// Those of given bytes. Behind their end, each choice is the first one.
    pub fn of_bytes(bytes: &'a [u8]) -> Self {
        Self { bytes, random: None }
    }

    /// Those of a seed.
    pub fn of_seed(seed: u64) -> Self {
        Self { bytes: &[], random: Some(Random::new(seed)) }
    }

    /// True if no bytes are left.
    pub fn is_over(&self) -> bool {
        self.bytes.is_empty() && self.random.is_none()
    }

    /// A number of `bytes` bytes, at most 8.
    fn take(&mut self, bytes: usize) -> u64 {
        if let Some(random) = &mut self.random {
            return random.next() >> (64 - 8 * bytes);
        }
        let (taken, rest) = self.bytes.split_at(bytes.min(self.bytes.len()));
        self.bytes = rest;
        taken.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.take(8)
    }

    /// A number below `range`, of as few bytes as decide it.
    pub fn below(&mut self, range: u64) -> u64 {
        let bits = u64::BITS - range.max(2).saturating_sub(1).leading_zeros();
        self.take(bits.div_ceil(8) as usize) % range.max(1)
    }

    pub fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        range.start() + self.below(range.end() - range.start() + 1)
    }

    /// True in one of `count` cases.
    pub fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == count - 1
    }

    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}
