//! Measured false-positive rates compared with the computed ones: of single layers, and of whole
//! filters as they grow.
//!
//! All items and seeds are fixed, so every run has the same result. A measured rate may differ from
//! the computed one by four standard errors. The standard error is that of the mean over the seeds,
//! because the rates of small filters vary more than the lookups do.

use bloomline_core::Error;
use bloomline_core::bloom::bloomline::geometry::Geometry;
use bloomline_core::bloom::bloomline::rate::fp_rate;
use bloomline_core::chunk::Bits;
use bloomline_core::host::{Filter, Spec};
use bloomline_reference::calls::Calls;
use bloomline_reference::random::Estimate;
use bloomline_reference::rate_of_bits::rate_of_bits;

use crate::filters::{fill_up, fixed, insert, measured, new, scaling};

const ERROR_RATES: [f64; 8] = [0.25, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6];

/// The largest accepted difference in standard errors.
const SIGMAS: f64 = 4.0;

/// Number of blocks from which the computed rate must not be too high either.
const MODEL_IS_TIGHT_FROM: u64 = 16;

/// The relative error that the computed rate may have because it estimates the effect of inserted
/// items compared with random ones.
fn tolerance(error_rate: f64) -> f64 {
    if error_rate > 0.01 { 0.01 } else { 1e-3 }
}

/// A seed without structure.
fn mixed(seed: u64) -> u64 {
    (seed + 1).wrapping_mul(0xd129_0d3b_3f2f_8a6b)
}

/// The geometry of a full layer, the mean of its rate over `seeds` seeds, and the computed rate.
fn rates_when_full(capacity: u64, error_rate: f64, seeds: u64) -> (Geometry, Estimate, f64) {
    let one = |seed| {
        let mut filter = new(fixed(capacity, error_rate), mixed(seed));
        let mut items = fill_up(&mut filter, 1, 0)..;
        let refusal =
            items.find_map(|item| filter.insert_item(&item.to_le_bytes(), 0, &mut |_| true).err());
        assert_eq!(refusal, Some(Error::Full(filter.capacity())));
        rate_of_bits(filter.layers().next().unwrap())
    };
    let measured = Estimate::of(&(0..seeds).map(one).collect::<Vec<_>>());
    let geometry = Geometry::first(capacity, error_rate).unwrap();
    (geometry, measured, fp_rate(&geometry, capacity))
}

/// The measured rate of a layer is the computed one, up to `tolerance` relative to it.
fn assert_equals_computed(
    case: &str,
    geometry: &Geometry,
    measured: Estimate,
    computed: f64,
    tolerance: f64,
) {
    let margin = SIGMAS * measured.error + tolerance * computed;
    let case = format!("{case}: {measured}, computed {computed:e}");
    assert!(measured.mean <= computed + margin, "the model is too low: {case}");
    if geometry.blocks() >= MODEL_IS_TIGHT_FROM {
        assert!(measured.mean >= computed - margin, "the model is too high: {case}");
    }
}

fn assert_has_computed_rate(capacity: u64, error_rate: f64, seeds: u64) {
    let (geometry, measured, computed) = rates_when_full(capacity, error_rate, seeds);
    let case = format!("{capacity} items at {error_rate:e}");
    assert!(computed <= error_rate, "{case}: {computed:e}");
    assert_equals_computed(&case, &geometry, measured, computed, tolerance(error_rate));
}

#[test]
fn full_layers_to_1000_items_have_their_computed_rate() {
    for error_rate in ERROR_RATES {
        for capacity in [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000] {
            let seeds = (200_000 / capacity).clamp(200, 10_000);
            assert_has_computed_rate(capacity, error_rate, seeds);
        }
    }
}

#[test]
fn small_layers_of_every_capacity_have_their_computed_rate() {
    let mut sizes = std::collections::BTreeSet::new();
    for error_rate in [0.25, 0.05, 0.005, 5e-4, 1e-6] {
        for capacity in 1..=400 {
            let geometry = Geometry::first(capacity, error_rate).unwrap();
            if geometry.is_small() {
                sizes.insert(geometry.sectors());
                assert_has_computed_rate(capacity, error_rate, 200);
            }
        }
    }
    assert!(sizes.into_iter().eq((4..=12).step_by(2).chain((16..=64).step_by(4))));
}

