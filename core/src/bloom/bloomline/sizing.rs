//! The sizing rule: the geometry of a layer from capacity and target rate.
//!
//! The same arguments give the same geometry on every machine and in every release, because a
//! replica must grow the same layers as its primary. So this file uses only integers, IEEE
//! `+ - * /`, a frozen table, and frozen `exp` and `log1p` in [`fp_rate`].
//! Any change of a result needs a new [`REVISION`], and the old one must stay available.

use std::cell::Cell;

use super::geometry::{Geometry, MAX_SECTORS, MIN_BITS, PAGE_BLOCKS, SECTOR_BYTES};
use super::rate::fp_rate;
use super::table;
pub use super::table::{ROWS, Row};
use crate::error::Error;
use crate::hash::xxh3::{COLLISION, GOLDEN, mix};
use crate::simd::BLOCK_SECTORS;

/// Revision of the sizing rule in this file, stored in the header of every filter.
pub const REVISION: u16 = 3;

/// The largest capacity of a layer: 2^40 items.
pub const MAX_CAPACITY: u64 = 1 << 40;

/// The largest target rate of a filter, as in RedisBloom.
pub const MAX_ERROR_RATE: f64 = 0.25;

/// The smallest target rate of a layer.
///
/// There, four blocks with eight bits each take 21 % more bits than the classic optimum, and below
/// the difference grows steeply.
pub const MIN_LAYER_ERROR: f64 = 1e-15;

const BLOCK_BITS: f64 = 512.0;

const SECTOR_BITS: f64 = 64.0;

/// The part of the table's bits per item from which small layers are tried. The table's are at most
/// 3 % above those of a classic filter for target rates from 1e-5 on, which no layer of more than a
/// few items falls below. With lower rates, small layers need many more.
const LEAST_PART: f64 = 0.93;

/// True for the sizes that small layers have: multiples of 16 bytes up to 96, of 32 bytes above.
/// The servers' allocator has such size classes, so more sizes would take no less memory.
fn is_small_size(sectors: u64) -> bool {
    sectors >= 4 && sectors.is_multiple_of(if sectors <= 12 { 2 } else { 4 })
}

/// The target rate from which a first layer is small if [`MAX_SECTORS`] suffice.
///
/// From here on, no filter would take less with blocks: an item of a small layer has at most eight
/// bits, which are enough for such rates.
const SMALL_FROM: f64 = 1.0 / (1u64 << 14) as f64;

/// The most sectors of a first layer with a lower target rate.
///
/// With these the filter takes as many bytes as with two blocks, the fewest that then suffice. One
/// number for all capacities and these rates, so that a filter never takes less than one of a
/// smaller capacity, be they full or lists.
const FEW_SECTORS: u8 = 24;

/// Where a layer stands, which decides what a small one saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The first layer of a filter without a window. A small one is in one allocation with the
    /// numbers of the filter, 64 bytes less than these and blocks take, and starts as a list.
    First,
    /// Any other layer: its form changes its bits only.
    Other,
}

/// Results that a thread caches, by a hash of their arguments: 2 KiB.
const CACHED: usize = 64;

/// A result: capacity, bits of the target rate, place, geometry.
type Cached = (u64, u64, Place, Geometry);

/// The most bits per item of a small layer: as many as of a block.
const MAX_BITS: u8 = BLOCK_SECTORS as u8;

/// Number of blocks from which a layer has whole pages only: 1 MiB. From here on the table applies,
/// whose model has infinitely many pages.
///
/// Below, rounding up to whole pages would cost more than 0.4 %, and a layer has few pages anyway.
const WHOLE_PAGES_FROM: u64 = 256 * PAGE_BLOCKS;

