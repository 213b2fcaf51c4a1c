//! The kinds of filters: one table for both families and all layouts.

use bloomline_core::bloom::redisbloom::geometry::Options;
use bloomline_core::bloom::redisbloom::{RedisBloomFilter, RedisBloomParams};
use bloomline_core::bloom::window::{Window, WindowSpec, WindowedFilter};
use bloomline_core::host::cuckoo::{AnyCuckoo, CuckooOptions, CuckooSpec};
use bloomline_core::host::valkey::{ValkeyFilter, ValkeyParams};
use bloomline_core::host::{AnyFilter, Demand, Growth, Spec};

use super::choices::Choices;
use super::filter::Filter;
use super::oracle::Oracle;
use crate::{bloomline, bloomline_cuckoo, redisbloom, redisbloom_cuckoo, valkey, windowed};

/// The family and the layout of a filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    Bloom,
    /// RedisBloom's layout, with the options of its headers.
    ClassicBloom(&'static [u32]),
    /// valkey-bloom's layout, with the tightening ratios and the seed.
    ValkeyBloom(&'static [f64], ValkeySeed),
    Time,
    Last,
    Manual,
    Cuckoo,
    RedisBloomCuckoo,
}

/// The seed of a filter in valkey-bloom's layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValkeySeed {
    /// The same for all filters.
    Fixed,
    /// Any other.
    Own,
}

/// A kind of filter: a row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub name: &'static str,
    pub shape: Shape,
    /// The least and the largest capacity.
    pub capacities: (u64, u64),
    pub rates: &'static [f64],
    /// 0 if the filter does not grow.
    pub expansions: &'static [u32],
    /// Rounds of insertions and compactions instead of any steps.
    pub has_rounds: bool,
}

const RATES: &[f64] = &[0.25, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 1e-9, 1e-12];
const GROWING: &[u32] = &[1, 2, 2, 3, 4];
/// Options of headers in RedisBloom's layout: of new filters; and of old ones, with hashes of 32
/// bits and rounded sizes. The option that takes the capacity as a number of bits is in none.
const NEW: &[u32] = &[5];
const NEW_FIXED: &[u32] = &[13];
const OLD: &[u32] = &[0, 1, 4, 8, 9, 12];

const fn row(
    name: &'static str,
    shape: Shape,
    capacities: (u64, u64),
    rates: &'static [f64],
    expansions: &'static [u32],
) -> Kind {
    Kind { name, shape, capacities, rates, expansions, has_rounds: false }
}

/// All kinds.
pub const KINDS: [Kind; 27] = [
    row("bloom", Shape::Bloom, (8, 400), RATES, GROWING),
    row("sparse bloom", Shape::Bloom, (20, 200), &[0.01, 0.001], GROWING),
    row("bloom of one item", Shape::Bloom, (1, 4), RATES, &[2, 3, 4]),
    row("large bloom", Shape::Bloom, (2_000, 20_000), RATES, GROWING),
    row("fixed bloom", Shape::Bloom, (1, 3_000), RATES, &[0]),
    row("classic bloom", Shape::ClassicBloom(NEW), (8, 400), RATES, GROWING),
    row("large classic bloom", Shape::ClassicBloom(NEW), (2_000, 20_000), RATES, GROWING),
    row("fixed classic bloom", Shape::ClassicBloom(NEW_FIXED), (1, 3_000), RATES, &[2]),
    row("old classic bloom", Shape::ClassicBloom(OLD), (8, 400), RATES, &[1, 2, 4]),
    row("valkey bloom", VALKEY, (8, 400), RATES, GROWING),
    row("large valkey bloom", VALKEY, (2_000, 20_000), RATES, GROWING),
    row("valkey bloom with the fixed seed", FIXED_SEED, (8, 400), RATES, &[2, 4_294_967_295]),
    row("tightening valkey bloom", TIGHTENING, (8, 400), RATES, GROWING),
    row("fixed valkey bloom", VALKEY, (1, 3_000), RATES, &[0]),
    row("valkey bloom of one item", VALKEY, (1, 1), RATES, GROWING),
    row("time", Shape::Time, (8, 600), RATES, &[1, 2, 3]),
    row("large time", Shape::Time, (2_000, 10_000), RATES, &[0, 1, 2]),
    row("last", Shape::Last, (8, 600), RATES, &[1, 2, 3]),
    row("large last", Shape::Last, (2_000, 8_000), RATES, &[2]),
    row("manual", Shape::Manual, (8, 600), RATES, &[1, 2, 3]),
    row("large manual", Shape::Manual, (2_000, 10_000), RATES, &[0, 1, 2]),
    row("fixed time", Shape::Time, (8, 600), RATES, &[0]),
    row("fixed last", Shape::Last, (8, 600), RATES, &[0]),
    row("cuckoo", Shape::Cuckoo, (1, 600), CUCKOO_RATES, &[1]),
    row("fixed cuckoo", Shape::Cuckoo, (1, 3_000), CUCKOO_RATES, &[0]),
    row("classic cuckoo", Shape::RedisBloomCuckoo, (1, 600), &[0.0], &[1, 1, 2, 4, 32_768]),
    row("fixed classic cuckoo", Shape::RedisBloomCuckoo, (1, 600), &[0.0], &[0]),
];

