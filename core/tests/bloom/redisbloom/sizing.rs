//! Sizes in RedisBloom's layout, compared with the reference model.

use bloomline_core::bloom::layer::Rules;
use bloomline_core::bloom::redisbloom::geometry::{Options, RedisBloomShape};
use bloomline_core::bloom::redisbloom::{RedisBloomFilter, RedisBloomParams};
use bloomline_core::math::ln::ln;

use bloomline_reference::redisbloom::Plan;

/// Larger layers are not built, so that the growth after them is not tested.
const MOST_BITS: u64 = 1 << 22;

fn plan_of(shape: &RedisBloomShape) -> Plan {
    let RedisBloomShape { capacity, error, hashes, bits, log2_bits, .. } = *shape;
    Plan { capacity, error, hashes, bits, log2_bits }
}

#[test]
fn ten_thousand_filters_have_the_sizes_of_the_model() {
    let (mut filters, mut layers, mut other_logarithm) = (0, 0, 0);
    for step in 0..50u32 {
        let error = 0.25 * 0.61f64.powi(step as i32) / f64::from(step % 7 + 1);
        for size in 0..50u32 {
            let capacity = (1.45f64.powi(size as i32) as u64).clamp(1, 1 << 30) + u64::from(size);
            for (options, expansion) in [(5, 2), (5, 3), (4, 2), (0, 1)] {
                filters += 1;
                let params = RedisBloomParams { options: Options::from_bits(options), expansion };
                let mut shape = RedisBloomShape::new(params.options, capacity, error).ok();
                let mut plan = Plan::new(options, capacity, error);
                for index in 0..4 {
                    let (Some(here), Some(expected)) = (shape, plan) else {
                        assert!(shape.is_none() && plan.is_none(), "{options} {capacity} {error}");
                        break;
                    };
                    layers += 1;
                    if plan_of(&here) != expected {
                        assert_ne!(ln(here.error), here.error.ln(), "{here:?} is not {expected:?}");
                        other_logarithm += 1;
                        break;
                    }
                    assert!(here.is_sound(), "{here:?}");
                    if here.bits > MOST_BITS {
                        break;
                    }
                    let next = RedisBloomShape::successor(&params, &here.into(), index, 0).ok();
                    shape = next.map(|(_, plan)| *plan.shape());
                    plan = Plan::new(
                        options,
                        expected.capacity * u64::from(expansion),
                        expected.error * 0.5,
                    );
                }
            }
        }
    }
    assert_eq!(filters, 10_000);
    assert!(layers > 20_000, "{layers}");
    assert!(
        other_logarithm <= 3,
        "{other_logarithm} filters differ by the last bit of a logarithm"
    );
}

#[test]
fn layer_of_the_smallest_target_rate_is_decoded_again() {
    let options = Options::of_new_filter(true);
    let shape = RedisBloomShape::new(options, 100, 5e-324).unwrap();
    assert_eq!((shape.hashes, shape.is_sound()), (1_075, true));
    let filter =
        RedisBloomFilter::new(100, 5e-324, RedisBloomParams { options, expansion: 2 }, &mut |_| {
            true
        })
        .unwrap();
    assert!(RedisBloomFilter::decode_header(&filter.encode_header(), &mut |_| true).is_ok());
}
