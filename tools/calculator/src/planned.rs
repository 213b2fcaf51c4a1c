//! A plan, and its values by number.

use bloomline_core::bloom::bloomline::BlockedPlan;
use bloomline_core::bloom::bloomline::rate::fp_rate;
use bloomline_core::bloom::window::{Window, WindowSpec};
use bloomline_core::host::{Growth, Spec};
use bloomline_tools::compared::{
    RedisBloomPlan, bytes_of_bits, classic_bits_per_item, least_bits_per_item,
};
use bloomline_tools::growing::Plan;
use bloomline_tools::plan::whole;
use bloomline_tools::used::Rounding;
use bloomline_tools::windowed::WindowedPlan;

use crate::refusal::Refusal;

/// A value of a whole filter, by the number that a page gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Value {
    /// Bytes: `BF.INFO key SIZE`.
    Bytes = 0,
    /// Bytes after `BF.COMPACT key`, which refuses windowed filters.
    CompactedBytes = 1,
    /// Bytes in bits, per item.
    BitsPerItem = 2,
    /// The computed false-positive rate.
    Rate = 3,
    /// The number of layers of all generations: `BF.INFO key FILTERS`.
    Layers = 4,
    /// The number of generations, with the newest; 1 if the filter does not forget.
    Generations = 5,
    /// Bytes of RedisBloom for the same request. NaN if the filter forgets, which RedisBloom
    /// cannot, and for a capacity that RedisBloom refuses.
    RedisBloomBytes = 6,
    /// The number of RedisBloom's layers. NaN where its bytes are.
    RedisBloomLayers = 7,
    /// Bytes that any structure needs for the items at the target rate.
    LeastBytes = 8,
    /// Bytes of a full classic Bloom filter at the target rate.
    ClassicBytes = 9,
    /// Bytes of `used_memory` for the key, with the size classes of jemalloc.
    UsedBytes = 10,
}

impl Value {
    /// All values, in the order of their numbers.
    pub const ALL: [Self; 11] = [
        Self::Bytes,
        Self::CompactedBytes,
        Self::BitsPerItem,
        Self::Rate,
        Self::Layers,
        Self::Generations,
        Self::RedisBloomBytes,
        Self::RedisBloomLayers,
        Self::LeastBytes,
        Self::ClassicBytes,
        Self::UsedBytes,
    ];

    /// The value with this number.
    pub fn of_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|value| *value as u32 == number)
    }
}

/// A value of one layer, by the number that a page gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Column {
    /// Items that the layer is sized for.
    Capacity = 0,
    /// Items in the layer.
    Items = 1,
    /// Bytes of its bits.
    Bytes = 2,
    /// Its bits, per item that it is sized for.
    BitsPerItem = 3,
    /// Bits that an item sets.
    Hashes = 4,
    /// The computed false-positive rate of the layer.
    Rate = 5,
}

impl Column {
    /// All columns, in the order of their numbers.
    pub const ALL: [Self; 6] =
        [Self::Capacity, Self::Items, Self::Bytes, Self::BitsPerItem, Self::Hashes, Self::Rate];

    /// The column with this number.
    pub fn of_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|column| *column as u32 == number)
    }

    fn of(self, layer: &BlockedPlan, items: u64) -> f64 {
        let (capacity, geometry) = (layer.capacity() as f64, layer.geometry());
        match self {
            Self::Capacity => capacity,
            Self::Items => items as f64,
            Self::Bytes => geometry.bytes() as f64,
            Self::BitsPerItem => geometry.bits() as f64 / capacity,
            Self::Hashes => f64::from(geometry.hashes()),
            Self::Rate => fp_rate(geometry, items),
        }
    }
}

/// A filter with so many items in it.
pub(crate) struct Planned {
    items: u64,
    error_rate: f64,
    filter: Filter,
    redisbloom: Option<RedisBloomPlan>,
}

enum Filter {
    Lasting(Plan),
    Forgetting(WindowedPlan),
}

impl Planned {
    pub fn lasting(
        items: f64,
        capacity: f64,
        error_rate: f64,
        expansion: f64,
    ) -> Result<Self, Refusal> {
        let (items, spec) = parameters(items, capacity, error_rate, expansion)?;
        let filter = Filter::Lasting(Plan::new(spec, items)?);
        let redisbloom = RedisBloomPlan::new(spec, items).ok();
        Ok(Self { items, error_rate: spec.error_rate, filter, redisbloom })
    }

    /// `size` are the arguments of [`Planned::lasting`].
    pub fn forgetting(
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
        let filter = Filter::Forgetting(WindowedPlan::new(spec, items)?);
        Ok(Self { items, error_rate, filter, redisbloom: None })
    }

    /// The number of layers that [`Planned::layer`] knows.
    pub fn layer_count(&self) -> i32 {
        let count = match &self.filter {
            Filter::Lasting(plan) => plan.in_layers().count(),
            Filter::Forgetting(plan) => plan.in_layers().count(),
        };
        i32::try_from(count).unwrap_or(i32::MAX)
    }

    pub fn value(&self, value: Value) -> Option<f64> {
        let (bytes, freed, layers, generations) = match &self.filter {
            Filter::Lasting(plan) => {
                (plan.size_bytes(), Some(plan.freed_bytes()), plan.layer_count(), 1)
            }
            Filter::Forgetting(plan) => {
                (plan.size_bytes(), None, plan.layer_count(), plan.generation_count())
            }
        };
        Some(match value {
            Value::Bytes => bytes as f64,
            Value::CompactedBytes => bytes.checked_sub(freed?)? as f64,
            Value::BitsPerItem => bytes as f64 * 8.0 / self.items as f64,
            Value::Rate => self.rate(self.items),
            Value::Layers => layers as f64,
            Value::Generations => f64::from(generations),
            Value::RedisBloomBytes => self.redisbloom?.size_bytes() as f64,
            Value::RedisBloomLayers => f64::from(self.redisbloom?.layer_count()),
            Value::LeastBytes => bytes_of_bits(self.items, least_bits_per_item(self.error_rate)),
            Value::ClassicBytes => {
                bytes_of_bits(self.items, classic_bits_per_item(self.error_rate))
            }
            Value::UsedBytes => match &self.filter {
                Filter::Lasting(plan) => plan.used_bytes(Rounding::Classes) as f64,
                Filter::Forgetting(plan) => plan.used_bytes(Rounding::Classes) as f64,
            },
        })
    }

    pub fn layer(&self, index: u32, column: Column) -> Option<f64> {
        let index = usize::try_from(index).ok()?;
        let (layer, items) = match &self.filter {
            Filter::Lasting(plan) => plan.in_layers().nth(index),
            Filter::Forgetting(plan) => plan.in_layers().nth(index),
        }?;
        Some(column.of(layer, items))
    }

    pub fn rate_at(&self, items: f64) -> Option<f64> {
        let items = if items == 0.0 { 0 } else { whole(items)? };
        (items <= self.items).then(|| self.rate(items))
    }

    fn rate(&self, items: u64) -> f64 {
        match &self.filter {
            Filter::Lasting(plan) => plan.fp_rate_at(items),
            Filter::Forgetting(plan) => plan.fp_rate_at(items),
        }
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