const VALKEY: Shape = Shape::ValkeyBloom(&[0.5], ValkeySeed::Own);
const FIXED_SEED: Shape = Shape::ValkeyBloom(&[0.5], ValkeySeed::Fixed);
const TIGHTENING: Shape = Shape::ValkeyBloom(&[0.9, 0.85, 0.3, 0.01], ValkeySeed::Own);

const CUCKOO_RATES: &[f64] = &[0.9, 0.25, 0.1, 0.03, 0.01, 0.01, 1e-3, 1e-4, 1e-6];

const fn rounds(
    name: &'static str,
    shape: Shape,
    capacities: (u64, u64),
    rates: &'static [f64],
    expansions: &'static [u32],
) -> Kind {
    Kind { has_rounds: true, ..row(name, shape, capacities, rates, expansions) }
}

/// Kinds that live long: additions and compactions in turn, until growth would end.
pub const LONG_KINDS: [Kind; 5] = [
    rounds("bloom rounds", Shape::Bloom, (100, 1_000), &[0.01, 1e-4, 1e-6, 1e-9], &[1, 2, 4]),
    rounds("large bloom rounds", Shape::Bloom, (20_000, 100_000), &[0.01, 1e-6], &[1, 2, 4]),
    rounds("bloom rounds at the least rate", Shape::Bloom, (10, 3_000), LEAST, &[1, 2]),
    rounds("classic rounds", Shape::ClassicBloom(NEW), (100, 1_000), &[0.01, 1e-6, 1e-9], &[2, 4]),
    rounds("large classic rounds", Shape::ClassicBloom(NEW), (20_000, 100_000), &[0.01], &[1, 2]),
];

/// Near these, additions alone end as well.
const LEAST: &[f64] = &[2e-14, 1e-14, 3e-14, 4e-15];

/// What a filter was created with.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    pub kind: Kind,
    pub capacity: u64,
    pub error_rate: f64,
    /// 0 if the filter does not grow.
    pub expansion: u32,
    pub seed: u64,
    pub window: Option<WindowSpec>,
    pub options: u32,
    pub tightening: f64,
    pub cuckoo: CuckooOptions,
}

impl Numbers {
    pub fn choose(kind: Kind, choices: &mut Choices) -> Self {
        let (least, most) = kind.capacities;
        let capacity = choices.within(least..=most);
        let is_bloom = !matches!(kind.shape, Shape::Cuckoo | Shape::RedisBloomCuckoo);
        let scale =
            if is_bloom && !kind.has_rounds { choices.below(10) as f64 / 16.0 } else { 0.0 };
        let error_rate = choices.of(kind.rates) * (1.0 - scale);
        let expansion = choices.of(kind.expansions);
        let growth = Growth::of(expansion);
        let window = match kind.shape {
            Shape::Time => Some(Window::Time { millis: choices.within(1..=5_000) }),
            Shape::Last => Some(Window::Last),
            Shape::Manual => Some(Window::Manual),
            _ => None,
        };
        let window = window.map(|window| WindowSpec {
            capacity,
            error_rate,
            growth,
            window,
            generations: choices.within(2..=8) as u32,
            refreshes: !choices.one_in(3),
        });
        let options = match kind.shape {
            Shape::ClassicBloom(options) => choices.of(options),
            _ => 0,
        };
        let tightening = match kind.shape {
            Shape::ValkeyBloom(ratios, _) => choices.of(ratios),
            _ => 0.0,
        };
        let cuckoo = match kind.shape {
            Shape::RedisBloomCuckoo => CuckooOptions {
                bucket_size: choices.of(&[1, 2, 2, 3, 4, 5, 8, 16, 17, 255]),
                max_iterations: choices.of(&[1, 2, 3, 20, 20, 500]),
                expansion: expansion as u16,
            },
            _ => CuckooOptions { bucket_size: 2, max_iterations: 20, expansion: expansion as u16 },
        };
        let seed = choices.any();
        Self { kind, capacity, error_rate, expansion, seed, window, options, tightening, cuckoo }
    }

