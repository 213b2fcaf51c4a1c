//! Which layers of valkey-bloom's layout can be merged.

use super::Merge;
use crate::error::Parameter;
use crate::valkey::{Common, ValkeyLayer};

impl Merge for ValkeyLayer {
    fn differs(&self, other: &Self, index: u32) -> Option<Parameter> {
        let shape = |layer: &Self| (layer.shape.bytes, layer.shape.hashes);
        (shape(self) != shape(other)).then_some(Parameter::Layer(index))
    }

    /// The layer is loaded with any capacity, but not with more items than that.
    fn fill_up(&mut self, len: u64) {
        self.shape.capacity = self.shape.capacity.max(len);
    }

    fn grown_as(common: &Common, _other: &Common) -> Common {
        *common
    }
}
