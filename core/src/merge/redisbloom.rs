//! Which links of RedisBloom's layout can be merged.

use super::Merge;
use crate::error::Parameter;
use crate::redisbloom::geometry::Shape;
use crate::redisbloom::{ClassicLayer, Common};

impl Merge for ClassicLayer {
    fn differs(&self, other: &Self, index: u32) -> Option<Parameter> {
        let shape = |layer: &Self| {
            let Shape { bits, log2_bits, hashes, .. } = layer.shape;
            (bits, log2_bits, hashes)
        };
        (shape(self) != shape(other)).then_some(Parameter::Layer(index))
    }

    /// RedisBloom has no link of more items than its capacity, and refuses to load one.
    fn fill_up(&mut self, len: u64) {
        self.shape.capacity = self.shape.capacity.max(len);
    }

    fn grown_as(common: &Common, _other: &Common) -> Common {
        *common
    }
}
