//! Which filters and layers of valkey-bloom's layout can be merged.

use super::Merge;
use crate::error::Parameter;
use crate::valkey::{Common, ValkeyFilter, ValkeyLayer};

impl Merge for ValkeyLayer {
    /// The capacity of the first layer is that of its bits: a merge may have raised the field.
    fn parameter(one: &ValkeyFilter, other: &ValkeyFilter) -> Option<Parameter> {
        let (common, others) = (one.common(), other.common());
        let bytes = |filter: &ValkeyFilter| filter.layers().next().map(|it| it.shape().bytes);
        if common.seed != others.seed {
            Some(Parameter::Seed)
        } else if common.error_rate.to_bits() != others.error_rate.to_bits() {
            Some(Parameter::ErrorRate)
        } else if common.expansion != others.expansion {
            Some(Parameter::Expansion)
        } else if common.tightening.to_bits() != others.tightening.to_bits() {
            Some(Parameter::Tightening)
        } else if bytes(one) != bytes(other) {
            Some(Parameter::Capacity)
        } else {
            None
        }
    }

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