/// The part of a layer's target rate that is left for its bits.
///
/// # Errors
///
/// [`Error::ErrorRateTooSmall`] if no geometry reaches it.
pub(crate) fn error_of_bits(capacity: u64, error: f64) -> Result<f64, Error> {
    // More bits do not reduce the probability of equal hashes.
    let error_of_bits = error - capacity as f64 * COLLISION;
    if error < MIN_LAYER_ERROR || error_of_bits < table::SMALLEST {
        return Err(Error::ErrorRateTooSmall(error));
    }
    Ok(error_of_bits)
}

impl Geometry {
    /// The geometry of a layer whose computed rate with `capacity` items is at most `error`.
    ///
    /// It is the smallest such geometry, with two exceptions. A layer of a few pages may need less
    /// than the table gives: then, for `error` of 1e-6 or more, it has at most one block per page
    /// too many. And small layers have certain sizes only, and take an eighth less than blocks:
    /// lookups in blocks take less time.
    ///
    /// # Errors
    ///
    /// [`Error::Capacity`] outside 1 to [`MAX_CAPACITY`]; [`Error::ErrorRate`] for an `error` that
    /// is not above 0 and at most [`MAX_ERROR_RATE`]; [`Error::ErrorRateTooSmall`] below
    /// [`MIN_LAYER_ERROR`], or if equal hashes alone reach this rate.
    ///
    /// Cost: up to 512 bytes some ten times [`fp_rate`], below 16,384 blocks one to three times;
    /// from there on, a search in the table. Each thread caches its last results, because a server
    /// may have millions of small filters with a few sets of parameters.
    pub fn new(capacity: u64, error: f64) -> Result<Self, Error> {
        Self::cached(capacity, error, Place::Other)
    }

    /// The same for the first layer of a filter without a window, which is small whenever the whole
    /// filter does not take more then: its numbers, and its bits or its list.
    ///
    /// So a filter takes at most 16 bytes, one size of a small layer, less than one of a smaller
    /// capacity or of a higher target rate.
    ///
    /// # Errors
    ///
    /// Those of [`Geometry::new`].
    pub fn first(capacity: u64, error: f64) -> Result<Self, Error> {
        Self::cached(capacity, error, Place::First)
    }

    fn cached(capacity: u64, error: f64, place: Place) -> Result<Self, Error> {
        thread_local! {
            static LAST: [Cell<Option<Cached>>; CACHED] = const { [const { Cell::new(None) }; CACHED] };
        }
        let bits = error.to_bits();
        let slot = mix(capacity ^ bits.rotate_left(32), GOLDEN) as usize % CACHED;
        LAST.with(|last| {
            let cached = last.get(slot).and_then(Cell::get);
            let is_same = |it: &Cached| (it.0, it.1, it.2) == (capacity, bits, place);
            if let Some((.., geometry)) = cached.filter(is_same) {
                return Ok(geometry);
            }
            let geometry = Self::compute(capacity, error, place)?;
            if let Some(slot) = last.get(slot) {
                slot.set(Some((capacity, bits, place, geometry)));
            }
            Ok(geometry)
        })
    }

    fn compute(capacity: u64, error: f64, place: Place) -> Result<Self, Error> {
        if !(1..=MAX_CAPACITY).contains(&capacity) {
            return Err(Error::Capacity(capacity));
        }
        // The condition is written so that NaN fails.
        if !(error > 0.0 && error <= MAX_ERROR_RATE) {
            return Err(Error::ErrorRate(error));
        }
        let error_of_bits = error_of_bits(capacity, error)?;
        let row = Row::of(error_of_bits);
        let bits = capacity as f64 * row.bits_per_item(error_of_bits);
        let small = |most| Self::small(bits, capacity, error, most);
        let blocks = || Self::of_blocks(bits, row, capacity, error);
        Ok(match place {
            Place::First => {
                let most = if error >= SMALL_FROM { MAX_SECTORS } else { FEW_SECTORS };
                small(most.into()).unwrap_or_else(blocks)
            }
            Place::Other => {
                let blocks = blocks();
                let eighth_less = blocks.bytes() / SECTOR_BYTES * 7 / 8;
                small(eighth_less.min(MAX_SECTORS.into())).unwrap_or(blocks)
            }
        })
    }

