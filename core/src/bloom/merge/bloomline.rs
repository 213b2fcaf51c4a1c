//! Which filters and layers in the Bloomline layout can be merged.

use super::MergeLayer;
use crate::bloom::bloomline::{BlockedLayer, Common, Filter};
use crate::error::Parameter;

impl MergeLayer for BlockedLayer {
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

    fn differs(&self, other: &Self, index: u32) -> Option<Parameter> {
        if self.geometry != other.geometry || self.words.len() != other.words.len() {
            Some(Parameter::Layer(index))
        } else {
            None
        }
    }

    fn fill_up(&mut self, len: u64) {
        self.capacity = self.capacity.max(len);
    }

    fn grown_as(common: &Common, other: &Common) -> Common {
        common.grown_as(other)
    }
}
