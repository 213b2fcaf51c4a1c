//! A filter with a small ring in one allocation.
//!
//! What is not in the records of the ring is in the words before them, from the lowest bits on:
//!
//! ```text
//! header  0 | seed
//!         1 | error_rate
//!         2 | extent 48 | regular_capacity 16
//!         3 | words behind the header 16 | 0 8 | geometry 16 | generations 8 | rounding 8 | count 8
//! numbers 0 | number 40 | expansion 16 | kind, refreshes 8
//!         1 | clock
//!         2 | dropped_bytes
//!         3 | when the newest generation was opened; always up to date
//! ```
//!
//! The zero distinguishes the header from that of [a filter without a
//! window](crate::bloom::bloomline::packed), which has the number of its sectors there.

use super::filter::{WindowKind, WindowedFilter};
use super::ring::Ring;
use super::size::{EXTENT_BITS, NUMBER_BITS};
use crate::bloom::bloomline::geometry::Geometry;
use crate::memory::words::{Headed, Header};

/// Where the zero stands in the last word of the header.
const ZERO_SHIFT: u32 = 16;

/// Where the last byte of the first number stands.
const KIND_SHIFT: u32 = 56;
/// The bit of that byte for a filter that refreshes; the kind stands below.
const REFRESHES: u8 = 1 << 2;

#[inline(always)]
const fn low(word: u64, bits: u32) -> u64 {
    word & ((1 << bits) - 1)
}

impl WindowKind {
    #[inline(always)]
    fn of_bits(bits: u8) -> Self {
        match bits % REFRESHES {
            0 => Self::Time,
            1 => Self::Last,
            _ => Self::Manual,
        }
    }
}

impl WindowedFilter {
    /// Puts the filter into one allocation.
    ///
    /// # Errors
    ///
    /// The filter, if its ring is not a small one.
    // Not inlined, so that the callers stay small for other filters.
    #[inline(never)]
    pub(crate) fn pack(self) -> Result<Headed, Self> {
        let Self { generations, capacity_rounding, count, .. } = self;
        let Some([geometry, item]) = self.geometry.to_bytes() else { return Err(self) };
        let third = self.extent | self.regular_capacity << EXTENT_BITS;
        let last =
            u64::from_le_bytes([0, 0, 0, geometry, item, generations, capacity_rounding, count]);
        let kind = self.kind as u8 | if self.refreshes { REFRESHES } else { 0 };
        let first =
            self.number | u64::from(self.expansion) << NUMBER_BITS | u64::from(kind) << KIND_SHIFT;
        match self.ring {
            Ring::Small(mut words) => {
                if let [number, clock, dropped, ..] = words.as_mut_slice() {
                    (*number, *clock, *dropped) = (first, self.clock, self.dropped_bytes);
                }
                words
                    .into_headed([self.seed, self.error_rate.to_bits(), third, last])
                    .map_err(|words| Self { ring: Ring::Small(words), ..self })
            }
            ring => Err(Self { ring, ..self }),
        }
    }

    /// True if a header is that of a windowed filter.
    #[inline(always)]
    pub(crate) fn is_packed([.., last]: &Header) -> bool {
        (last >> ZERO_SHIFT) as u8 == 0
    }

    /// The filter of an allocation that is that of a windowed filter.
    // Not inlined, so that the callers stay small for other filters.
    #[inline(never)]
    pub(crate) fn unpack(packed: Headed) -> Self {
        let &[seed, error_rate, third, last] = packed.header();
        let [.., geometry, item, generations, capacity_rounding, count] = last.to_le_bytes();
        let (_, words) = packed.into_parts();
        let [first, clock, dropped_bytes] =
            words.as_slice().first_chunk().copied().unwrap_or_default();
        let kind = (first >> KIND_SHIFT) as u8;
        Self {
            regular_capacity: third >> EXTENT_BITS,
            error_rate: f64::from_bits(error_rate),
            extent: low(third, EXTENT_BITS),
            seed,
            number: low(first, NUMBER_BITS),
            dropped_bytes,
            clock,
            geometry: Geometry::of_bytes([geometry, item]),
            ring: Ring::Small(words),
            expansion: (first >> NUMBER_BITS) as u16,
            generations,
            capacity_rounding,
            kind: WindowKind::of_bits(kind),
            refreshes: kind & REFRESHES != 0,
            count,
        }
    }
}