    /// The geometry of whole blocks, which have at least about `bits` bits.
    ///
    /// The bits per block of a row are those for its blocks per item. If there are fewer blocks, an
    /// item gets more bits in each, where that is enough.
    fn of_blocks(bits: f64, row: &Row, capacity: u64, error: f64) -> Self {
        let mut blocks = (bits / BLOCK_BITS).ceil() as u64;
        loop {
            let geometry = Self::arrange(blocks.max(1), row);
            // The rate of a few pages differs a little from that of infinitely many, so it is
            // computed.
            let suffices = |geometry: &Self| fp_rate(geometry, capacity) <= error;
            if geometry.blocks() >= WHOLE_PAGES_FROM || suffices(&geometry) {
                return geometry;
            }
            let is_short = geometry.blocks_per_item() < row.blocks_per_item;
            let most = if is_short { MAX_BITS } else { row.bits_per_block };
            let mut with_more =
                (row.bits_per_block + 1..=most).map(|bits| geometry.with_bits_per_block(bits));
            if let Some(geometry) = with_more.find(suffices) {
                return geometry;
            }
            blocks = geometry.blocks() + 1;
        }
    }

    /// The smallest small layer, which has at least about `bits` bits, and at most `most` sectors.
    ///
    /// Its number of bits per item is the one of the lowest rate, which leaves most to later
    /// layers.
    fn small(bits: f64, capacity: u64, error: f64, most: u64) -> Option<Self> {
        let least = (bits * LEAST_PART / SECTOR_BITS).floor().max(1.0) as u64;
        let sizes = (least..=most).filter(|&sectors| is_small_size(sectors));
        let best = sizes.map(|sectors| Self::best_of_sectors(sectors as u8, capacity));
        best.filter(|(_, rate)| *rate <= error).map(|(geometry, _)| geometry).next()
    }

    /// The small layer of a given number of sectors with the lowest rate, and its rate.
    ///
    /// The rate has one minimum, near that of a classic filter, `ln 2` times the bits per item. So
    /// the search begins above it and ends as the rate rises.
    fn best_of_sectors(sectors: u8, capacity: u64) -> (Self, f64) {
        let classic = 45 * u64::from(sectors) / capacity;
        let most = (classic + 2).min(sectors.min(MAX_BITS).into()).max(MIN_BITS.into()) as u8;
        let with = |bits| {
            let geometry = Self::of_sectors(sectors, bits);
            (geometry, fp_rate(&geometry, capacity))
        };
        let mut best = with(most);
        for bits in (MIN_BITS..most).rev() {
            let next = with(bits);
            if next.1 >= best.1 {
                break;
            }
            best = next;
        }
        best
    }

    /// At least `blocks` blocks, on pages of equal size of at most 64 blocks, so that 65 blocks do
    /// not take two whole pages.
    fn arrange(blocks: u64, row: &Row) -> Self {
        let blocks_per_page = match blocks {
            ..=PAGE_BLOCKS => blocks,
            WHOLE_PAGES_FROM.. => PAGE_BLOCKS,
            // The page size that rounds `blocks` up least; of several, the largest.
            _ => {
                let sizes = (PAGE_BLOCKS / 2 + 1..=PAGE_BLOCKS).rev();
                sizes.min_by_key(|&size| blocks.next_multiple_of(size)).unwrap_or(PAGE_BLOCKS)
            }
        };
        let blocks_per_item = u64::from(row.blocks_per_item).min(blocks_per_page);
        // 2^40 items of 88 bits take 2.95e9 pages, which fits 32 bits.
        let pages = blocks.div_ceil(blocks_per_page) as u32;
        let (page, item) = (blocks_per_page as u8, blocks_per_item as u8);
        Self::of_pages(pages, page, item, row.bits_per_block)
    }
}