    fn growth(&self) -> Growth {
        Growth::of(self.expansion)
    }

    /// True if items can be deleted.
    pub fn is_cuckoo(&self) -> bool {
        matches!(self.kind.shape, Shape::Cuckoo | Shape::RedisBloomCuckoo)
    }

    /// True if the filter promises its rate. RedisBloom's cuckoo filters have none; in
    /// valkey-bloom's layout the first layer takes the whole rate, and further ones come on top.
    pub fn promises_rate(&self) -> bool {
        self.error_rate > 0.0 && !matches!(self.kind.shape, Shape::ValkeyBloom(..))
    }

    /// True if the filter refuses items when it is full.
    pub fn is_fixed(&self) -> bool {
        self.expansion == 0 || self.options & 8 != 0
    }

    /// An empty filter and its reference model. `None` if the numbers are refused.
    pub fn create(&self, now: u64, limit: u64) -> Option<(Filter, Oracle)> {
        let permit = &mut |demand: Demand| demand.filter_bytes <= limit;
        let Self { capacity, error_rate, seed, options, cuckoo, .. } = *self;
        let spec = Spec { capacity, error_rate, growth: self.growth() };
        match self.kind.shape {
            Shape::Bloom => {
                let filter = AnyFilter::bloomline(spec, seed, permit).ok()?;
                Some((filter.into(), Oracle::Bloom(bloomline::Model::new(spec, seed))))
            }
            Shape::ClassicBloom(_) => {
                let params = RedisBloomParams {
                    options: Options::from_bits(options),
                    expansion: self.expansion,
                };
                let first = if options & 8 == 0 { error_rate * 0.5 } else { error_rate };
                let plan = redisbloom::Plan::new(options, capacity, first);
                let filter = RedisBloomFilter::new(capacity, error_rate, params, permit);
                assert!(plan.is_some() || filter.is_err());
                let layers = vec![redisbloom::ModelLayer::new(plan?)];
                let expansion = self.expansion.into();
                let model = redisbloom::Model { options, expansion, layers };
                Some((filter.ok()?.into(), Oracle::ClassicBloom(model)))
            }
            Shape::ValkeyBloom(_, own) => {
                let seed = match own {
                    ValkeySeed::Fixed => valkey::FIXED_SEED,
                    ValkeySeed::Own => std::array::from_fn(|at| (seed >> (at % 8 * 8)) as u8),
                };
                let Self { expansion, tightening, .. } = *self;
                let model = valkey::Model::new(capacity, error_rate, expansion, tightening, seed);
                let is_random = model.is_random;
                let params = ValkeyParams { expansion, error_rate, tightening, seed, is_random };
                let filter = ValkeyFilter::new(capacity, params, permit).ok()?;
                Some((filter.into(), Oracle::ValkeyBloom(model)))
            }
            Shape::Time | Shape::Last | Shape::Manual => {
                let spec = self.window?;
                let filter = WindowedFilter::new(spec, seed, now, permit).ok()?;
                Some((filter.into(), Oracle::Windowed(windowed::Model::new(spec, seed, now))))
            }
            Shape::Cuckoo => {
                let spec = CuckooSpec { capacity, error_rate, options: cuckoo };
                let filter = AnyCuckoo::bloomline(spec, seed, permit).ok()?;
                let model = bloomline_cuckoo::Model::new(&filter, capacity);
                Some((Filter::Cuckoo(filter), Oracle::Cuckoo(model)))
            }
            Shape::RedisBloomCuckoo => {
                let CuckooOptions { bucket_size, max_iterations, expansion } = cuckoo;
                let filter = AnyCuckoo::redisbloom(capacity, cuckoo, permit).ok()?;
                let model =
                    redisbloom_cuckoo::Model::new(capacity, bucket_size, max_iterations, expansion);
                Some((Filter::Cuckoo(filter), Oracle::RedisBloomCuckoo(model)))
            }
        }
    }
}
