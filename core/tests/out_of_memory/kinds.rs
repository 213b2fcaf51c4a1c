//! One filter of each kind: created, filled, decoded, copied, and filled in batches.

use std::collections::HashSet;
use std::ops::ControlFlow;

use bloomline_core::Error;
use bloomline_core::bloom::redisbloom::geometry::Options;
use bloomline_core::bloom::redisbloom::{RedisBloomFilter, RedisBloomParams};
use bloomline_core::bloom::valkey::ValkeyFilter;
use bloomline_core::bloom::window::{Window, WindowSpec, WindowedFilter};
use bloomline_core::chunk::Bits;
use bloomline_core::host::cuckoo::{AnyCuckoo, CuckooOptions, CuckooSpec};
use bloomline_core::host::valkey::ValkeyParams;
use bloomline_core::host::{AnyFilter, Growth, Spec};
use bloomline_reference::calls::{Calls, CuckooCalls};
use bloomline_reference::life::filter::Filter;

use super::{failing_after, granted, item, live_allocations, retried, until_success};

/// A kind of filter.
pub struct Kind {
    pub name: &'static str,
    create: fn() -> Result<Filter, Error>,
    /// Items that are added one by one.
    pub items: u64,
    /// Further copies of each, which the list of a cuckoo filter takes.
    copies: u64,
    /// The least failures for each layer, table or generation after the first.
    least: u64,
}

const fn kind(name: &'static str, create: fn() -> Result<Filter, Error>, items: u64) -> Kind {
    Kind { name, create, items, copies: 0, least: 2 }
}

/// A new layer or table takes its bits and a longer list. Small windowed filters are one block.
pub const KINDS: [Kind; 21] = [
    kind("a list first", || own(100, 0.01, scaling(2)), 1_000),
    kind("a small layer first", || own(4, 0.01, scaling(2)), 1_000),
    kind("equal layers", || own(4, 1e-9, scaling(1)), 120),
    kind("growing layers", || own(4, 1e-9, scaling(2)), 1_000),
    kind("a large layer", || own(50_000, 1e-6, scaling(3)), 9),
    kind("fixed", || own(100_000, 0.001, Growth::Fixed), 9),
    kind("classic, equal layers", || classic(4, 1e-9, scaling(1)), 120),
    kind("classic, growing layers", || classic(4, 1e-9, scaling(2)), 1_000),
    kind("classic, a large layer", || classic(50_000, 1e-6, scaling(3)), 9),
    kind("classic, fixed", || classic(100_000, 0.001, Growth::Fixed), 9),
    kind("valkey-bloom", || valkey(4), 500),
    Kind { least: 1, ..kind("by time", || windowed(12, TIME, true), 80) },
    Kind { least: 1, ..kind("by count", || windowed(12, Window::Last, true), 80) },
    Kind { least: 1, ..kind("by hand", || windowed(12, Window::Manual, false), 80) },
    // Its pages are zeroed lazily.
    kind("by hand, large", || windowed(3_000_000, Window::Manual, true), 40),
    kind("cuckoo", || cuckoo(10, 0.01), 200),
    Kind { copies: 4, ..kind("cuckoo of one item", || cuckoo(1, 0.25), 200) },
    Kind { copies: 4, ..kind("cuckoo at a low rate", || cuckoo(30, 1e-5), 200) },
    kind("a large cuckoo table", || cuckoo(100_000, 0.01), 9),
    kind("classic cuckoo", || classic_cuckoo(4), 200),
    kind("a large classic cuckoo table", || classic_cuckoo(100_000), 9),
];

const TIME: Window = Window::Time { millis: 1_000 };

const OPTIONS: CuckooOptions = CuckooOptions { bucket_size: 2, max_iterations: 3, expansion: 2 };

pub fn scaling(expansion: u32) -> Growth {
    Growth::Scaling { expansion }
}

pub fn own(capacity: u64, error_rate: f64, growth: Growth) -> Result<Filter, Error> {
    let spec = Spec { capacity, error_rate, growth };
    AnyFilter::bloomline(spec, 7, &mut granted).map(Filter::from)
}

pub fn classic(capacity: u64, error_rate: f64, growth: Growth) -> Result<Filter, Error> {
    let options = Options::of_new_filter(growth == Growth::Fixed);
    let expansion = match growth {
        Growth::Scaling { expansion } => expansion,
        Growth::Fixed => 2,
    };
    let params = RedisBloomParams { options, expansion };
    let filter = RedisBloomFilter::new(capacity, error_rate, params, &mut granted)?;
    AnyFilter::in_box(filter).map(Filter::Bloom)
}

