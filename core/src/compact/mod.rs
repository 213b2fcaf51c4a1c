//! Compacting: the newest layer of a filter gets the size that its items need.
//!
//! Older layers are full, so only the newest one can have more bits than its items need: half of
//! them on average, if the filter has grown by doubling, and more if it was reserved too large.

mod bloomline;
mod redisbloom;
mod windowed;

use crate::layer::Layer;
use crate::scalable::{SAMPLE_PAGES, ScalableFilter};

/// The newest layer of a filter that is compacted.
#[derive(Clone, Copy, Debug)]
pub struct Newest {
    /// Items in the layer as the filter counts them.
    len: u64,
    /// Items in the layer by its count or its fill, whichever is more.
    items: u64,
    /// Bytes of the bits of all layers.
    filter_bytes: u64,
}

/// A layer that can become smaller.
pub trait Compact: Layer {
    /// Folds the newest layer, layer `index`, to the smallest size that holds its items within the
    /// rate that it may have. False, without a change, if that saves less than 1/16 of it.
    fn compact(&mut self, common: &mut Self::Common, index: u32, newest: Newest) -> bool;
}

impl<L: Compact> ScalableFilter<L> {
    /// Gives back the memory that the items do not need, and returns the number of bytes.
    ///
    /// The newest layer becomes as small as its items allow. Its false-positive rate rises, and that
    /// of the filter stays within the target rate. No item is lost. The layer is full then, or nearly
    /// so, and the filter goes on growing from its new capacity. Layers of one page cannot become
    /// smaller.
    ///
    /// Cost: one pass over the newest layer. It takes no memory, or an eighth of the old at most.
    pub fn compact(&mut self) -> u64 {
        let index = self.layer_count() - 1;
        let newest = Newest {
            len: self.newest_len(),
            items: items_in(&self.newest, self.newest_len()),
            filter_bytes: self.bits_bytes(),
        };
        self.newest.compact(&mut self.common, index, newest);
        newest.filter_bytes - self.bits_bytes()
    }
}

/// The number of items in a layer that counts `len` items: larger than `len` if the fill shows it by
/// four standard errors, for example after a dump during writes.
pub(crate) fn items_in<L: Layer>(layer: &L, len: u64) -> u64 {
    /// Standard errors by which an estimate must exceed the count.
    const SIGNIFICANT: f64 = 4.0;
    let estimate = layer.by_fill(SAMPLE_PAGES);
    let least = estimate.inserted - SIGNIFICANT * estimate.attempted.standard_error();
    if least > len as f64 { estimate.inserted as u64 } else { len }
}
