//! Small layers: one ring of sectors, whose number need not be a multiple of eight.
//!
//! Blocks round the size of a layer up to 64 bytes, which is much of a layer of a few dozen items.
//! A small layer has 4 to 64 sectors. An item sets one bit in each of `k` consecutive ones, 3 to 8:
//!
//! ```text
//! layer   | sector 0 | sector 1 | ... | sector s-1 |  first sector = block hash * s / 2^64
//! sector  64 bits, one of them set by an item         which one: six bits of the pattern
//! pattern | unused 16 | index 7 | ... | index 0 |     sector first + i, around the layer, has index i
//! ```
//!
//! So it is one block of another width, and has the rate of one ([`super::rate`]). Its items lie in
//! one or two cache lines, and there are no vector instructions for it: layers of more than
//! [`MAX_SECTORS`](super::geometry::MAX_SECTORS) sectors have blocks.

use std::ops::Range;

use super::geometry::MIN_BITS;
use super::locate::Spot;
use crate::simd::INDEX_BITS;

/// Bits of an item that are tested first: seven of eight absent items fail there in a full layer.
/// No item has fewer.
const FIRST: u8 = MIN_BITS;

/// The sector after `count` others, of those from `first` on, around the layer.
///
/// An item has no more bits than there are sectors, so one conditional wrap is enough. Below the
/// end of the layer the difference is negative, which is a large number without a sign.
#[inline(always)]
fn after(first: usize, count: usize, sectors: usize) -> usize {
    (first + count).min((first + count).wrapping_sub(sectors))
}

/// The sectors of the bits of an item but the first `skipped`, in a layer of `sectors` sectors: up
/// to its end, and from its start on. The low bits of the number are the index in the first of
/// them, and those of the others follow.
#[inline(always)]
fn parts(spot: &Spot, skipped: u8, bits: u8, sectors: usize) -> ([Range<usize>; 2], u64) {
    let start = after(spot.first, skipped.into(), sectors);
    let count = usize::from(bits.saturating_sub(skipped));
    let upper = count.min(sectors.saturating_sub(start));
    let indexes = spot.hash.pattern >> (u32::from(skipped) * INDEX_BITS);
    ([start..start + upper, 0..count - upper], indexes)
}

/// True if the bits of an item are set.
#[inline(always)]
pub(crate) fn test(sectors: &[u64], spot: &Spot, bits: u8) -> bool {
    test_first(sectors, spot) && test_rest(sectors, spot, bits)
}

/// True if the first bits of an item are set. All are read, because whether one is set is
/// unpredictable.
#[inline(always)]
fn test_first(sectors: &[u64], spot: &Spot) -> bool {
    let mut all = 1;
    for i in 0..FIRST {
        let sector = sectors.get(after(spot.first, i.into(), sectors.len()));
        let index = (spot.hash.pattern >> (u32::from(i) * INDEX_BITS)) as u32 % u64::BITS;
        all &= sector.copied().unwrap_or(0) >> index;
    }
    all & 1 == 1
}

/// True if the other bits of an item are set.
#[inline(always)]
fn test_rest(sectors: &[u64], spot: &Spot, bits: u8) -> bool {
    let (parts, mut indexes) = parts(spot, FIRST, bits, sectors.len());
    let mut all = 1;
    for part in parts {
        for sector in sectors.get(part).unwrap_or_default() {
            all &= sector >> (indexes as u32 % u64::BITS);
            indexes >>= INDEX_BITS;
        }
    }
    all & 1 == 1
}

#[inline(always)]
pub(crate) fn set(sectors: &mut [u64], spot: &Spot, bits: u8) {
    let (parts, mut indexes) = parts(spot, 0, bits, sectors.len());
    for part in parts {
        for sector in sectors.get_mut(part).unwrap_or_default() {
            *sector |= 1 << (indexes as u32 % u64::BITS);
            indexes >>= INDEX_BITS;
        }
    }
}
