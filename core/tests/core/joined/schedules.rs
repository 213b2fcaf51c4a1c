//! Schedules of additions and compactions: rates, layers and sizes. The rounds of
//! `bloomline_reference::life` check growth.

use bloomline_core::compact::Compact;
use bloomline_core::host::{Filter, Layer, Revision, ScalableFilter};

use super::{any, classic, copied, insert, new, scaling, state};

/// How many items the batch of a round has.
#[derive(Clone, Copy, Debug)]
enum Batches {
    Equal(u64),
    /// Each is 3 thousandths larger than the one before, from ten items on.
    Growing,
}

impl Batches {
    fn len(self, round: u32) -> u64 {
        match self {
            Self::Equal(items) => items,
            Self::Growing => (10.0 * 1.003f64.powi(round as i32)) as u64,
        }
    }
}

/// Adds a batch and compacts, again and again. No item is refused.
fn run<L: Compact>(
    mut filter: ScalableFilter<L>,
    batches: Batches,
    rounds: u32,
) -> ScalableFilter<L> {
    let mut next = 0;
    for round in 0..rounds {
        let end = next + batches.len(round);
        insert(&mut filter, next..end);
        next = end;
        filter.compact();
    }
    filter
}

/// The filter of the same items that is compacted once, at the end.
fn once<L: Compact>(mut filter: ScalableFilter<L>, items: u64) -> ScalableFilter<L> {
    insert(&mut filter, 0..items);
    filter.compact();
    filter
}

fn bits_per_item<L: Layer>(filter: &ScalableFilter<L>) -> f64 {
    let bytes: u64 = filter.layers().map(|layer| layer.words().bytes()).sum();
    bytes as f64 * 8.0 / filter.len().max(1) as f64
}

/// The rate of the filter when all its layers are full, divided by its target rate.
fn full_rate<L: Layer>(filter: &ScalableFilter<L>, target: f64) -> f64 {
    filter.layers().map(|layer| layer.fp_rate(layer.capacity())).sum::<f64>() / target
}

/// What a schedule may cost beside one compaction at the end.
struct Bounds {
    /// The rate of the full filter, divided by the target rate.
    rate: f64,
    /// By how much the capacity of all layers grows with each layer, at least.
    step: f64,
    /// Times the bits per item.
    size: f64,
}

/// Runs a schedule and checks it. Returns the bits per item as a part of what they may be.
fn assert_schedule<L: Compact>(
    create: impl Fn() -> ScalableFilter<L>,
    target: f64,
    (batches, rounds): (Batches, u32),
    bounds: &Bounds,
) -> f64 {
    let filter = run(create(), batches, rounds);
    let alone = once(create(), (0..rounds).map(|round| batches.len(round)).sum());
    let case = format!("{:?} at {target} {batches:?} {filter:?}, {alone:?}", L::LAYOUT);
    let full = full_rate(&filter, target);
    assert!(full <= bounds.rate, "{case}: {full} of the target rate");
    let more = (filter.capacity() as f64).ln() / bounds.step.ln();
    let most = f64::from(alone.layer_count()) + more;
    assert!(f64::from(filter.layer_count()) <= most, "{case}: more than {most} layers");
    let ratio = bits_per_item(&filter) / bits_per_item(&alone);
    println!("{ratio:.2} {case}");
    if ratio > bounds.size {
        println!("too large: {case}");
    }
    ratio / bounds.size
}

/// The schedules for a capacity and an expansion: batches, and rounds. The longest ones are not run
/// for all of them, since the test would take minutes.
fn schedules(capacity: u64, expansion: u32) -> Vec<(Batches, u32)> {
    let mut all = vec![(Batches::Equal(1), 2_000)];
    if expansion > 1 || capacity > 1_000 {
        all.push((Batches::Equal(100), 2_000));
    }
    if matches!((capacity, expansion), (100, 4) | (1_000, 2) | (100_000, _)) {
        all.extend([(Batches::Equal(1_000), 2_000), (Batches::Growing, 1_500)]);
    }
    all
}

/// Sizes cannot all be 1.5 times that of one compaction at the end. That one has a single layer at
/// half of the target rate, 7.6 bits per item by the logarithm of the rate at 1 %. Layers of a
/// quarter of all older ones have a 26th of what is left of the rate, and the newest has room.
#[test]
#[ignore = "takes a minute: make test-all"]
fn schedules_keep_rate_layers_and_size() {
    let mut is_small = true;
    for (error_rate, size) in [(1e-9, 1.7), (1e-6, 1.75), (1e-4, 1.65), (0.01, 2.35)] {
        let bounds = Bounds { rate: 1.0 + 1e-9, step: 1.25, size };
        let mut worst = 0.0f64;
        for capacity in [100, 1_000, 100_000] {
            for expansion in [1, 2, 4] {
                for schedule in schedules(capacity, expansion) {
                    let create = || new(scaling(capacity, error_rate, expansion), 7);
                    worst = worst.max(assert_schedule(create, error_rate, schedule, &bounds));
                }
            }
        }
        println!("worst at {error_rate}: {worst:.2} of {size}");
        is_small &= worst <= 1.0;
    }
    assert!(is_small, "too many bits per item");
}

