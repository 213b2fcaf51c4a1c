//! Filters that were merged or compacted, and the estimates that both rest on.

use bloomline_core::bloom::layer::LayerShape;
use bloomline_core::bloom::redisbloom::geometry::Options;
use bloomline_core::bloom::redisbloom::{RedisBloomFilter, RedisBloomParams};
use bloomline_core::bloom::scalable::ScalableFilter;
use bloomline_core::host::{AnyFilter, Filter, Growth, Spec};
use bloomline_reference::calls::Calls;
use bloomline_reference::checks::check::assert_reloads;

mod bits;
mod classic;
mod compaction;
mod estimates;
mod fold;
mod pinned;
mod rates;
mod refusals;
mod repeated;
mod schedules;
mod union;

pub const SEED: u64 = 0x0123_4567_89ab_cdef;

pub const fn scaling(capacity: u64, error_rate: f64, expansion: u32) -> Spec {
    Spec { capacity, error_rate, growth: Growth::Scaling { expansion } }
}

pub const fn fixed(capacity: u64, error_rate: f64) -> Spec {
    Spec { capacity, error_rate, growth: Growth::Fixed }
}

pub fn new(spec: Spec, seed: u64) -> Filter {
    Filter::new(spec, seed, &mut |_| true).unwrap()
}

/// A filter in RedisBloom's layout, with the options of a new one.
pub fn classic(spec: Spec) -> RedisBloomFilter {
    let expansion = match spec.growth {
        Growth::Scaling { expansion } => expansion,
        Growth::Fixed => 2,
    };
    let options = Options::of_new_filter(spec.growth == Growth::Fixed);
    let params = RedisBloomParams { options, expansion };
    RedisBloomFilter::new(spec.capacity, spec.error_rate, params, &mut |_| true).unwrap()
}

/// Inserts numbers as items. Returns how many were new.
pub fn insert(
    filter: &mut impl Calls<Inserted = bool>,
    items: impl IntoIterator<Item = u64>,
) -> u64 {
    let items: Vec<[u8; 8]> = items.into_iter().map(u64::to_le_bytes).collect();
    let mut new = 0;
    filter.insert_each(&mut items.iter().map(|item| &item[..]), 0, &mut |_| true, &mut |answer| {
        new += u64::from(answer.unwrap());
    });
    new
}

/// Whether the filter contains each of some numbers.
fn found(filter: &impl Calls, items: impl IntoIterator<Item = u64>) -> Vec<bool> {
    let items: Vec<[u8; 8]> = items.into_iter().map(u64::to_le_bytes).collect();
    let mut answers = Vec::new();
    filter.contains_each(&mut items.iter().map(|item| &item[..]), 0, &mut |found| {
        answers.push(found)
    });
    answers
}

/// The bits of each layer, oldest first.
fn bits<S: LayerShape>(filter: &ScalableFilter<S>) -> Vec<&[u8]> {
    filter.layers().map(|layer| layer.words().as_bytes()).collect()
}

/// The header and the bits of a filter: all that an operation may change.
pub fn state(filter: &AnyFilter) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut bits = Vec::new();
    filter.each_layer(|words| bits.push(words.as_bytes().to_vec()));
    (filter.encode_header(), bits)
}

/// The filter of the header and the chunks of another one, which must be equal, as that of each
/// other encoding.
pub fn copied(filter: &AnyFilter) -> AnyFilter {
    assert_eq!(filter.check(), Ok(()));
    assert_reloads(filter)
}

/// A clone as a filter of any kind.
fn any(filter: &Filter) -> AnyFilter {
    filter.try_clone(&mut |_| true).unwrap().into()
}
