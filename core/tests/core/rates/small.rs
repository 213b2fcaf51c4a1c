//! False-positive rates from 1e-6 down to 1e-15, which direct lookups cannot resolve.
//!
//! There are two estimators. Both are unbiased, and each makes other assumptions:
//!
//! | estimator | averages over | assumes | resolves |
//! |---|---|---|---|
//! | [`rate_of_bits`] | all lookups of a filled layer | independent patterns of blocks | any rate |
//! | [`split`] | lookups and items, by splitting | uniform hashes | any rate |
//!
//! The first is precise to about 1 %, since only the items are drawn. What it assumes is tested by
//! the second, which uses the library's own derivation of patterns, strides, and bits, with
//! standard errors of 5 to 20 %. Direct lookups confirm the second at 1e-3 to 1e-5, and the first
//! in
//! `computed.rs`.
//!
//! A filter cannot distinguish items with equal 64-bit hashes. Neither estimator includes
//! this, so `n / 2^64` is added.
//!
//! Every comparison allows four standard errors (`SIGMAS`), which a normally distributed estimate
//! exceeds once in 16,000 times. Seeds are fixed. `BLOOMLINE_RATE_EFFORT=20` multiplies the samples
//! by 20, and all results are printed with `--nocapture`.

use bloomline_core::batch::contains_spot;
use bloomline_core::bloomline::geometry::Geometry;
use bloomline_core::bloomline::hash::item_hash;
use bloomline_core::bloomline::rate::fp_rate;
use bloomline_core::host::{Filter, Growth, Spec};
use bloomline_core::layer::{Layer, Probe};
use bloomline_core::simd::Scalar;
use bloomline_reference::random::{Estimate, Random, effort};
use bloomline_reference::rate_of_bits::rate_of_bits;
use bloomline_reference::splitting::{bits_of, blocks_of, hash_of, split};

const SIGMAS: f64 = 4.0;

/// Probability that two items have equal hashes.
const COLLISION: f64 = 1.0 / (1u128 << 64) as f64;

/// The margin for cancellation in the computed rate; see `rate`.
const CANCELLATION: f64 = 1.0 / (1u64 << 43) as f64;

/// By how much the measured rate may exceed the computed one, relative to it: the table of
/// [`fp_rate`].
fn model_error(geometry: &Geometry, computed: f64) -> f64 {
    let [down_to_1e_9, down_to_1e_12, below] = match (geometry.blocks_per_item(), geometry.blocks())
    {
        (..4, _) => [0.0; 3],
        (_, ..=64) => [0.02, 0.07, 0.2],
        _ => [0.007, 0.02, 0.03],
    };
    match computed {
        1e-9.. => down_to_1e_9,
        1e-12.. => down_to_1e_12,
        _ => below,
    }
}

/// A filter of one layer after `capacity` attempted insertions. At these rates nearly all items are
/// new.
fn filled(capacity: u64, error_rate: f64, seed: u64) -> Filter {
    let spec = Spec { capacity, error_rate, growth: Growth::Fixed };
    let mut filter = Filter::new(spec, Random::new(seed).next(), &mut |_| true).unwrap();
    insert(&mut filter, 0..capacity);
    filter
}

fn insert(filter: &mut Filter, items: std::ops::Range<u64>) {
    let items: Vec<[u8; 8]> = items.map(u64::to_le_bytes).collect();
    filter.insert_batch(items.iter().map(|item| &item[..]), &mut |_| true, |answer| {
        answer.unwrap();
    });
}

/// The mean of [`rate_of_bits`] over full layers, with about `items` items together.
fn measured_by_bits(capacity: u64, error_rate: f64, items: u64) -> Estimate {
    let seeds = (items * effort() / capacity).clamp(8, 1_000_000);
    let rate = |seed| rate_of_bits(filled(capacity, error_rate, seed).layers().next().unwrap());
    let rates: Vec<f64> = (0..seeds).map(rate).collect();
    Estimate::of(&rates)
}

/// The mean of `runs` runs of [`split`], times the effort.
fn measured_by_splitting(capacity: u64, error_rate: f64, runs: u64) -> Estimate {
    let geometry = Geometry::new(capacity, error_rate).unwrap();
    let run = |seed| split(geometry, capacity, &mut Random::new(seed));
    let rates: Vec<f64> = (1..=runs * effort()).map(run).collect();
    Estimate::of(&rates)
}

