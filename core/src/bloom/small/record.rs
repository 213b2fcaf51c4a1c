//! The record of a generation in a small ring: a word.
//!
//! ```text
//! age 40 | items 12 | live items 12        from the lowest bits on
//! ```
//!
//! The age is by how many milliseconds the generation was opened before the newest one.

/// Bits of the age: 34 years.
pub(super) const AGE_BITS: u32 = 40;
/// Bits of each number of items. The layers of a small ring have up to 4,096 bits, and two of them
/// or more per item.
const COUNT_BITS: u32 = 12;

const LEN_SHIFT: u32 = AGE_BITS;
const LIVE_SHIFT: u32 = AGE_BITS + COUNT_BITS;

/// The record of a generation of a small ring.
#[derive(Clone, Copy)]
pub(crate) struct Record(pub u64);

impl Record {
    /// What an item adds to a record.
    pub const ITEM: u64 = 1 << LEN_SHIFT;

    pub fn of(age: u64, len: u64, live: u64) -> Self {
        Self(age | len << LEN_SHIFT | live << LIVE_SHIFT)
    }

    #[inline(always)]
    pub fn age(self) -> u64 {
        self.0 & ((1 << AGE_BITS) - 1)
    }

    #[inline(always)]
    pub fn len(self) -> u64 {
        self.0 >> LEN_SHIFT & ((1 << COUNT_BITS) - 1)
    }

    #[inline(always)]
    pub fn live(self) -> u64 {
        self.0 >> LIVE_SHIFT
    }
}
