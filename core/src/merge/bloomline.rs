//! Which layers in the Bloomline layout can be merged.

use super::Merge;
use crate::bloomline::{BlockedLayer, Common};
use crate::error::Parameter;

impl Merge for BlockedLayer {
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