/// Compares a layer's measured rate, without equal hashes, with the computed one and with the
/// target rate.
fn assert_is_as_computed(geometry: &Geometry, capacity: u64, target: f64, measured: Estimate) {
    let computed = fp_rate(geometry, capacity);
    let rate = measured.mean + capacity as f64 * COLLISION;
    let (margin, excess) = (SIGMAS * measured.error, model_error(geometry, computed));
    let (blocks, per_item) = (geometry.blocks(), geometry.blocks_per_item());
    let case = format!(
        "{capacity} items at {target:.3e}, {per_item} of {blocks} blocks: measured {rate:.3e} \
         +- {:.1e}, computed {computed:.3e}, ratio {:.3}, of the target {:.3}",
        measured.error,
        rate / computed,
        rate / target,
    );
    println!("{case}");
    assert!(computed <= target, "{case}");
    assert!(rate <= computed * (1.0 + excess) + margin, "the model is too low: {case}");
    let rounding = if per_item == 1 { CANCELLATION } else { 0.0 };
    assert!(rate >= computed * 0.998 - rounding - margin, "the model is too high: {case}");
    // Whole pages leave no slack; a layer of one page has more slack than the model has error.
    let allowed = if geometry.pages() > 1 { target * (1.0 + excess) } else { target };
    assert!(rate <= allowed + margin, "more than the target rate: {case}");
}

#[test]
fn full_layers_have_their_computed_rate_down_to_1e_15() {
    let capacities =
        [2, 4, 7, 10, 15, 20, 30, 40, 50, 71, 100, 150, 300, 1_000, 2_000, 10_000, 100_000];
    for target in [1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15] {
        for capacity in capacities {
            let Ok(geometry) = Geometry::new(capacity, target) else { continue };
            let measured = measured_by_bits(capacity, target, 200_000);
            assert_is_as_computed(&geometry, capacity, target, measured);
        }
    }
}

#[test]
fn layers_at_the_limits_of_the_model_keep_small_rates() {
    // Of all capacities, those whose computed rate is closest to the target rate.
    for (capacity, target) in [
        (117, 8.7e-8),
        (89, 8.2e-10),
        (64, 9.4e-13),
        (52, 9.8e-15),
        (310, 1e-7),
        (156, 9.8e-15),
        (1_145, 1.7e-9),
        (962, 5.9e-11),
        (1_031, 3.1e-13),
        (1_022, 2.2e-14),
        // Of all small layers, those for which the computed rate has the largest error.
        (81, 1e-8),
        (61, 1e-11),
        (135, 1e-11),
        (89, 1e-15),
        (42, 1e-15),
    ] {
        let geometry = Geometry::new(capacity, target).unwrap();
        let measured = measured_by_bits(capacity, target, 400_000);
        assert_is_as_computed(&geometry, capacity, target, measured);
    }
}

#[test]
fn large_layers_exceed_target_rates_by_at_most_3_percent() {
    for (capacity, target) in
        [(10_000, 1e-12), (1_000_000, 1e-8), (1_000_000, 1e-10), (1_000_000, 1e-13)]
    {
        let geometry = Geometry::new(capacity, target).unwrap();
        let measured = measured_by_bits(capacity, target, 4_000_000);
        assert_is_as_computed(&geometry, capacity, target, measured);
    }
}

#[test]
fn growing_filters_stay_below_small_target_rates() {
    for (error_rate, seeds) in [(1e-7, 40), (1e-9, 40), (1e-11, 40), (2e-13, 40)] {
        let spec = Spec { capacity: 100, error_rate, growth: Growth::Scaling { expansion: 2 } };
        let mut rates = vec![Vec::new(); 9];
        let mut filter = None;
        for seed in 0..seeds * effort() {
            let mut growing = Filter::new(spec, Random::new(seed).next(), &mut |_| true).unwrap();
            let mut next = 0;
            while growing.layer_count() < 9 || growing.room() > 0 {
                let end = next + growing.room().max(1);
                insert(&mut growing, next..end);
                next = end;
            }
            for (rates, layer) in rates.iter_mut().zip(growing.layers()) {
                rates.push(rate_of_bits(layer));
            }
            filter = Some(growing);
        }
        let filter = filter.unwrap();
        let layers = filter.layers().zip(filter.layer_errors());
        let (mut sum, mut variance) = (filter.len() as f64 * COLLISION, 0.0);
        for (rates, (layer, target)) in rates.iter().zip(layers) {
            let measured = Estimate::of(rates);
            assert_is_as_computed(layer.geometry(), layer.capacity(), target, measured);
            (sum, variance) = (sum + measured.mean, variance + measured.error.powi(2));
        }
        let (computed, error) = (filter.fp_rate(), variance.sqrt());
        println!("9 layers at {error_rate:e}: {sum:.3e} +- {error:.1e}, computed {computed:.3e}");
        assert!(sum + SIGMAS * error <= error_rate, "{error_rate:e}: {sum:e} +- {error:e}");
    }
}