#[test]
#[ignore = "takes a minute: make test-all"]
fn schedules_keep_rate_layers_and_size_in_redisbloom_layout() {
    let mut is_small = true;
    for (error_rate, size) in [(1e-9, 1.6), (1e-6, 1.6), (1e-4, 2.2), (0.01, 2.6)] {
        let mut worst = 0.0f64;
        for capacity in [100, 1_000, 100_000] {
            for expansion in [1, 2, 4] {
                for schedule in schedules(capacity, expansion) {
                    let create = || classic(scaling(capacity, error_rate, expansion));
                    // A link of four times the last one may have no divisor to be folded by.
                    let size = if expansion > 2 { 2.0 * size } else { size };
                    // The number of hashes is rounded up.
                    let bounds = Bounds { rate: 1.06, step: 2.0, size };
                    worst = worst.max(assert_schedule(create, error_rate, schedule, &bounds));
                }
            }
        }
        println!("worst at {error_rate}: {worst:.2} of {size}");
        is_small &= worst <= 1.0;
    }
    assert!(is_small, "too many bits per item");
}

#[test]
fn hourly_batches_leave_few_layers() {
    let spec = scaling(100_000, 0.01, 2);
    let filter = run(new(spec, 7), Batches::Equal(1_000), 60);
    println!("{} bits per item, {filter:?}", bits_per_item(&filter));
    assert!(filter.layer_count() <= 14 && bits_per_item(&filter) <= 25.0, "{filter:?}");
    let filter = run(classic(spec), Batches::Equal(1_000), 60);
    println!("{} bits per item, {filter:?}", bits_per_item(&filter));
    assert!(filter.layer_count() <= 8 && bits_per_item(&filter) <= 32.0, "{filter:?}");
}

#[test]
fn a_link_that_is_followed_by_equal_ones_stays_as_it_is() {
    let mut filter = classic(scaling(100_000, 1e-3, 1));
    insert(&mut filter, 0..500);
    assert_eq!(filter.compact(), 0);
}

#[test]
fn filters_that_the_first_revision_compacted_go_on_growing() {
    let spec = scaling(1_000, 1e-6, 2);
    let mut filter = new(spec, 7);
    for round in 0..60 {
        insert(&mut filter, round * 1_500..(round + 1) * 1_500);
        filter.compact_by(Revision::First);
    }
    let layers = filter.layer_count();
    assert!(layers > 40 && filter.encode_header()[72..80] == [0; 8], "{filter:?}");
    // It is loaded as it was written.
    copied(&any(&filter));
    for round in 60..160 {
        insert(&mut filter, round * 1_500..(round + 1) * 1_500);
        filter.compact();
    }
    assert!(filter.layer_count() < layers + 20, "{filter:?}");
    assert!(full_rate(&filter, 1e-6) <= 1.0 + 1e-9);
    copied(&any(&filter));
}

#[test]
fn further_layers_have_the_reserved_capacity() {
    let spec = scaling(50_000, 1e-3, 1);
    let mut filter = new(spec, 7);
    insert(&mut filter, 0..3_000);
    assert!(filter.compact() > 0);
    let room = filter.room();
    insert(&mut filter, 3_000..3_000 + room + 100);
    let newest = filter.layers().next_back().map(Layer::capacity);
    assert_eq!((filter.layer_count(), newest), (2, Some(50_000)));
    let errors: Vec<f64> = filter.layer_errors().collect();
    assert!(errors[1] < 1e-3 / 2.0 && errors[1] > 1e-3 / 6.0, "{errors:?}");
    assert!(filter.fp_rate() <= 1e-3);
}

/// The bits of the newest layer after one compaction are those of the first revision.
#[test]
fn first_compaction_is_as_tight_as_before() {
    for spec in [scaling(100_000, 0.01, 2), scaling(2_000, 1e-6, 2), scaling(5_000, 1e-3, 1)] {
        for items in [900, 3_000, 17_000, 60_000] {
            let create = || -> Filter {
                let mut filter = new(spec, 7);
                insert(&mut filter, 0..items);
                filter
            };
            let (mut one, mut other) = (create(), create());
            assert_eq!(one.compact_by(Revision::First), other.compact(), "{spec:?} {items}");
            assert!(state(&any(&one)).1 == state(&any(&other)).1, "{spec:?} {items}");
            assert_eq!(one.capacity(), other.capacity());
        }
    }
}
