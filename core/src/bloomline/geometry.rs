//! From capacity and error rate to the geometry of a layer.
//!
//! The same arguments give the same geometry on every machine and in every release: a replica grows
//! the layers its primary grows. So there are only integers and IEEE `+ - * /` here, a frozen
//! table, and the software `exp` of a pinned crate behind [`fp_rate`]. A change of any result is a
//! new [`REVISION`], and the old one stays.

use std::cell::Cell;

use super::rate::fp_rate;
use super::table;
pub use super::table::{ROWS, Row};
use crate::error::Error;

/// Revision of the rule in this file, stored in the header of every filter.
pub const REVISION: u16 = 1;

/// The largest capacity of a layer: 2^40 items.
pub const MAX_CAPACITY: u64 = 1 << 40;

/// The largest error rate of a filter, as in RedisBloom.
pub const MAX_ERROR_RATE: f64 = 0.25;

/// The smallest error rate of a layer.
///
/// Four lines of eight bits cost 21 % over the classic optimum there, and the cost rises steeply
/// below.
pub const MIN_LAYER_ERROR: f64 = 1e-15;

/// Bytes of a line.
pub const BLOCK_BYTES: u64 = 64;
const BLOCK_BITS: f64 = 512.0;

/// Lines of a whole page of 4 KiB.
pub const PAGE_BLOCKS: u64 = 64;

/// Lines from which a layer has whole pages only: 1 MiB. The table's model of endlessly many pages
/// holds from here on.
///
/// Below, rounding up to whole pages would cost more than 0.4 %, and few pages are touched however
/// they lie.
const WHOLE_PAGES_FROM: u64 = 256 * PAGE_BLOCKS;

/// Probability that two different items have one 64-bit hash.
pub(super) const COLLISION: f64 = 1.0 / (1u128 << 64) as f64;

/// The shape of a layer: how many pages of how many lines, and what an item sets in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    pages: u32,
    blocks_per_page: u8,
    blocks_per_item: u8,
    bits_per_block: u8,
    /// Follows from the others; kept since a division an item costs 3 ns.
    strides: u8,
}

impl Geometry {
    /// A geometry of this project's layout whose computed rate at `capacity` items is at most
    /// `error`: the smallest one, or from 1e-6 up at most a line a page more, where a small
    /// layer needs less than the table says.
    ///
    /// # Errors
    ///
    /// [`Error::Capacity`] outside 1 to [`MAX_CAPACITY`], [`Error::ErrorRate`] for an error that is
    /// not a number above 0 and at most [`MAX_ERROR_RATE`], [`Error::ErrorRateTooSmall`] below
    /// [`MIN_LAYER_ERROR`] or where equal hashes alone reach the error rate.
    ///
    /// Cost: 20 ns from 16,384 lines on; below, that and one to three times [`fp_rate`]; next to
    /// nothing for the numbers of the last call, since a server with millions of small filters
    /// makes all of them alike.
    pub fn new(capacity: u64, error: f64) -> Result<Self, Error> {
        thread_local! {
            static LAST: Cell<Option<(u64, u64, Geometry)>> = const { Cell::new(None) };
        }
        if let Some((last_capacity, last_error, geometry)) = LAST.get()
            && (last_capacity, last_error) == (capacity, error.to_bits())
        {
            return Ok(geometry);
        }
        let geometry = Self::compute(capacity, error)?;
        LAST.set(Some((capacity, error.to_bits(), geometry)));
        Ok(geometry)
    }

    fn compute(capacity: u64, error: f64) -> Result<Self, Error> {
        if !(1..=MAX_CAPACITY).contains(&capacity) {
            return Err(Error::Capacity(capacity));
        }
        // Written so that NaN fails.
        if !(error > 0.0 && error <= MAX_ERROR_RATE) {
            return Err(Error::ErrorRate(error));
        }
        // What equal hashes cost can't be bought back with bits.
        let error_of_bits = error - capacity as f64 * COLLISION;
        if error < MIN_LAYER_ERROR || error_of_bits < table::SMALLEST {
            return Err(Error::ErrorRateTooSmall(error));
        }
        let row = Row::of(error_of_bits);
        let mut lines =
            (capacity as f64 * row.bits_per_item(error_of_bits) / BLOCK_BITS).ceil() as u64;
        loop {
            let geometry = Self::arrange(lines.max(1), row);
            // A small layer is a little worse or better than the model without end: it is looked at
            // itself.
            if geometry.blocks() >= WHOLE_PAGES_FROM || fp_rate(&geometry, capacity) <= error {
                return Ok(geometry);
            }
            lines = geometry.blocks() + 1;
        }
    }

    /// At least `lines` lines, evenly on pages of at most 64, so that 65 lines do not cost 128.
    fn arrange(lines: u64, row: &Row) -> Self {
        let blocks_per_page = match lines {
            ..=PAGE_BLOCKS => lines,
            WHOLE_PAGES_FROM.. => PAGE_BLOCKS,
            // The largest page of which a whole number is closest above.
            _ => {
                let sizes = (PAGE_BLOCKS / 2 + 1..=PAGE_BLOCKS).rev();
                sizes.min_by_key(|&size| lines.next_multiple_of(size)).unwrap_or(PAGE_BLOCKS)
            }
        };
        let blocks_per_item = u64::from(row.lines).min(blocks_per_page);
        Self {
            // 2^40 items of 88 bits are 2.95e9 pages.
            pages: lines.div_ceil(blocks_per_page) as u32,
            blocks_per_page: blocks_per_page as u8,
            blocks_per_item: blocks_per_item as u8,
            bits_per_block: row.bits_per_block,
            strides: ((blocks_per_page - 1) / (blocks_per_item - 1).max(1)) as u8,
        }
    }

    /// Number of pages.
    #[inline]
    pub fn pages(&self) -> u64 {
        u64::from(self.pages)
    }

    /// Lines of a page, 1 to 64.
    #[inline]
    pub fn blocks_per_page(&self) -> u64 {
        u64::from(self.blocks_per_page)
    }

    /// Lines of the layer.
    #[inline]
    pub fn blocks(&self) -> u64 {
        self.pages() * self.blocks_per_page()
    }

    /// Lines an item has bits in, 1 to 4.
    #[inline]
    pub fn blocks_per_item(&self) -> u8 {
        self.blocks_per_item
    }

    /// Bits an item sets in each of its lines, 1 to 8.
    #[inline]
    pub fn bits_per_block(&self) -> u8 {
        self.bits_per_block
    }

    /// How many distances there are between neighbouring lines of an item: 1 to this many lines.
    #[inline]
    pub fn strides(&self) -> u64 {
        u64::from(self.strides)
    }

    /// Bits of the layer (m).
    pub fn bits(&self) -> u64 {
        self.bytes() * 8
    }

    /// Bytes of the layer's bits.
    pub fn bytes(&self) -> u64 {
        self.blocks() * BLOCK_BYTES
    }

    /// Bits an item sets (k).
    pub fn hashes(&self) -> u32 {
        u32::from(self.blocks_per_item) * u32::from(self.bits_per_block)
    }
}
