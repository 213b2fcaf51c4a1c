//! The sizing rule: the geometry of a layer from capacity and target rate.
//!
//! The same arguments give the same geometry on every machine and in every release, because a
//! replica must grow the same layers as its primary. So this file uses only integers, IEEE
//! `+ - * /`, a frozen table, and frozen `exp` and `log1p` in [`fp_rate`].
//! Any change of a result needs a new [`REVISION`], and the old one must stay available.

use std::cell::Cell;

use super::geometry::{Geometry, PAGE_BLOCKS};
use super::rate::fp_rate;
use super::table;
pub use super::table::{ROWS, Row};
use crate::error::Error;
use crate::hash::xxh3::COLLISION;

/// Revision of the sizing rule in this file, stored in the header of every filter.
pub const REVISION: u16 = 1;

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
    /// It is the smallest such geometry, with one exception: a small layer may need less than the
    /// table gives. Then, for `error` of 1e-6 or more, it has at most one block per page too many.
    ///
    /// # Errors
    ///
    /// [`Error::Capacity`] outside 1 to [`MAX_CAPACITY`]; [`Error::ErrorRate`] for an `error` that
    /// is not above 0 and at most [`MAX_ERROR_RATE`]; [`Error::ErrorRateTooSmall`] below
    /// [`MIN_LAYER_ERROR`], or if equal hashes alone reach this rate.
    ///
    /// Cost: below 16,384 blocks, one to three times [`fp_rate`]; from there on, a search in the
    /// table. The result of a thread's last call is cached, because a server may have millions of
    /// small filters with equal parameters.
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
        // The condition is written so that NaN fails.
        if !(error > 0.0 && error <= MAX_ERROR_RATE) {
            return Err(Error::ErrorRate(error));
        }
        let error_of_bits = error_of_bits(capacity, error)?;
        let row = Row::of(error_of_bits);
        let mut blocks =
            (capacity as f64 * row.bits_per_item(error_of_bits) / BLOCK_BITS).ceil() as u64;
        loop {
            let geometry = Self::arrange(blocks.max(1), row);
            // The rate of a small layer differs a little from that of infinitely many pages, so it
            // is computed.
            if geometry.blocks() >= WHOLE_PAGES_FROM || fp_rate(&geometry, capacity) <= error {
                return Ok(geometry);
            }
            blocks = geometry.blocks() + 1;
        }
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