#[test]
fn large_full_layers_have_their_computed_rate() {
    for error_rate in ERROR_RATES {
        for (capacity, seeds) in [(10_000, 60), (100_000, 16), (1_000_000, 6)] {
            assert_has_computed_rate(capacity, error_rate, seeds);
        }
    }
    for error_rate in [0.01, 1e-4] {
        assert_has_computed_rate(10_000_000, error_rate, 3);
    }
}

/// By how much the rate of a layer of four blocks per item may exceed the computed one, relative to
/// it: the expansion in the covariance ends after the second order.
fn excess(blocks: u64, computed: f64) -> f64 {
    let [down_to_1e_9, down_to_1e_12, below] =
        if blocks <= 64 { [0.02, 0.07, 0.2] } else { [0.007, 0.02, 0.03] };
    match computed {
        1e-9.. => down_to_1e_9,
        1e-12.. => down_to_1e_12,
        _ => below,
    }
}

#[test]
fn layers_of_four_blocks_have_the_stated_rate_down_to_1e_15() {
    let small = [1e-8, 1e-10, 1e-12, 1e-15]
        .into_iter()
        .flat_map(|error_rate| [42, 70, 100, 150, 300].map(|capacity| (capacity, error_rate)));
    let large = [(1_000, 1e-15), (10_000, 1e-12), (100_000, 1e-8), (100_000, 1e-13)];
    for (capacity, error_rate) in small.chain(large) {
        let seeds = (400_000 / capacity).clamp(8, 2_000);
        let (geometry, measured, computed) = rates_when_full(capacity, error_rate, seeds);
        let (excess, margin) = (excess(geometry.blocks(), computed), SIGMAS * measured.error);
        let case = format!("{capacity} items at {error_rate:e}: {measured}, computed {computed:e}");
        let measured = measured.mean;
        assert_eq!(geometry.blocks_per_item(), 4, "{case}");
        assert!(measured <= (1.0 + excess) * computed + margin, "{case}");
        assert!(measured >= 0.998 * computed - margin, "{case}");
        // Whole pages leave no slack; a layer of one page has more slack than the model has error.
        let slack = if geometry.pages() > 1 { excess } else { 0.0 };
        assert!(measured <= (1.0 + slack) * error_rate + margin, "{case}");
    }
}

#[test]
fn lookups_agree_with_the_bits() {
    // `rate_of_bits` assumes an ideal hash; lookups use the real one.
    for (error_rate, capacity, lookups) in [
        (0.25, 1_000, 1_000_000),
        (0.1, 10_000, 1_000_000),
        (0.01, 100, 2_000_000),
        (0.01, 1_000_000, 2_000_000),
        (1e-3, 1_000, 4_000_000),
        (1e-3, 1_000_000, 4_000_000),
        (1e-4, 100_000, 10_000_000),
        (1e-5, 100_000, 30_000_000),
    ] {
        let mut filter = new(fixed(capacity, error_rate), mixed(42));
        insert(&mut filter, 0..capacity);
        let of_bits = rate_of_bits(filter.layers().next().unwrap());
        let found = measured(&filter, lookups, 42).mean;
        let error = (of_bits * (1.0 - of_bits) / lookups as f64).sqrt();
        let case = format!(
            "{capacity} items at {error_rate:e}: bits {of_bits:e}, lookups {found:e} +- {error:e}"
        );
        assert!((found - of_bits).abs() <= SIGMAS * error, "{case}");
    }
}

#[test]
fn rate_of_fill_agrees_with_the_bits() {
    for error_rate in [0.25, 0.1, 0.01, 1e-3, 1e-4] {
        for (capacity, items) in [(100_000, 50_000), (100_000, 100_000), (1_000, 1_000)] {
            let (mut ratios, seeds) = (Vec::new(), 2_000_000 / capacity);
            for seed in 0..seeds {
                let mut filter = new(fixed(capacity, error_rate), mixed(seed));
                insert(&mut filter, 0..items);
                let layer = filter.layers().next().unwrap();
                ratios.push(layer.by_fill(4096).rate / rate_of_bits(layer));
            }
            let Estimate { mean: ratio, error } = Estimate::of(&ratios);
            assert!(
                (ratio - 1.0).abs() <= 0.02 + SIGMAS * error,
                "{items} of {capacity} at {error_rate:e}: {ratio} +- {error}"
            );
        }
    }
    let mut filter = new(fixed(100, 0.01), mixed(0));
    let rate = |filter: &Filter| filter.layers().next().unwrap().by_fill(4096).rate;
    assert_eq!(rate(&filter), 0.0);
    filter.write_chunk(0, &[0xff; 128]).unwrap();
    assert_eq!(rate(&filter), 1.0);
}

