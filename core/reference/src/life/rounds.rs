//! What a filter costs after many rounds of insertions and compactions, beside one that is
//! compacted once, at the end.

use bloomline_core::bloom::layer::{Layer, LayerShape};
use bloomline_core::bloom::scalable::ScalableFilter;
use bloomline_core::host::AnyRef;

use super::filter::{Filter, Outcome};
use super::kinds::Numbers;
use super::steps::Items;

/// Growth ends no earlier than without compactions, all layers keep the target rate when they are
/// full, the number of layers grows with the logarithm of the number of items, and the bits per
/// item stay within a bound.
pub fn assert_rounds(filter: &Filter, numbers: &Numbers, next: u64) {
    let (mut alone, _) = numbers.create(0, u64::MAX).expect("it was created before");
    let items = Items { first: 1, count: next - 1, stride: 1 }.bytes();
    let outcomes = alone.insert(&items, false, 0, &mut |_| true);
    let refused = outcomes.iter().position(|outcome| *outcome == Outcome::CannotGrow);
    let most = refused.unwrap_or(items.len()) as u64;
    // Some items seem to be present when they are inserted.
    let least = most.min(alone.len()) as f64 * (1.0 - 2.0 * numbers.error_rate);
    assert!(filter.len() as f64 >= least, "{} of {most}", filter.len());
    alone.compact().expect("a kind that is compacted");
    match (filter.view(), alone.view()) {
        (Some(AnyRef::Bloomline(one)), Some(AnyRef::Bloomline(alone))) => {
            // Sizes cannot all be 1.5 times that of one compaction at the end. That one has a
            // single layer at half of the target rate, 7.6 bits per item by the logarithm of the
            // rate at 1 %. Layers of a quarter of all older ones have a 26th of what is left of the
            // rate, and the newest has room.
            let size = if numbers.error_rate < 1e-3 { 1.75 } else { 2.35 };
            let bounds = Bounds { rate: 1.0 + 1e-9, step: 1.25, size };
            assert_cost(one, alone, numbers.error_rate, &bounds);
        }
        (Some(AnyRef::RedisBloom(one)), Some(AnyRef::RedisBloom(alone))) => {
            // The number of hashes is rounded up. A link of four times the last one may have no
            // divisor to be folded by.
            let size = if numbers.error_rate < 1e-5 { 1.6 } else { 2.6 };
            let size = if numbers.expansion > 2 { 2.0 * size } else { size };
            assert_cost(one, alone, numbers.error_rate, &Bounds { rate: 1.06, step: 2.0, size });
        }
        _ => {}
    }
}

struct Bounds {
    /// The rate of the full filter, divided by the target rate.
    rate: f64,
    /// By how much the capacity of all layers grows with each layer, at least.
    step: f64,
    /// Times the bits per item.
    size: f64,
}

fn assert_cost<S: LayerShape>(
    filter: &ScalableFilter<S>,
    alone: &ScalableFilter<S>,
    target: f64,
    bounds: &Bounds,
) {
    let full = filter.layers().map(|layer| layer.fp_rate(layer.capacity())).sum::<f64>() / target;
    assert!(full <= bounds.rate, "{full} of the target rate: {filter:?}");
    let more = (filter.capacity() as f64).ln() / bounds.step.ln();
    let most = f64::from(alone.layer_count()) + more;
    assert!(f64::from(filter.layer_count()) <= most, "more than {most} layers: {filter:?}");
    let bits = |filter: &ScalableFilter<S>| filter.layers().map(Layer::bytes).sum::<u64>();
    let ratio = bits(filter) as f64 / bits(alone) as f64;
    assert!(ratio <= bounds.size, "{ratio} of {}: {filter:?}, {alone:?}", bounds.size);
}
