//! Compacting a windowed filter.

use super::{Compact, items_in};
use crate::window::filter::MAX_OFFSET;
use crate::window::ring::Ring;
use crate::window::{Generation, WindowedFilter};

impl WindowedFilter {
    /// Gives back the memory that the items of the older generations do not need, and returns the
    /// number of bytes: 0 if, and only if, nothing has changed; see
    /// [`compact`](crate::host::Filter::compact). The newest generation keeps its size, because it
    /// takes items.
    ///
    /// Cost: one pass over the generations that become smaller.
    pub fn compact(&mut self) -> u64 {
        let (end, size) = (self.end(), self.size_bytes());
        // The bits move behind all earlier offsets, in which a dump may be.
        if end.saturating_add(size) > MAX_OFFSET {
            return 0;
        }
        let error = self.spec().regular().error_rate;
        // The generations of a small ring have one page each.
        let Ring::Large(large) = &mut self.ring else { return 0 };
        large.older.iter_mut().for_each(|generation| generation.compact(error));
        let freed = size - self.size_bytes();
        if freed > 0 {
            self.dropped_bytes = end;
        }
        freed
    }
}

impl Generation {
    fn compact(&mut self, error: f64) {
        match &mut self.overflow {
            // The regular layer is full. The generation does not grow any more.
            Some(overflow) => drop(overflow.compact()),
            None => {
                let (layer, len) = (&mut self.regular, self.regular_len);
                let items = items_in(layer, len);
                if let Some(folded) = layer.shape().compacted(error, items, len, items) {
                    layer.fold(&folded);
                }
            }
        }
    }
}
