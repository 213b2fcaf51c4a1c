//! Windowed filters: compaction of older generations, and unions of equal opening times.

use bloomline_core::Error;
use bloomline_core::error::Parameter;
use bloomline_core::host::{AnyFilter, Growth};
use bloomline_core::window::{Window, WindowSpec, WindowedFilter};
use bloomline_reference::random::Random;

use super::{SEED, copied, state};

fn spec(capacity: u64, error_rate: f64, generations: u32) -> WindowSpec {
    let (growth, window) = (Growth::Scaling { expansion: 2 }, Window::Manual);
    WindowSpec { capacity, error_rate, growth, window, generations, refreshes: true }
}

fn new(spec: WindowSpec) -> AnyFilter {
    WindowedFilter::new(spec, SEED, 0, &mut |_| true).unwrap().into()
}

fn ring(filter: &AnyFilter) -> &WindowedFilter {
    filter.windowed().unwrap()
}

fn rotate(filter: &mut AnyFilter, now: u64) {
    filter.windowed_mut().unwrap().rotate(now, &mut |_| true).unwrap();
}

fn insert(filter: &mut AnyFilter, items: impl IntoIterator<Item = u64>) {
    for item in items {
        filter.insert(&item.to_le_bytes(), &mut |_| true).unwrap();
    }
}

fn clone(filter: &AnyFilter) -> AnyFilter {
    filter.try_clone(&mut |_| true).unwrap()
}

fn assert_finds(filter: &AnyFilter, items: impl IntoIterator<Item = u64>) {
    for item in items {
        assert!(filter.contains(&item.to_le_bytes(), 0), "item {item} is missing");
    }
}

/// A ring of all its generations, with so many items in each, a multiple of 1,000,000 apart.
fn filled(spec: WindowSpec, counts: &[u64]) -> AnyFilter {
    let mut filter = new(spec);
    for (&count, index) in counts.iter().zip(0..) {
        if index > 0 {
            rotate(&mut filter, index * 100);
        }
        insert(&mut filter, index * 1_000_000..index * 1_000_000 + count);
    }
    filter
}

/// Bytes of the layers of each generation.
fn bytes(filter: &AnyFilter) -> Vec<u64> {
    let generations = ring(filter).generations();
    generations.map(|(_, it)| it.layers().map(|layer| layer.words().bytes()).sum()).collect()
}

#[test]
fn older_generations_fold_and_the_newest_never() {
    for (error_rate, counts) in
        [(0.01, [100, 5_000, 900, 0, 30]), (1e-6, [2_000, 1, 9_000, 400, 0])]
    {
        let mut filter = filled(spec(40_000, error_rate, 4), &counts);
        let (before, size, len) = (bytes(&filter), filter.size_bytes(), filter.len());
        let end = filter.first_byte() + before.iter().sum::<u64>();
        let freed = filter.compact();
        let after = bytes(&filter);
        assert_eq!((size - filter.size_bytes(), filter.len()), (freed, len));
        assert_eq!(before[4], after[4], "the newest");
        for (index, &count) in counts.iter().enumerate().take(4) {
            let is_folded = after[index] < before[index];
            assert_eq!(is_folded, count < 9_000, "{before:?} {after:?}");
        }
        assert_eq!(filter.first_byte(), end);
        for (count, index) in counts.into_iter().zip(0..) {
            assert_finds(&filter, index * 1_000_000..index * 1_000_000 + count);
        }
        assert!(ring(&filter).fp_rate() <= error_rate);
        assert_measured(&filter, error_rate);
        copied(&filter);
        let before = state(&filter);
        assert_eq!(filter.compact(), 0);
        assert!(state(&filter) == before);
    }
}

/// The measured rate of absent items is within the target.
fn assert_measured(filter: &AnyFilter, error_rate: f64) {
    let lookups = (400.0 / error_rate).min(400_000.0) as u64;
    let absent = (1 << 40)..(1 << 40) + lookups;
    let hits = absent.filter(|item| filter.contains(&item.to_le_bytes(), 0)).count() as f64;
    let mean = lookups as f64 * error_rate;
    assert!(hits <= mean + 4.0 * mean.sqrt() + 1.0, "{hits} hits, at most {mean}");
}