fn valkey(capacity: u64) -> Result<Filter, Error> {
    let (error_rate, tightening, seed) = (1e-6, 0.5, [7; 32]);
    let params = ValkeyParams { expansion: 2, error_rate, tightening, seed, is_random: true };
    let filter = ValkeyFilter::new(capacity, params, &mut granted)?;
    AnyFilter::in_box(filter).map(Filter::Bloom)
}

fn windowed(capacity: u64, window: Window, refreshes: bool) -> Result<Filter, Error> {
    let (error_rate, generations, growth) = (0.001, 3, scaling(1));
    let spec = WindowSpec { capacity, error_rate, growth, window, generations, refreshes };
    WindowedFilter::new(spec, 7, 0, &mut granted).map(Filter::from)
}

pub fn cuckoo(capacity: u64, error_rate: f64) -> Result<Filter, Error> {
    let spec = CuckooSpec { capacity, error_rate, options: OPTIONS };
    AnyCuckoo::bloomline(spec, 7, &mut granted).map(Filter::Cuckoo)
}

fn classic_cuckoo(capacity: u64) -> Result<Filter, Error> {
    AnyCuckoo::redisbloom(capacity, OPTIONS, &mut granted).map(Filter::Cuckoo)
}

pub fn insert(filter: &mut Filter, item: &[u8]) -> Result<(), Error> {
    match filter {
        Filter::Bloom(filter) => filter.insert_item(item, 0, &mut granted).map(drop),
        Filter::Cuckoo(filter) => filter.insert(item, &mut granted),
    }
}

impl Kind {
    /// The filter with its items, after every allocation failed once, and the number of failures
    /// after its creation. Every tenth item a windowed one rotates, if it does so between calls.
    pub fn filled(&self) -> (Filter, u64) {
        let mut filter = (self.create)().expect("memory");
        let mut failures = 0;
        for number in 0..self.items {
            if let Some(window) = filter.windowed().map(|it| it.spec().window)
                && number % 10 == 0
            {
                let rotate = |filter: &mut Filter| {
                    let windowed = filter.windowed_mut().expect("a windowed filter");
                    match window {
                        Window::Manual => windowed.rotate(number, &mut granted),
                        _ => windowed.advance(number * 50, &mut granted).map(drop),
                    }
                };
                failures += retried(&mut filter, Filter::dump, rotate).1;
            }
            // Some items of windowed filters are refreshed.
            let older = filter.windowed().map(|_| number / 2);
            for number in (0..=self.copies).map(|_| number).chain(older) {
                let item = item(number);
                let insert = |filter: &mut Filter| insert(filter, &item);
                failures += retried(&mut filter, Filter::dump, insert).1;
            }
        }
        if let Some(windowed) = filter.windowed_mut() {
            drop(windowed.take_dropped());
        }
        (filter, failures)
    }
}

/// The number of allocations of a filter, as it lists them, each of them once.
pub fn blocks(filter: &Filter) -> u64 {
    let mut blocks = HashSet::new();
    let mut insert = |block| assert!(blocks.insert(block), "a block is listed twice");
    match filter {
        Filter::Bloom(filter) => filter.each_allocation(&mut insert),
        Filter::Cuckoo(filter) => filter.each_allocation(&mut insert),
    }
    blocks.len() as u64
}

#[test]
fn failures_change_nothing_and_leak_nothing() {
    for kind in KINDS {
        let (filter, failures) = until_success(kind.create);
        assert!(filter.len() == 0 && failures >= blocks(&filter), "{}", kind.name);
        let (filter, failures) = kind.filled();
        let parts = match filter.windowed() {
            Some(windowed) => {
                let spec = windowed.spec();
                let has_overflow = filter.parts() > windowed.generations().count() as u32;
                assert!(has_overflow || spec.window == Window::Last || spec.capacity > 100);
                assert!(windowed.first_byte() > 0, "{}", kind.name);
                windowed.number()
            }
            None => u64::from(filter.parts()) - 1,
        };
        assert!(parts > 0 || kind.items < 10, "{} has not grown", kind.name);
        assert!(failures >= kind.least * parts, "{}: {failures} of {parts}", kind.name);
        let is_windowed = filter.windowed().is_some();
        let all = (0..kind.items).all(|number| filter.contains(&item(number), 0));
        assert!(all || is_windowed, "{} lost an item", kind.name);
    }
}

