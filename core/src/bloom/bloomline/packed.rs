//! A filter of one small layer in one allocation: a header of four words, and the bits.
//!
//! The fields of [`Filter`] take 96 bytes, more than half of what the bits of 100 items take. Most
//! of them are constant here, or small:
//!
//! ```text
//! word  0 | seed
//!       1 | error_rate
//!       2 | capacity 16 | of the layer 16 | items 16 | expansion 16      from the lowest bits on
//!       3 | words behind the header 16 | sectors 8 | bits of an item 8 | origin 32
//! ```
//!
//! A host stores the address. To use the filter, it unpacks it: a [`Filter`] is made of the header,
//! whose layer is the memory behind it. So nothing else knows of packed filters. After a change the
//! filter is packed again, in place unless it has got a second layer. A
//! [`SparseFilter`](super::sparse::SparseFilter) has fewer words than sectors behind the header; it
//! is used as it is.

use super::Filter;
use super::geometry::Geometry;
use super::growth::BlockedParams;
use super::shape::BlockedShape;
use crate::bloom::layer::Layer;
use crate::memory::words::{Headed, Header};

/// Bits of a field of a word of the header.
const FIELD: u32 = u16::BITS;
const HALF: u32 = u8::BITS;

/// A field of a word, from the lowest bits on.
#[inline(always)]
fn field(word: u64, number: u32) -> u16 {
    (word >> (number * FIELD)) as u16
}

/// What a header says of a filter of one small layer.
#[derive(Clone, Copy)]
pub(super) struct Numbers {
    pub params: BlockedParams,
    pub shape: BlockedShape,
    pub len: u64,
}

impl Numbers {
    /// The header, but for the number of words; none if the layer is not small.
    #[inline]
    pub fn header(&self) -> Option<Header> {
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
    pub fn of([seed, error_rate, counts, last]: Header) -> Self {
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

/// True if a header is that of a sparse filter.
#[inline(always)]
pub(super) fn is_sparse([.., last]: &Header) -> bool {
    field(*last, 0) < u16::from(geometry(*last).sectors())
}

/// The header after the insertion of an item.
#[inline(always)]
pub(super) fn with_one_more([seed, error_rate, counts, last]: Header) -> Header {
    [seed, error_rate, counts + (1 << (2 * FIELD)), last]
}

impl Filter {
    /// Puts the filter into one allocation.
    ///
    /// # Errors
    ///
    /// The filter, if it has more than a small layer, or if there is no memory for a layer with a
    /// header.
    #[inline]
    pub fn pack(mut self) -> Result<Headed, Self> {
        let numbers =
            Numbers { params: self.params, shape: self.newest.shape, len: self.newest_len };
        let Some(header) = numbers.header().filter(|_| self.older.is_empty()) else {
            return Err(self);
        };
        if !self.newest.words.has_header() {
            // It had no memory for a second layer.
            match self.newest.words.copied(true) {
                Ok(words) => self.newest.words = words,
                Err(_) => return Err(self),
            }
        }
        let Self { params, newest_len, newest, older } = self;
        let Layer { words, shape, divisor } = newest;
        words.into_headed(header).map_err(|words| {
            let newest = Layer { words, shape, divisor };
            Self { params, newest_len, newest, older }
        })
    }

    /// The filter of an allocation that is not that of a sparse filter.
    #[inline(always)]
    pub fn unpack(packed: Headed) -> Self {
        let (header, words) = packed.into_parts();
        let Numbers { params, shape, len } = Numbers::of(header);
        let newest = Layer { words, shape, divisor: () };
        Self { params, newest_len: len, newest, older: Box::default() }
    }
}