#[test]
fn overflow_layers_of_older_generations_fold() {
    let mut filter = filled(spec(4_000, 0.01, 4), &[1_000, 4_000, 500, 2_100, 100]);
    let layers = filter.layer_count();
    assert!(layers > 6, "{filter:?}");
    let before = bytes(&filter);
    assert!(filter.compact() > 0);
    let after = bytes(&filter);
    assert!(after[1] < before[1] || after[3] < before[3], "{before:?} {after:?}");
    assert_eq!(filter.layer_count(), layers);
    copied(&filter);
    assert_finds(&filter, 1_000_000..1_004_000);
    assert!(ring(&filter).fp_rate() <= 0.01);
    assert_measured(&filter, 0.01);
}

#[test]
fn generations_of_equal_opening_times_are_joined() {
    for seed in 0..10 {
        let mut random = Random::new(seed);
        let ring_spec = spec(2_000, [0.01, 1e-5][seed as usize % 2], 4);
        let count = 2 + random.below(4) as usize;
        let mut parts: Vec<AnyFilter> = (0..count).map(|_| new(ring_spec)).collect();
        let mut all = new(ring_spec);
        for generation in 0..5 + seed {
            if generation > 0 {
                parts.iter_mut().chain([&mut all]).for_each(|it| rotate(it, generation * 100));
            }
            for item in generation * 1_000..generation * 1_000 + random.below(400) {
                insert(&mut all, [item]);
                for _ in 0..=random.below(2) {
                    insert(&mut parts[random.below(count as u64) as usize], [item]);
                }
            }
        }
        let (mut union, others) = (clone(&parts[0]), parts[1..].iter().collect::<Vec<_>>());
        assert_eq!(union.union(&others, &mut |_| true), Ok(true));
        assert!(state(&union).1 == state(&all).1, "{union:?}");
        assert_eq!(ring(&union).generation_count(), 5);
        let most: u64 = parts.iter().map(AnyFilter::len).sum();
        assert!(parts.iter().all(|part| part.len() <= union.len()));
        assert!(union.len() as f64 <= most as f64 + union.estimate().standard_error());
        let margin = 5.0 * union.estimate().standard_error().max(1.0) + 5.0;
        assert!((union.len() as f64 - all.len() as f64).abs() < margin, "{union:?} {all:?}");
        copied(&union);
    }
}

#[test]
fn generation_that_the_destination_lacks_is_refused() {
    let (filter, mut other) = (filled(spec(400, 0.01, 4), &[10, 20]), new(spec(400, 0.01, 4)));
    rotate(&mut other, 101);
    let (mut joined, before) = (clone(&filter), state(&filter));
    let refused = joined.union(&[&filter, &other], &mut |_| true);
    assert_eq!(refused, Err(Error::Differs(Parameter::Generation(101))));
    assert!(state(&joined) == before);
    // A compacted generation has another size.
    let mut filter = filled(spec(40_000, 0.01, 4), &[10, 20]);
    let (whole, mut compacted) = (clone(&filter), clone(&filter));
    assert!(compacted.compact() > 0);
    let refused = filter.union(&[&compacted], &mut |_| true);
    assert_eq!(refused, Err(Error::Differs(Parameter::Generation(0))));
    assert!(state(&filter) == state(&whole));
}

#[test]
fn overflow_layers_of_one_side_are_taken() {
    let early = filled(spec(400, 0.01, 4), &[30, 60]);
    let mut late = clone(&early);
    insert(&mut late, 1_000_060..1_000_350);
    assert!(late.layer_count() > early.layer_count());
    let mut filter = clone(&early);
    let refused = filter.union(&[&late], &mut |_| false);
    assert!(matches!(refused, Err(Error::Refused(_))) && state(&filter) == state(&early));
    let mut demands = Vec::new();
    let grant = &mut |demand: bloomline_core::host::Demand| {
        demands.push(demand.filter_bytes);
        true
    };
    assert_eq!(filter.union(&[&late, &early], grant), Ok(true));
    assert_eq!(demands, [late.size_bytes()]);
    assert!(state(&filter) == state(&late));
    assert_eq!(late.union(&[&early, &filter], &mut |_| unreachable!()), Ok(false));
    copied(&filter);
}

