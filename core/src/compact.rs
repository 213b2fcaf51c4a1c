//! Compacting: the newest layer of a filter gets the size that its items need.
//!
//! Older layers are full, so only the newest one can have more bits than its items need: half of
//! them on average, if the filter has grown by doubling, and more if it was reserved too large.

use crate::layer::{Layer, Newest};
use crate::scalable::{SAMPLE_PAGES, ScalableFilter};

impl<L: Layer> ScalableFilter<L> {
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

/// The number of items in a layer that counts `len` items: more if its fill proves more, as that of
/// a filter does whose bits were dumped while it took items.
pub(crate) fn items_in<L: Layer>(layer: &L, len: u64) -> u64 {
    /// Standard errors by which an estimate must exceed the count.
    const SIGNIFICANT: f64 = 4.0;
    let estimate = layer.by_fill(SAMPLE_PAGES);
    let least = estimate.inserted - SIGNIFICANT * estimate.attempted.standard_error();
    if least > len as f64 { estimate.inserted as u64 } else { len }
}
