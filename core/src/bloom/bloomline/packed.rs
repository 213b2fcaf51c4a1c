//! A filter of one small layer in one allocation: a header of four words, and the bits.
//!
//! The fields of [`Filter`] take 96 bytes, more than half of what the bits of 100 items take. Most
//! of them are constant here, or small:
//!
//! ```text
//! word  0 | seed
//!       1 | error_rate
//!       2 | capacity 16 | of the layer 16 | items 16 | expansion 16      from the lowest bits on
//!       3 | sectors 16 | bits of an item 16 | origin 32
//! ```
//!
//! A host stores the address. To use the filter, it unpacks it: a [`Filter`] is made of the header,
//! whose layer is the memory behind it. So nothing else knows of packed filters. After a change the
//! filter is packed again, in place unless it has got a second layer.

use super::Filter;
use super::geometry::Geometry;
use super::growth::Common;
use super::shape::BlockedShape;
use crate::bloom::layer::Layer;
use crate::memory::words::{Headed, Header};

/// Bits of a field of a word of the header.
const FIELD: u32 = u16::BITS;

/// A field of a word, from the lowest bits on.
#[inline(always)]
fn field(word: u64, number: u32) -> u16 {
    (word >> (number * FIELD)) as u16
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
        let Some(header) = self.packed_header() else { return Err(self) };
        if !self.newest.words.has_header() {
            // It had no memory for a second layer.
            match self.newest.words.copied(true) {
                Ok(words) => self.newest.words = words,
                Err(_) => return Err(self),
            }
        }
        let Self { common, newest_len, newest, older } = self;
        let Layer { words, shape, divisor } = newest;
        words.into_headed(header).map_err(|words| {
            let newest = Layer { words, shape, divisor };
            Self { common, newest_len, newest, older }
        })
    }

    /// The header, if the filter has a small layer only.
    #[inline]
    fn packed_header(&self) -> Option<Header> {
        let BlockedShape { capacity, geometry } = self.newest.shape;
        if !self.older.is_empty() || !geometry.is_small() {
            return None;
        }
        // A small layer has up to 4,096 bits, so that no more items are within the highest rate.
        let [created, capacity, len] = [self.common.capacity, capacity, self.newest_len]
            .map(|count| u16::try_from(count).ok().map(u64::from));
        let expansion = u64::from(self.common.expansion());
        let counts = created? | capacity? << FIELD | len? << (2 * FIELD) | expansion << (3 * FIELD);
        let bits = u64::from(geometry.bits_per_block());
        let last = bits << FIELD | u64::from(self.common.origin) << (2 * FIELD);
        Some([self.common.seed, self.common.error_rate.to_bits(), counts, last])
    }

    /// The filter of an allocation.
    #[inline(always)]
    pub fn unpack(packed: Headed) -> Self {
        let ([seed, error_rate, counts, last], words) = packed.into_parts();
        let [created, capacity, len, expansion] = [0, 1, 2, 3].map(|number| field(counts, number));
        let geometry = Geometry::of_sectors(field(last, 0) as u8, field(last, 1) as u8);
        let origin = (last >> (2 * FIELD)) as u32;
        let error_rate = f64::from_bits(error_rate);
        let shape = BlockedShape { capacity: capacity.into(), geometry };
        Self {
            common: Common::of_one_layer(created.into(), error_rate, seed, expansion, origin),
            newest_len: len.into(),
            newest: Layer { words, shape, divisor: () },
            older: Box::default(),
        }
    }
}
