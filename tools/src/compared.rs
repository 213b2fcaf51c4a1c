//! What others need for the same items: RedisBloom, a classic Bloom filter, and the theory.

use bloomline_core::Error;
use bloomline_core::bloom::layer::Rules;
use bloomline_core::bloom::redisbloom::geometry::{Options, RedisBloomShape};
use bloomline_core::host::{Growth, Spec};
use bloomline_core::spec::MAX_LAYERS;

/// The largest capacity that RedisBloom takes for a first layer.
const MAX_CAPACITY: u64 = 1 << 30;

/// A filter of RedisBloom with a given number of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedisBloomPlan {
    bits_bytes: u64,
    layers: u32,
}

impl RedisBloomPlan {
    /// The layers that RedisBloom has when `items` new items have been added.
    ///
    /// # Errors
    ///
    /// A number out of RedisBloom's range, and a filter that does not grow with less capacity than
    /// items.
    pub fn new(spec: Spec, items: u64) -> Result<Self, Error> {
        let Spec { capacity, error_rate, growth } = spec;
        if capacity > MAX_CAPACITY {
            return Err(Error::Capacity(capacity));
        }
        let (options, expansion) = match growth {
            Growth::Fixed => (Options::of_new_filter(true), None),
            Growth::Scaling { expansion } => (Options::of_new_filter(false), Some(expansion)),
        };
        let first_error = if expansion.is_some() { error_rate * 0.5 } else { error_rate };
        let mut shape = RedisBloomShape::new(options, capacity, first_error)?;
        let (mut room, mut plan) = (0u64, Self { bits_bytes: 0, layers: 0 });
        loop {
            plan.bits_bytes = plan.bits_bytes.saturating_add(shape.bits / 8);
            plan.layers += 1;
            room = room.saturating_add(shape.capacity);
            if room >= items {
                return Ok(plan);
            }
            let expansion = expansion.ok_or(Error::Full(capacity))?;
            if plan.layers == MAX_LAYERS {
                return Err(Error::TooManyLayers(MAX_LAYERS));
            }
            let next = shape.capacity.checked_mul(expansion.into());
            let next = next.ok_or(Error::Capacity(u64::MAX))?;
            shape = RedisBloomShape::new(options, next, shape.error * 0.5)?;
        }
    }

    /// Number of layers: `BF.INFO key FILTERS`.
    pub fn layer_count(&self) -> u32 {
        self.layers
    }

    /// Bytes: `BF.INFO key SIZE` of a filter in RedisBloom's layout.
    pub fn size_bytes(&self) -> u64 {
        RedisBloomShape::size_bytes(self.bits_bytes, self.layers)
    }
}

/// Bits per item that any structure needs for this false-positive rate (Carter et al. 1978).
pub fn least_bits_per_item(error_rate: f64) -> f64 {
    -error_rate.log2()
}

/// Bits per item of a full classic Bloom filter with the best number of hashes (Bloom 1970).
pub fn classic_bits_per_item(error_rate: f64) -> f64 {
    least_bits_per_item(error_rate) * std::f64::consts::LOG2_E
}

/// The bytes of `items` items of `bits_per_item` bits each, rounded up.
pub fn bytes_of_bits(items: u64, bits_per_item: f64) -> f64 {
    (items as f64 * bits_per_item / 8.0).ceil()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed test panics")]

    use bloomline_core::bloom::redisbloom::{RedisBloomFilter, RedisBloomParams};

    use super::*;

    #[test]
    fn sizes_equal_those_of_filters_that_grew() {
        for growth in [1, 2, 4].map(|expansion| Growth::Scaling { expansion }) {
            for (capacity, error_rate, items) in [(100, 0.01, 5_000), (1_000, 0.0001, 1_001)] {
                let Growth::Scaling { expansion } = growth else { continue };
                let params = RedisBloomParams { options: Options::of_new_filter(false), expansion };
                let mut filter =
                    RedisBloomFilter::new(capacity, error_rate, params, &mut |_| true).unwrap();
                for item in 0u64.. {
                    if filter.len() == items {
                        break;
                    }
                    filter.insert(&item.to_le_bytes(), &mut |_| true).unwrap();
                }
                let spec = Spec { capacity, error_rate, growth };
                let plan = RedisBloomPlan::new(spec, items).unwrap();
                assert_eq!(plan.layer_count(), filter.layer_count());
                assert_eq!(plan.size_bytes(), filter.size_bytes());
            }
        }
    }

    #[test]
    fn refuses_what_redisbloom_refuses() {
        let spec = Spec { capacity: MAX_CAPACITY + 1, error_rate: 0.01, growth: Growth::Fixed };
        assert!(RedisBloomPlan::new(spec, 1).is_err());
        assert!(RedisBloomPlan::new(Spec { capacity: 10, ..spec }, 11).is_err());
    }

    #[test]
    fn the_theory_is_that_of_the_literature() {
        assert_eq!(least_bits_per_item(0.25), 2.0);
        assert!((classic_bits_per_item(0.01) - 9.585).abs() < 0.001);
    }
}
