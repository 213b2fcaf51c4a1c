//! A plan, and its values by number.

use bloomline_core::bloom::bloomline::BlockedPlan;
use bloomline_core::bloom::bloomline::rate::fp_rate;
use bloomline_core::bloom::window::{Window, WindowSpec};
use bloomline_core::host::{Growth, Spec};
use bloomline_tools::bloom::Plan;
use bloomline_tools::compared::{
    RedisBloomPlan, bytes_of_bits, classic_bits_per_item, least_bits_per_item,
};
use bloomline_tools::plan::whole;
use bloomline_tools::used::Rounding;

use crate::refusal::Refusal;

/// The values of a whole filter, by the number that a page gives.
pub const VALUES: [fn(&Planned) -> Option<f64>; 11] = [
    // Bytes: `BF.INFO key SIZE`.
    |planned| Some(planned.plan.size_bytes() as f64),
    // Bytes after `BF.COMPACT key`, which refuses windowed filters.
    |Planned { plan, .. }| {
        let compacted = (plan.size_bytes() - plan.freed_bytes()) as f64;
        (plan.generation_count() == 1).then_some(compacted)
    },
    // Bytes in bits, per item.
    |planned| Some(planned.plan.bits_per_item()),
    // The computed false-positive rate.
    |planned| Some(planned.plan.fp_rate()),
    // The number of layers of all generations: `BF.INFO key FILTERS`.
    |planned| Some(planned.plan.layer_count() as f64),
    // The number of generations, with the newest; 1 if the filter does not forget.
    |planned| Some(planned.plan.generation_count().into()),
    // Bytes of RedisBloom for the same request, and the number of its layers. None if the filter
    // forgets, which RedisBloom cannot, and for a capacity that RedisBloom refuses.
    |planned| Some(planned.redisbloom?.size_bytes() as f64),
    |planned| Some(planned.redisbloom?.layer_count().into()),
    // Bytes that any structure needs for the items at the target rate.
    |planned| Some(planned.bytes_of_bits(least_bits_per_item)),
    // Bytes of a full classic Bloom filter at the target rate.
    |planned| Some(planned.bytes_of_bits(classic_bits_per_item)),
    // Bytes of `used_memory` for the key, with the size classes of jemalloc.
    |planned| Some(planned.plan.used_bytes(Rounding::Classes) as f64),
];

/// The values of a layer with a number of items in it, by the number that a page gives.
pub const COLUMNS: [fn(&BlockedPlan, u64) -> f64; 6] = [
    // Items that the layer is sized for.
    |layer, _| layer.capacity() as f64,
    // Items in the layer.
    |_, items| items as f64,
    // Bytes of its bits.
    |layer, _| layer.geometry().bytes() as f64,
    // Its bits, per item that it is sized for.
    |layer, _| layer.geometry().bits() as f64 / layer.capacity() as f64,
    // Bits that an item sets.
    |layer, _| layer.geometry().hashes().into(),
    // The computed false-positive rate of the layer.
    |layer, items| fp_rate(layer.geometry(), items),
];

/// A filter with a number of items in it.
pub struct Planned {
    plan: Plan,
    error_rate: f64,
    redisbloom: Option<RedisBloomPlan>,
}

impl Planned {
    pub(crate) fn lasting(
        items: f64,
        capacity: f64,
        error_rate: f64,
        expansion: f64,
    ) -> Result<Self, Refusal> {
        let (items, spec) = parameters(items, capacity, error_rate, expansion)?;
        let redisbloom = RedisBloomPlan::new(spec, items).ok();
        Ok(Self { plan: Plan::new(spec, items)?, error_rate, redisbloom })
    }

    /// `size` are the arguments of [`Planned::lasting`].
    pub(crate) fn forgetting(
        size: [f64; 4],
        seconds: f64,
        generations: f64,
        refreshes: f64,
    ) -> Result<Self, Refusal> {
        let [items, capacity, error_rate, expansion] = size;
        let (items, spec) = parameters(items, capacity, error_rate, expansion)?;
        let window = match seconds {
            0.0 => Window::Last,
            by_hand if by_hand < 0.0 => Window::Manual,
            seconds => {
                let seconds = whole(seconds).ok_or(Refusal::Window)?;
                Window::Time { millis: seconds.saturating_mul(1000) }
            }
        };
        let generations = small(generations).ok_or(Refusal::Generations)?;
        let Spec { capacity, error_rate, growth } = spec;
        let refreshes = refreshes != 0.0;
        let spec = WindowSpec { capacity, error_rate, growth, window, generations, refreshes };
        Ok(Self { plan: Plan::windowed(spec, items)?, error_rate, redisbloom: None })
    }

    /// The number of layers that [`Planned::layer`] knows.
    pub(crate) fn layer_count(&self) -> i32 {
        i32::try_from(self.plan.in_layers().count()).unwrap_or(i32::MAX)
    }

    pub(crate) fn value(&self, number: u32) -> Option<f64> {
        VALUES.get(usize::try_from(number).ok()?)?(self)
    }

    pub(crate) fn layer(&self, index: u32, column: u32) -> Option<f64> {
        let (layer, items) = self.plan.in_layers().nth(usize::try_from(index).ok()?)?;
        let column = COLUMNS.get(usize::try_from(column).ok()?)?;
        Some(column(layer, items))
    }

    pub(crate) fn rate_at(&self, items: f64) -> Option<f64> {
        let items = if items == 0.0 { 0 } else { whole(items)? };
        (items <= self.plan.items()).then(|| self.plan.fp_rate_at(items))
    }

    fn bytes_of_bits(&self, bits_per_item: fn(f64) -> f64) -> f64 {
        bytes_of_bits(self.plan.items(), bits_per_item(self.error_rate))
    }
}

/// The arguments that both kinds of filters have.
fn parameters(
    items: f64,
    capacity: f64,
    error_rate: f64,
    expansion: f64,
) -> Result<(u64, Spec), Refusal> {
    let items = whole(items).ok_or(Refusal::Items)?;
    let capacity = whole(capacity).ok_or(Refusal::Capacity)?;
    let growth = match expansion {
        0.0 => Growth::Fixed,
        other => Growth::Scaling { expansion: small(other).ok_or(Refusal::Expansion)? },
    };
    Ok((items, Spec { capacity, error_rate, growth }))
}

/// A whole number of 32 bits, at least 1.
fn small(number: f64) -> Option<u32> {
    whole(number)?.try_into().ok()
}
