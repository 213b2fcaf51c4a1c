//! The four words in front of a small filter.
//!
//! ```text
//! word  0 | seed
//!       1 | error_rate
//!       2 | capacity 16 | of the layer 16 | items 16 | expansion 16      from the lowest bits on
//!       3 | words behind the header 16 | sectors 8 | bits of an item 8 | origin 32
//! ```
//!
//! There are as many words behind the header as the layer has sectors, or fewer: a list.

use crate::bloom::bloomline::geometry::Geometry;
use crate::bloom::bloomline::{BlockedParams, BlockedShape};
use crate::memory::headed::Header;

/// Bits of a field of a word of the header.
const FIELD: u32 = u16::BITS;
const HALF: u32 = u8::BITS;

/// A field of a word, from the lowest bits on.
#[inline(always)]
fn field(word: u64, number: u32) -> u16 {
    (word >> (number * FIELD)) as u16
}

/// What a header says.
#[derive(Clone, Copy)]
pub(crate) struct SmallHeader {
    pub params: BlockedParams,
    pub shape: BlockedShape,
    pub len: u64,
}

impl SmallHeader {
    /// The words, but for the number of those behind them; none if the layer is not small.
    #[inline]
    pub fn to_words(self) -> Option<Header> {
        let BlockedShape { capacity, geometry } = self.shape;
        if !geometry.is_small() {
            return None;
        }
        // A small layer has up to 4,096 bits, so that no more items are within the highest rate.
        let [created, capacity, len] = [self.params.capacity, capacity, self.len]
            .map(|count| u16::try_from(count).ok().map(u64::from));
        let expansion = u64::from(self.params.expansion());
        let counts = created? | capacity? << FIELD | len? << (2 * FIELD) | expansion << (3 * FIELD);
        let item = u64::from(geometry.sectors()) | u64::from(geometry.bits_per_block()) << HALF;
        let last = item << FIELD | u64::from(self.params.origin) << (2 * FIELD);
        Some([self.params.seed, self.params.error_rate.to_bits(), counts, last])
    }

    #[inline(always)]
    pub fn of(&[seed, error_rate, counts, last]: &Header) -> Self {
        let [created, capacity, len, expansion] = [0, 1, 2, 3].map(|number| field(counts, number));
        let origin = (last >> (2 * FIELD)) as u32;
        let error_rate = f64::from_bits(error_rate);
        Self {
            params: BlockedParams::of_one_layer(
                created.into(),
                error_rate,
                seed,
                expansion,
                origin,
            ),
            shape: BlockedShape { capacity: capacity.into(), geometry: geometry(last) },
            len: len.into(),
        }
    }
}

/// The geometry of the layer, of the last word of a header.
#[inline(always)]
pub(super) fn geometry(last: u64) -> Geometry {
    Geometry::of_sectors((last >> FIELD) as u8, (last >> (FIELD + HALF)) as u8)
}

/// True if a header is that of a list.
#[inline(always)]
pub(super) fn is_listed([.., last]: &Header) -> bool {
    field(*last, 0) < u16::from(geometry(*last).sectors())
}

/// The header after the insertion of an item.
#[inline(always)]
pub(super) fn with_one_more([seed, error_rate, counts, last]: Header) -> Header {
    [seed, error_rate, counts + (1 << (2 * FIELD)), last]
}
