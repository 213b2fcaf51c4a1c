//! Numbers of 64 bits side by side in one register, for hashes of several items at once.

/// As many numbers as a register of the backend holds, each in a lane. All operations work lane by
/// lane.
///
/// Only [`Backend::lanes`](super::Backend::lanes) creates the first value, so a value proves that
/// this processor has the instructions.
pub trait Lanes: Copy {
    /// The number of lanes, at most [`MOST_LANES`].
    const COUNT: usize;

    /// The sums modulo 2^64.
    fn add(self, other: Self) -> Self;

    fn xor(self, other: Self) -> Self;

    /// Rotations to the left by `BITS`, 1 to 63.
    fn rotate_left<const BITS: u32>(self) -> Self;

    /// The numbers of `self` where that of `limits`, which are below 2^63, is above `number`, and
    /// those of `other` elsewhere.
    fn where_below(self, number: u64, limits: Self, other: Self) -> Self;

    /// The numbers, and 0 for each lane that there is not.
    fn numbers(self) -> [u64; MOST_LANES];
}

/// The most lanes of any backend.
pub const MOST_LANES: usize = 8;

/// One lane, for backends that do not calculate faster with more.
impl Lanes for u64 {
    const COUNT: usize = 1;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self ^ other
    }

    #[inline(always)]
    fn rotate_left<const BITS: u32>(self) -> Self {
        u64::rotate_left(self, BITS)
    }

    #[inline(always)]
    fn where_below(self, number: u64, limits: Self, other: Self) -> Self {
        if number < limits { self } else { other }
    }

    #[inline(always)]
    fn numbers(self) -> [u64; MOST_LANES] {
        [self, 0, 0, 0, 0, 0, 0, 0]
    }
}