#[test]
fn failed_decoding_and_copying_leak_nothing() {
    for kind in KINDS {
        let (filter, _) = kind.filled();
        let (dump, least) = (filter.dump(), blocks(&filter));
        let (mut decoded, failures) = until_success(|| filter.decode(&dump.header, &mut granted));
        assert!(failures >= least, "{}: {failures}", kind.name);
        for (position, chunk) in &dump.chunks {
            decoded.load(*position, chunk).expect("it fits");
        }
        assert!(decoded.dump() == dump, "{}", kind.name);
        let (copy, failures) = until_success(|| filter.try_copy());
        assert!(failures >= least && copy.dump() == dump, "{}: {failures}", kind.name);
        assert!(filter.dump() == dump, "{}", kind.name);
    }
}

#[test]
fn filters_list_each_of_their_allocations_once() {
    for kind in KINDS {
        let (filter, _) = kind.filled();
        let (count, before) = (blocks(&filter), live_allocations());
        drop(filter);
        assert_eq!(before - live_allocations(), count as i64, "{}", kind.name);
    }
}

/// One allocation of a call fails, each in turn, and the later ones succeed. The filter is then the
/// one to which the acknowledged items were added one by one, and no others.
#[test]
fn batches_write_what_they_acknowledge_and_nothing_else() {
    for kind in KINDS {
        let half = kind.items / 2;
        let mut base = (kind.create)().expect("memory");
        for number in 0..half {
            if let Some(windowed) = base.windowed_mut()
                && windowed.spec().window != Window::Last
                && number % 10 == 9
            {
                windowed.rotate(0, &mut granted).expect("memory");
            }
            insert(&mut base, &item(number)).expect("memory");
        }
        // Some are in the filter already, and some several times in the call: as copies in a cuckoo
        // filter, for which lists grow, also while a table is being doubled.
        let copies = half..kind.items + kind.copies * kind.items;
        let numbers = copies.flat_map(|n| [n % kind.items, n / 3, n / 4 * 4, n / 9]);
        let items: Vec<Vec<u8>> = numbers.map(item).collect();
        let items: Vec<&[u8]> = items.iter().map(Vec::as_slice).collect();
        let is_bloom = matches!(base, Filter::Bloom(_));
        let mut failures = 0;
        for on_refusal in [ControlFlow::Continue(()), ControlFlow::Break(())] {
            for allocations in 0.. {
                let (mut filter, mut expected) = (base.copy(), base.copy());
                let mut outcomes = Vec::with_capacity(items.len());
                let (_, has_failed) = failing_after(allocations, || {
                    insert_each(&mut filter, &items, on_refusal, &mut outcomes)
                });
                let refused = outcomes.iter().position(|is_in| !is_in);
                let last = refused.filter(|_| on_refusal.is_break() && is_bloom);
                assert_eq!(outcomes.len(), last.map_or(items.len(), |last| last + 1));
                for (item, is_in) in items.iter().zip(outcomes) {
                    if is_in {
                        insert(&mut expected, item).expect("memory");
                    }
                }
                let context = (kind.name, on_refusal, allocations);
                assert!(filter.dump() == expected.dump(), "{context:?}");
                if !has_failed {
                    break;
                }
                failures += 1;
            }
        }
        assert!(failures > 0 || kind.items < 50, "{}: no allocation failed", kind.name);
    }
}

/// Inserts items in one call, which goes on or ends after a refusal: true for each that is in the
/// filter now. A call to a cuckoo filter always goes on.
fn insert_each(
    filter: &mut Filter,
    items: &[&[u8]],
    on_refusal: ControlFlow<()>,
    outcomes: &mut Vec<bool>,
) {
    match filter {
        Filter::Bloom(filter) => {
            filter.insert_slice(items, 0, &mut granted, &mut |answer| {
                outcomes.push(answer.is_ok());
                if answer.is_ok() { ControlFlow::Continue(()) } else { on_refusal }
            });
        }
        Filter::Cuckoo(filter) => {
            filter.insert_each(&mut items.iter().copied(), false, &mut granted, &mut |answer| {
                outcomes.push(answer.is_ok());
            });
        }
    }
}