/// Sources with a burst in different generations, and an empty filter of the same generations.
fn bursts() -> (AnyFilter, Vec<AnyFilter>) {
    let mut filter = new(spec(400, 0.01, 4));
    let mut sources: Vec<AnyFilter> = (0..5).map(|_| clone(&filter)).collect();
    for generation in 0..5u64 {
        for (source, index) in sources.iter_mut().zip(0..) {
            if index == generation {
                insert(source, generation * 1_000..generation * 1_000 + 300);
            }
            rotate(source, generation + 1);
        }
        rotate(&mut filter, generation + 1);
    }
    (filter, sources)
}

#[test]
fn bursts_of_several_generations_are_one_demand() {
    let (empty, sources) = bursts();
    let others: Vec<&AnyFilter> = sources.iter().collect();
    let (mut union, mut demands) = (clone(&empty), Vec::new());
    let grant = &mut |demand: bloomline_core::host::Demand| {
        demands.push(demand.filter_bytes);
        true
    };
    assert_eq!(union.union(&others, grant), Ok(true));
    assert_eq!(demands, [union.size_bytes()]);
    assert!(union.size_bytes() > sources.iter().map(AnyFilter::size_bytes).max().unwrap());
    let (mut refused, most) = (clone(&empty), union.size_bytes() - 1);
    let result = refused.union(&others, &mut |demand| demand.filter_bytes <= most);
    assert_eq!(result, Err(Error::Refused(union.size_bytes())));
    assert!(state(&refused) == state(&empty));
}

/// A forged filter whose bits nearly end at the highest offset has no room for the overflow layers
/// of all generations, although it has for those of one.
#[test]
fn union_never_ends_behind_the_highest_offset() {
    let (empty, sources) = bursts();
    let others: Vec<&AnyFilter> = sources.iter().collect();
    let bits = |filter: &AnyFilter| bytes(filter).iter().sum::<u64>();
    let mut whole = clone(&empty);
    whole.union(&others, &mut |_| true).unwrap();
    // Older generations grow, so the bits move behind all earlier offsets.
    let needed = bits(&whole);
    for (room, fits) in [(0, false), (64, false), (needed - 64, false), (needed, true)] {
        let mut header = empty.encode_header();
        let first_byte = (1u64 << 62) - bits(&empty) - room;
        header[64..72].copy_from_slice(&first_byte.to_le_bytes());
        let mut filter = AnyFilter::decode_header(&header, &mut |_| true).unwrap();
        let result = filter.union(&others, &mut |_| true);
        assert_eq!(result.is_ok(), fits, "{room} bytes of room: {result:?}");
        assert_eq!(filter.check(), Ok(()), "{room} bytes of room");
    }
}

#[test]
fn new_layers_of_older_generations_move_the_bits() {
    let plain = filled(spec(400, 0.01, 4), &[30, 60, 20]);
    let end = |filter: &AnyFilter| filter.first_byte() + bytes(filter).iter().sum::<u64>();
    for (counts, is_moved) in [
        ([350, 60, 20], true),
        ([30, 350, 20], true),
        ([30, 60, 350], false),
        ([30, 60, 20], false),
    ] {
        let (mut filter, other) = (clone(&plain), filled(spec(400, 0.01, 4), &counts));
        assert!(filter.union(&[&other], &mut |_| true).is_ok());
        assert_eq!(bytes(&filter), bytes(&other));
        assert_eq!(filter.first_byte(), if is_moved { end(&plain) } else { 0 }, "{counts:?}");
        copied(&filter);
        // What has all layers is not moved again.
        let first = filter.first_byte();
        assert!(filter.union(&[&other], &mut |_| true).is_ok());
        assert_eq!(filter.first_byte(), first);
    }
}

#[test]
fn generation_above_its_capacity_is_refused() {
    let ring_spec = spec(4_000, 0.01, 4);
    let (mut one, mut other) = (new(ring_spec), new(ring_spec));
    insert(&mut one, 0..900);
    insert(&mut other, 2_000..2_800);
    let before = state(&one);
    let error = one.union(&[&other], &mut |_| true).expect_err("a full generation");
    let Error::RateExceeded { rate, target } = error else { panic!("{error}") };
    assert!(rate > target, "{error}");
    assert!(state(&one) == before);
}
