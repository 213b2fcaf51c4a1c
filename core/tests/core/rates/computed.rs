//! Measured rates of false positives beside the computed ones: single layers, and whole filters as
//! they grow.
//!
//! All keys and seeds are fixed, so nothing here can fail one day and pass the next. A measured
//! rate may stand four standard errors from the computed one; the error is that of the mean over
//! the seeds, since small filters differ among themselves by more than the lookups do.

use bloomline_core::bloomline::geometry::Geometry;
use bloomline_core::bloomline::rate::fp_rate;
use bloomline_core::layer::Layer;
use bloomline_core::{Error, Filter, Growth, Spec};
use bloomline_reference::rate_of_bits::rate_of_bits;

const ERROR_RATES: [f64; 7] = [0.25, 0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6];

/// How many standard errors a measurement may be off.
const SIGMAS: f64 = 4.0;

/// Lines from which the computed rate may not be too high either.
const MODEL_IS_TIGHT_FROM: u64 = 16;

/// How far off the computed rate may be, as a share of it, since it estimates how many items were
/// offered of which so many were counted.
fn uncounted(error_rate: f64) -> f64 {
    if error_rate > 0.01 { 0.01 } else { 1e-3 }
}

fn fixed(capacity: u64, error_rate: f64, seed: u64) -> Filter {
    let spec = Spec { capacity, error_rate, growth: Growth::Fixed };
    Filter::new(spec, mixed(seed), &mut |_| true).unwrap()
}

/// Seeds of no structure.
fn mixed(seed: u64) -> u64 {
    (seed + 1).wrapping_mul(0xd129_0d3b_3f2f_8a6b)
}

/// Offers the items `from..to`; what the filter seems to have sets no bit anyway.
fn offer(filter: &mut Filter, items: std::ops::Range<u64>) {
    let items: Vec<[u8; 8]> = items.map(u64::to_le_bytes).collect();
    filter.insert_batch(items.iter().map(|item| &item[..]), &mut |_| true, |answer| {
        answer.unwrap();
    });
}

/// Offers new items until there is room for none, however many seem to be there; with how many were
/// offered.
///
/// A fixed filter has refused one then.
fn fill(filter: &mut Filter) -> u64 {
    let mut offered = 0;
    while filter.room() > 0 {
        let end = offered + filter.room();
        offer(filter, offered..end);
        offered = end;
    }
    if filter.spec().growth == Growth::Fixed {
        let refusal =
            (offered..).find_map(|item| filter.insert(&item.to_le_bytes(), &mut |_| true).err());
        assert_eq!(refusal, Some(Error::Full(filter.capacity())));
    }
    offered
}

/// Share of `lookups` items that were never added and seem present all the same.
fn looked_up(filter: &Filter, lookups: u64) -> f64 {
    let mut hits = 0u64;
    for call in (0..lookups).step_by(100_000) {
        let items = call..(call + 100_000).min(lookups);
        let items: Vec<[u8; 8]> = items.map(|item| (u64::MAX - item).to_le_bytes()).collect();
        filter.contains_batch(items.iter().map(|item| &item[..]), |present| {
            hits += u64::from(present)
        });
    }
    hits as f64 / lookups as f64
}