#[test]
fn splitting_agrees_with_direct_lookups() {
    for (capacity, error_rate, lookups) in
        [(300, 1e-3, 20_000), (300, 1e-4, 60_000), (300, 1e-5, 200_000)]
    {
        let geometry = Geometry::new(capacity, error_rate).unwrap();
        let mut random = Random::new(5);
        let mut direct = Vec::new();
        for seed in 0..64 * effort() {
            // Nearly every item is inserted, as in `split`. The block hash of a lookup is random,
            // and its pattern is derived from it.
            let filter = filled(capacity, error_rate, seed);
            let layer = filter.layers().next().unwrap();
            let hits = (0..lookups)
                .filter(|_| contains_spot(layer, Scalar, &layer.locate(&hash_of(random.next()))))
                .count();
            direct.push(hits as f64 / lookups as f64);
        }
        let (direct, found) =
            (Estimate::of(&direct), measured_by_splitting(capacity, error_rate, 8));
        let (blocks, z) = (geometry.blocks_per_item(), found.z_score(direct));
        let case = format!(
            "{capacity} items at {error_rate:e}, {blocks} blocks: direct {direct}, split {found}, z {z:.2}"
        );
        println!("{case}");
        assert!(z.abs() <= SIGMAS, "{case}");
    }
}

#[test]
fn splitting_agrees_with_the_bits_down_to_1e_15() {
    for (capacity, error_rate, runs) in [
        (5, 1e-6, 400),
        (20, 1e-8, 100),
        (30, 1e-8, 48),
        (50, 1e-8, 24),
        (100, 1e-11, 24),
        (71, 1e-15, 32),
        (300, 1e-15, 10),
        (2_000, 1e-15, 8),
        (100_000, 1e-12, 8),
    ] {
        let geometry = Geometry::new(capacity, error_rate).unwrap();
        let of_bits = measured_by_bits(capacity, error_rate, 400_000);
        let found = measured_by_splitting(capacity, error_rate, runs);
        let (blocks, of, z) =
            (geometry.blocks_per_item(), geometry.blocks(), found.z_score(of_bits));
        let case = format!(
            "{capacity} items at {error_rate:e}, {blocks} of {of} blocks: bits {of_bits}, \
             split {found}, z {z:.2}"
        );
        println!("{case}");
        assert!(z.abs() <= SIGMAS, "{case}");
        assert!(
            found.mean <= error_rate + SIGMAS * found.error,
            "more than the target rate: {case}"
        );
    }
}

#[test]
fn splitting_sets_the_same_bits_as_the_library() {
    for (capacity, error_rate) in [(1, 1e-3), (20, 1e-8), (30, 1e-8), (100, 1e-15), (10_000, 1e-12)]
    {
        for seed in 0..200 {
            let spec = Spec { capacity, error_rate, growth: Growth::Fixed };
            let mut filter = Filter::new(spec, seed, &mut |_| true).unwrap();
            filter.insert(b"an item", &mut |_| true).unwrap();
            let layer = filter.layers().next().unwrap();
            let hash = item_hash(b"an item", seed);
            assert_eq!(hash_of(hash.place), hash);
            let mut blocks = vec![[0; 8]; layer.geometry().blocks() as usize];
            for (block, pattern) in blocks_of(hash, layer.geometry()) {
                blocks[block] = bits_of(pattern, *layer.geometry());
            }
            assert_eq!(blocks.as_flattened(), layer.words().as_slice());
        }
    }
}
