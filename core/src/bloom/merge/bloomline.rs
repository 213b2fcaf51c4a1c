//! Which filters and layers in the Bloomline layout can be merged.

use super::MergeShape;
use crate::bloom::bloomline::{BlockedLayer, BlockedParams, BlockedShape, Filter};
use crate::error::Parameter;

impl MergeShape for BlockedShape {
    fn parameter(one: &Filter, other: &Filter) -> Option<Parameter> {
        let (spec, others) = (one.spec(), other.spec());
        if one.seed() != other.seed() {
            Some(Parameter::Seed)
        } else if spec.error_rate.to_bits() != others.error_rate.to_bits() {
            Some(Parameter::ErrorRate)
        } else if spec.growth != others.growth {
            Some(Parameter::Expansion)
        } else if spec.capacity != others.capacity {
            Some(Parameter::Capacity)
        } else {
            None
        }
    }

    fn differs(one: &BlockedLayer, other: &BlockedLayer, index: u32) -> Option<Parameter> {
        let differ = one.geometry() != other.geometry() || one.bytes() != other.bytes();
        differ.then_some(Parameter::Layer(index))
    }

    fn fill_up(&mut self, len: u64) {
        self.capacity = self.capacity.max(len);
    }

    fn grown_as(params: &BlockedParams, other: &BlockedParams) -> BlockedParams {
        params.grown_as(other)
    }
}