/// Mean and its standard error.
fn mean(rates: &[f64]) -> (f64, f64) {
    let n = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / n;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// The rate of a layer that is full, that is, counts as many items as it has capacity for; over so
/// many seeds.
fn measured_when_full(capacity: u64, error_rate: f64, seeds: u64) -> (Geometry, f64, f64) {
    let mut rates = Vec::new();
    for seed in 0..seeds {
        let mut filter = fixed(capacity, error_rate, seed);
        fill(&mut filter);
        rates.push(rate_of_bits(filter.layers().next().unwrap()));
    }
    let (mean, error) = mean(&rates);
    (Geometry::new(capacity, error_rate).unwrap(), mean, error)
}

fn the_computed_rate_is_the_measured_one(capacity: u64, error_rate: f64, seeds: u64) {
    let (geometry, measured, error) = measured_when_full(capacity, error_rate, seeds);
    let computed = fp_rate(&geometry, capacity);
    let case = format!(
        "{capacity} items at {error_rate:e}: {measured:e} +- {error:e}, computed {computed:e}"
    );
    assert!(computed <= error_rate, "{case}");
    let margin = SIGMAS * error + uncounted(error_rate) * computed;
    assert!(measured <= computed + margin, "the model is too low: {case}");
    if geometry.blocks() >= MODEL_IS_TIGHT_FROM {
        assert!(measured >= computed - margin, "the model is too high: {case}");
    }
}

#[test]
fn a_full_layer_of_up_to_a_thousand_items_has_its_computed_rate() {
    for error_rate in ERROR_RATES {
        for capacity in [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000] {
            let seeds = (200_000 / capacity).clamp(200, 10_000);
            the_computed_rate_is_the_measured_one(capacity, error_rate, seeds);
        }
    }
}

#[test]
fn a_full_layer_of_ten_thousand_to_a_million_items_has_its_computed_rate() {
    for error_rate in ERROR_RATES {
        for (capacity, seeds) in [(10_000, 60), (100_000, 16), (1_000_000, 6)] {
            the_computed_rate_is_the_measured_one(capacity, error_rate, seeds);
        }
    }
}

#[test]
fn a_full_layer_of_ten_million_items_has_its_computed_rate() {
    for error_rate in [0.01, 1e-4] {
        the_computed_rate_is_the_measured_one(10_000_000, error_rate, 3);
    }
}

#[test]
fn below_1e_6_small_layers_of_four_lines_stay_under_the_rate_asked_for_though_the_model_is_a_little_low()
 {
    // The expansion in the covariance of four lines ends after the second order. That shows where a
    // page is not much larger than an item. `core_small_rates` goes down to 1e-15.
    for error_rate in [1e-8, 1e-10, 1e-12] {
        for capacity in [30, 50, 70, 100, 150, 200, 300, 1_000] {
            let (geometry, measured, error) = measured_when_full(capacity, error_rate, 2_000);
            let computed = fp_rate(&geometry, capacity);
            let case = format!(
                "{capacity} items at {error_rate:e}: {measured:e} +- {error:e}, computed {computed:e}"
            );
            assert!(measured + SIGMAS * error <= error_rate, "{case}");
            assert!(measured <= 1.15 * computed + SIGMAS * error, "{case}");
        }
    }
}

#[test]
fn lookups_find_the_rate_that_the_bits_have() {
    // The bits' rate supposes an ideal hash; this is the real one.
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
        let mut filter = fixed(capacity, error_rate, 42);
        offer(&mut filter, 0..capacity);
        let of_bits = rate_of_bits(filter.layers().next().unwrap());
        let found = looked_up(&filter, lookups);
        let error = (of_bits * (1.0 - of_bits) / lookups as f64).sqrt();
        let case = format!(
            "{capacity} items at {error_rate:e}: bits {of_bits:e}, lookups {found:e} +- {error:e}"
        );
        assert!((found - of_bits).abs() <= SIGMAS * error, "{case}");
    }
}

#[test]
fn a_fixed_filter_that_says_it_is_full_has_the_rate_asked_for_and_not_more() {
    // What seems present is not counted, so more items are offered than there is capacity for: at
    // 0.25 a sixth more.
    for error_rate in [0.25, 0.1, 0.03, 0.01, 0.001] {
        for (capacity, seeds) in [(1_000, 400), (100_000, 24)] {
            let (_, measured, error) = measured_when_full(capacity, error_rate, seeds);
            let case = format!("{capacity} items at {error_rate}: {measured} +- {error}");
            assert!(
                measured <= error_rate * (1.0 + uncounted(error_rate)) + SIGMAS * error,
                "{case}"
            );
            the_computed_rate_is_the_measured_one(capacity, error_rate, seeds);
        }
    }
}

#[test]
fn the_rate_computed_from_the_bits_that_are_set_is_that_of_the_bits() {
    for error_rate in [0.25, 0.1, 0.01, 1e-3, 1e-4] {
        for (capacity, items) in [(100_000, 50_000), (100_000, 100_000), (1_000, 1_000)] {
            let (mut ratios, seeds) = (Vec::new(), 2_000_000 / capacity);
            for seed in 0..seeds {
                let mut filter = fixed(capacity, error_rate, seed);
                offer(&mut filter, 0..items);
                let layer = filter.layers().next().unwrap();
                ratios.push(layer.fp_rate_of_fill(layer.words().fill(4096)) / rate_of_bits(layer));
            }
            let (ratio, error) = mean(&ratios);
            assert!(
                (ratio - 1.0).abs() <= 0.02 + SIGMAS * error,
                "{items} of {capacity} at {error_rate:e}: {ratio} +- {error}"
            );
        }
    }
    let full = fixed(100, 0.01, 0);
    let layer = full.layers().next().unwrap();
    assert_eq!((layer.fp_rate_of_fill(0.0), layer.fp_rate_of_fill(1.0)), (0.0, 1.0));
}