/// Compares the measured rate of every full layer of a growing filter with its target rate and with
/// its computed rate.
fn assert_layers_have_computed_rates(spec: Spec, layers: u32, seeds: u64) {
    let mut rates = vec![Vec::new(); layers as usize];
    let mut last = None;
    for seed in 0..seeds {
        let mut filter = new(spec, mixed(seed));
        fill_up(&mut filter, layers, 0);
        for (rates, layer) in rates.iter_mut().zip(filter.layers()) {
            rates.push(rate_of_bits(layer));
        }
        last = Some(filter);
    }
    let filter = last.unwrap();
    for (((index, rates), layer), target) in
        rates.iter().enumerate().zip(filter.layers()).zip(filter.layer_errors())
    {
        let measured = Estimate::of(rates);
        let computed = layer.fp_rate(layer.capacity());
        let case = format!("{spec:?}, layer {index}, target {target:e}");
        let margin = SIGMAS * measured.error + 0.01 * computed;
        assert!(measured.mean <= target + margin, "{case}: {measured}");
        assert_equals_computed(&case, layer.geometry(), measured, computed, 0.01);
    }
}

#[test]
fn full_layers_of_growing_filters_have_their_computed_rate() {
    for error_rate in [0.25, 0.1, 0.03, 0.01, 0.001] {
        for (capacity, expansion, layers, seeds) in
            [(100, 2, 8, 60), (1_000, 1, 20, 40), (1_000, 4, 4, 20), (20_000, 2, 3, 16)]
        {
            let spec = scaling(capacity, error_rate, expansion);
            assert_layers_have_computed_rates(spec, layers, seeds);
        }
    }
}

/// Measures the rate of a growing filter with several seeds, each time that it has the next number
/// of layers in `steps` and the newest one is full. Compares it with the computed rate.
fn assert_grows_with_computed_rate(spec: Spec, steps: &[u32], seeds: u64, lookups: u64) {
    let mut filters: Vec<(Filter, u64)> =
        (0..seeds).map(|seed| (new(spec, mixed(seed)), 0)).collect();
    for &layers in steps {
        let mut rates = Vec::new();
        for (filter, next) in &mut filters {
            *next = fill_up(filter, layers, *next);
            assert_eq!(filter.layer_count(), layers);
            rates.push(measured(filter, lookups, *next).mean);
        }
        let computed = filters[0].0.fp_rate();
        let Estimate { mean: measured, error: between } = Estimate::of(&rates);
        // The rates of six seeds may happen to vary less than the number of lookups allows.
        let error = between.max((computed / (lookups * seeds) as f64).sqrt());
        let case = format!("{layers} layers: {measured:e} +- {error:e}, computed {computed:e}");
        assert!(computed <= spec.error_rate, "{case}");
        assert!(measured <= computed + SIGMAS * error, "the model is too low: {case}");
        // The computed rate is the sum over the layers, but an item that two layers report as
        // present is one false positive.
        assert!(
            measured >= computed * (1.0 - computed) - SIGMAS * error,
            "the model is too high: {case}"
        );
    }
}

#[test]
fn growing_filters_have_their_computed_rate() {
    let each: Vec<u32> = (1..=14).collect();
    for (spec, steps, lookups) in [
        (scaling(100, 0.01, 2), &each[..], 400_000),
        (scaling(100, 0.01, 1), &[1, 10, 50, 100, 200], 200_000),
        (scaling(100, 0.25, 2), &[1, 11], 200_000),
    ] {
        assert_grows_with_computed_rate(spec, steps, 6, lookups);
    }
}
