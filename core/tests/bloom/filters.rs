//! What tests of Bloom filters have in common: filters, numbers as items, and measured rates.

use bloomline_core::bloom::bloomline::geometry::Geometry;
use bloomline_core::bloom::layer::LayerShape;
use bloomline_core::bloom::redisbloom::geometry::Options;
use bloomline_core::bloom::redisbloom::{RedisBloomFilter, RedisBloomParams};
use bloomline_core::bloom::scalable::ScalableFilter;
use bloomline_core::host::{AnyFilter, Filter, Growth, Spec};
use bloomline_reference::bloomline::Model;
use bloomline_reference::calls::Calls;
use bloomline_reference::checks::check::assert_reloads;
use bloomline_reference::random::{Estimate, Random};

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

/// The same with these options, of which 1 is no rounding, 2 log2 sizes, 4 hashes of 64 bits.
pub fn with_options(options: u32, capacity: u64, error: f64) -> RedisBloomFilter {
    let params = RedisBloomParams { options: Options::from_bits(options), expansion: 2 };
    RedisBloomFilter::new(capacity, error, params, &mut |_| true).unwrap()
}

/// Inserts numbers as items, of which none is refused.
pub fn insert(filter: &mut impl Calls, items: impl IntoIterator<Item = u64>) {
    let items: Vec<[u8; 8]> = items.into_iter().map(u64::to_le_bytes).collect();
    filter.insert_each(&mut items.iter().map(|item| &item[..]), 0, &mut |_| true, &mut |answer| {
        answer.unwrap();
    });
}

/// Inserts the numbers from `first` on, until the filter has this many layers and the newest one is
/// full. Returns the next number.
///
/// Items that seem to be present set no bits, so more are attempted than there is room for.
pub fn fill_up<S: LayerShape>(filter: &mut ScalableFilter<S>, layers: u32, first: u64) -> u64
where
    ScalableFilter<S>: Calls,
{
    let mut next = first;
    while filter.layer_count() < layers || filter.room() > 0 {
        let end = next + filter.room().max(1);
        insert(filter, next..end);
        next = end;
    }
    next
}

/// Whether the filter contains each of some numbers.
pub fn found(filter: &impl Calls, items: impl IntoIterator<Item = u64>) -> Vec<bool> {
    let items: Vec<[u8; 8]> = items.into_iter().map(u64::to_le_bytes).collect();
    let mut answers = Vec::new();
    filter.contains_each(&mut items.iter().map(|item| &item[..]), 0, &mut |found| {
        answers.push(found)
    });
    answers
}

/// True if the filter contains all of some numbers.
pub fn finds_all(filter: &impl Calls, items: impl IntoIterator<Item = u64>) -> bool {
    found(filter, items).into_iter().all(|found| found)
}

/// The share of random absent items that the filter reports as present.
pub fn measured(filter: &impl Calls, lookups: u64, seed: u64) -> Estimate {
    let (mut random, mut hits) = (Random::new(seed), 0);
    for call in (0..lookups).step_by(100_000) {
        let absent = (call..lookups.min(call + 100_000)).map(|_| random.next() | 1 << 63);
        hits += found(filter, absent).into_iter().filter(|&found| found).count();
    }
    let (mean, lookups) = (hits as f64 / lookups as f64, lookups as f64);
    Estimate { mean, error: (mean.max(1.0 / lookups) / lookups).sqrt() }
}

/// The bits of each layer, oldest first.
pub fn bits<S: LayerShape>(filter: &ScalableFilter<S>) -> Vec<&[u8]> {
    filter.layers().map(|layer| layer.words().as_bytes()).collect()
}

/// The header and the bits of a filter: all that an operation may change.
pub fn state(filter: &AnyFilter) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut bits = Vec::new();
    filter.each_layer(|words| bits.push(words.as_bytes().to_vec()));
    (filter.encode_header(), bits)
}

pub fn assert_equals_model(filter: &Filter, model: &Model) {
    assert_eq!(filter.layer_count() as usize, model.layers.len());
    assert_eq!((filter.len(), filter.newest_len()), (model.len(), model.newest_len));
    for (index, (layer, model)) in filter.layers().zip(&model.layers).enumerate() {
        assert_eq!(layer.capacity(), model.capacity, "layer {index}");
        // The form of a folded layer is another one.
        let numbers = |it: &Geometry| (it.blocks(), it.blocks_per_page(), it.hashes());
        let geometry = &model.geometry;
        assert_eq!(numbers(layer.geometry()), numbers(geometry), "layer {index}");
        // Not `assert_eq`, which would print megabytes.
        let is_equal = layer.words().as_bytes() == model.bits.as_raw_slice();
        assert!(is_equal, "the bits of layer {index} differ: {geometry:?}");
    }
}

/// The filter of the header and the chunks of another one, which must be equal, as that of each
/// other encoding.
pub fn copied(filter: &AnyFilter) -> AnyFilter {
    assert_eq!(filter.check(), Ok(()));
    assert_reloads(filter)
}

pub fn clone(filter: &AnyFilter) -> AnyFilter {
    filter.try_clone(&mut |_| true).unwrap()
}

/// A clone as a filter of any kind.
pub fn any(filter: &Filter) -> AnyFilter {
    filter.try_clone(&mut |_| true).unwrap().into()
}

/// Calls a function with each backend of this processor, and these arguments.
macro_rules! with_each_backend {
    ($function:ident($($argument:expr),*)) => {
        $function(bloomline_core::simd::Scalar, $($argument),*);
        #[cfg(target_arch = "x86_64")]
        {
            match bloomline_core::simd::avx2::Avx2::detect() {
                Some(backend) => _ = $function(backend, $($argument),*),
                None => eprintln!("NOT TESTED: this processor has no AVX2"),
            }
            match bloomline_core::simd::avx512::Avx512::detect() {
                Some(backend) => _ = $function(backend, $($argument),*),
                None => eprintln!("NOT TESTED: this processor has no AVX-512 with VBMI"),
            }
        }
        #[cfg(target_arch = "aarch64")]
        $function(bloomline_core::simd::neon::Neon, $($argument),*);
    };
}