/// Compares every layer of a growing filter, each full, with its share of the error rate and with
/// its computed rate.
fn all_layers_have_their_computed_rates(spec: Spec, layers: u32, seeds: u64) {
    let mut rates = vec![Vec::new(); layers as usize];
    let mut last = None;
    for seed in 0..seeds {
        let mut filter = Filter::new(spec, mixed(seed), &mut |_| true).unwrap();
        let mut next = 0;
        while filter.layer_count() < layers || filter.room() > 0 {
            let end = next + filter.room().max(1);
            offer(&mut filter, next..end);
            next = end;
        }
        for (rates, layer) in rates.iter_mut().zip(filter.layers()) {
            rates.push(rate_of_bits(layer));
        }
        last = Some(filter);
    }
    let filter = last.unwrap();
    for (((index, rates), layer), asked) in
        rates.iter().enumerate().zip(filter.layers()).zip(filter.layer_errors())
    {
        let (measured, error) = mean(rates);
        let computed = layer.fp_rate(layer.capacity());
        let case = format!(
            "{spec:?}, layer {index}: {measured:e} +- {error:e}, computed {computed:e}, asked {asked:e}"
        );
        let margin = SIGMAS * error + 0.01 * computed;
        assert!(measured <= asked.min(computed) + margin, "the model is too low: {case}");
        if layer.geometry().blocks() >= MODEL_IS_TIGHT_FROM {
            assert!(measured >= computed - margin, "the model is too high: {case}");
        }
    }
}

#[test]
fn every_full_layer_of_a_growing_filter_has_its_computed_rate() {
    for error_rate in [0.25, 0.1, 0.03, 0.01, 0.001] {
        for (capacity, expansion, layers, seeds) in
            [(100, 2, 8, 60), (1_000, 1, 20, 40), (1_000, 4, 4, 20), (20_000, 2, 3, 16)]
        {
            let spec = Spec { capacity, error_rate, growth: Growth::Scaling { expansion } };
            all_layers_have_their_computed_rates(spec, layers, seeds);
        }
    }
}

/// Measures a growing filter over several seeds whenever its newest layer is full, and compares
/// with what it computes.
fn a_growing_filter_has_its_computed_rate(spec: Spec, steps: &[u32], seeds: u64, lookups: u64) {
    let mut filters: Vec<Filter> = Vec::new();
    for seed in 0..seeds {
        filters.push(Filter::new(spec, mixed(seed), &mut |_| true).unwrap());
    }
    let mut next_item = vec![0u64; filters.len()];
    for &layers in steps {
        let mut rates = Vec::new();
        for (filter, next) in filters.iter_mut().zip(&mut next_item) {
            while filter.layer_count() < layers || filter.room() > 0 {
                let end = *next + filter.room().max(1);
                offer(filter, *next..end);
                *next = end;
            }
            assert_eq!(filter.layer_count(), layers);
            rates.push(looked_up(filter, lookups));
        }
        let computed = filters[0].fp_rate();
        let (measured, between) = mean(&rates);
        // Six seeds may lie closer together by luck than the lookups allow.
        let error = between.max((computed / (lookups * seeds) as f64).sqrt());
        let case = format!("{layers} layers: {measured:e} +- {error:e}, computed {computed:e}");
        assert!(computed <= spec.error_rate, "{case}");
        assert!(measured <= computed + SIGMAS * error, "the model is too low: {case}");
        // The computed rate adds up the layers'; an item that two layers have is one false
        // positive.
        assert!(
            measured >= computed * (1.0 - computed) - SIGMAS * error,
            "the model is too high: {case}"
        );
    }
}

#[test]
fn a_filter_that_grew_thirteen_times_from_a_hundred_items_has_its_computed_rate_after_every_step() {
    let spec = Spec { capacity: 100, error_rate: 0.01, growth: Growth::Scaling { expansion: 2 } };
    let steps: Vec<u32> = (1..=14).collect();
    a_growing_filter_has_its_computed_rate(spec, &steps, 6, 400_000);
}

#[test]
fn a_filter_of_two_hundred_layers_of_one_size_has_its_computed_rate() {
    let spec = Spec { capacity: 100, error_rate: 0.01, growth: Growth::Scaling { expansion: 1 } };
    a_growing_filter_has_its_computed_rate(spec, &[1, 10, 50, 100, 200], 6, 200_000);
}

#[test]
fn a_growing_filter_at_the_largest_error_rate_stays_under_it() {
    let spec = Spec { capacity: 100, error_rate: 0.25, growth: Growth::Scaling { expansion: 2 } };
    for seed in 0..6 {
        let mut filter = Filter::new(spec, mixed(seed), &mut |_| true).unwrap();
        offer(&mut filter, 0..200_000);
        let (asked, measured) = (spec.error_rate, looked_up(&filter, 200_000));
        assert!(measured <= asked, "{} layers: {measured}", filter.layer_count());
    }
}
