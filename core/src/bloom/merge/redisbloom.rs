//! Which filters and layers of RedisBloom's layout can be merged.

use super::MergeShape;
use crate::bloom::redisbloom::geometry::RedisBloomShape;
use crate::bloom::redisbloom::{RedisBloomFilter, RedisBloomLayer, RedisBloomParams};
use crate::error::Parameter;

impl MergeShape for RedisBloomShape {
    /// The capacity of the first layer is that of its bits: a merge may have raised the field.
    fn parameter(one: &RedisBloomFilter, other: &RedisBloomFilter) -> Option<Parameter> {
        let (spec, others) = (one.spec(), other.spec());
        let options = |filter: &RedisBloomFilter| filter.params().options.without_scaling();
        let bits =
            |filter: &RedisBloomFilter| filter.layers().next().map(|layer| layer.shape().bits);
        if options(one) != options(other) {
            Some(Parameter::Options)
        } else if spec.error_rate.to_bits() != others.error_rate.to_bits() {
            Some(Parameter::ErrorRate)
        } else if spec.growth != others.growth {
            Some(Parameter::Expansion)
        } else if bits(one) != bits(other) {
            Some(Parameter::Capacity)
        } else {
            None
        }
    }

    fn differs(one: &RedisBloomLayer, other: &RedisBloomLayer, index: u32) -> Option<Parameter> {
        let shape = |layer: &RedisBloomLayer| {
            let &RedisBloomShape { bits, log2_bits, hashes, .. } = layer.shape();
            (bits, log2_bits, hashes)
        };
        (shape(one) != shape(other)).then_some(Parameter::Layer(index))
    }

    /// RedisBloom has no layer of more items than its capacity, and refuses to load one.
    fn fill_up(&mut self, len: u64) {
        self.capacity = self.capacity.max(len);
    }

    fn grown_as(params: &RedisBloomParams, _other: &RedisBloomParams) -> RedisBloomParams {
        *params
    }
}
