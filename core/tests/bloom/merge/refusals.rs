//! Unions that are refused: each with its error, and nothing has changed.

use bloomline_core::Error;
use bloomline_core::bloom::window::WindowedFilter;
use bloomline_core::error::Parameter;
use bloomline_core::host::valkey::{FIXED_SEED, ValkeyFilter, ValkeyParams};
use bloomline_core::host::{AnyFilter, Spec};

use crate::window::kinds;

use crate::filters::{
    SEED, any, classic, clone, copied, fixed, insert, new, scaling, state, with_options,
};

/// The error of a union, which leaves the filter as it was.
fn refusal(filter: &AnyFilter, others: &[&AnyFilter]) -> Error {
    let (mut union, before) = (clone(filter), state(filter));
    let error = union.union(others, &mut |_| true).expect_err("a union that is refused");
    assert!(state(&union) == before, "{error}");
    error
}

fn own(spec: Spec) -> AnyFilter {
    new(spec, SEED).into()
}

#[test]
fn each_parameter_that_differs_is_named() {
    let spec = scaling(100, 0.01, 2);
    for (filter, other, parameter) in [
        (own(spec), classic(spec).into(), Parameter::Layout),
        (own(spec), new(spec, SEED + 1).into(), Parameter::Seed),
        (own(spec), own(scaling(101, 0.01, 2)), Parameter::Capacity),
        (own(spec), own(scaling(100, 0.02, 2)), Parameter::ErrorRate),
        (own(spec), own(scaling(100, 0.01, 3)), Parameter::Expansion),
        (own(spec), own(fixed(100, 0.01)), Parameter::Expansion),
        (classic(spec).into(), classic(scaling(110, 0.01, 2)).into(), Parameter::Capacity),
        (classic(spec).into(), classic(scaling(100, 0.02, 2)).into(), Parameter::ErrorRate),
        (classic(spec).into(), classic(scaling(100, 0.01, 3)).into(), Parameter::Expansion),
        (classic(spec).into(), classic(fixed(100, 0.01)).into(), Parameter::Expansion),
        (classic(spec).into(), with_options(1, 100, 0.01).into(), Parameter::Options),
        (classic(spec).into(), with_options(4, 100, 0.01).into(), Parameter::Options),
    ] {
        assert_eq!(refusal(&filter, &[&other]), Error::Differs(parameter));
        assert_eq!(refusal(&filter, &[&clone(&filter), &other]), Error::Differs(parameter));
        assert!(matches!(refusal(&other, &[&filter]), Error::Differs(_)));
    }
}

#[test]
fn filters_of_other_kinds_are_neither_merged_nor_compacted() {
    let plain = own(scaling(100, 0.01, 2));
    let params = ValkeyParams {
        expansion: 2,
        error_rate: 0.01,
        tightening: 0.5,
        seed: FIXED_SEED,
        is_random: false,
    };
    let valkey = AnyFilter::from(ValkeyFilter::new(100, params, &mut |_| true).unwrap());
    let windowed =
        |spec| AnyFilter::from(WindowedFilter::new(spec, SEED, 0, &mut |_| true).unwrap());
    let windowed = kinds().map(|spec| (windowed(spec), Error::Windowed));
    for (mut filter, error) in windowed.into_iter().chain([(valkey, Error::OfValkeyBloom)]) {
        let copy = clone(&filter);
        for others in [&[][..], &[&copy], &[&plain]] {
            assert_eq!(refusal(&filter, others), error);
        }
        assert_eq!(refusal(&plain, &[&plain, &filter]), error);
        assert_eq!(plain.check_union(&[&filter]), Err(error));
        assert_eq!(filter.check_union(&[]), Err(error));
        assert_eq!(filter.compact(), Err(error));
        assert!(state(&filter) == state(&copy));
    }
}

#[test]
fn folded_layer_is_not_merged_with_one_of_another_size() {
    let mut folded = new(scaling(50_000, 0.01, 2), SEED);
    insert(&mut folded, 0..5_000);
    let whole = any(&folded);
    assert!(folded.compact() > 0);
    let folded = any(&folded);
    let layer = Error::Differs(Parameter::Layer(0));
    assert_eq!(refusal(&folded, &[&whole]), layer);
    assert_eq!(refusal(&whole, &[&folded]), layer);
}

#[test]
fn union_above_the_target_rate_is_refused_with_both_numbers() {
    for spec in [fixed(10_000, 0.01), scaling(10_000, 0.01, 2)] {
        let (mut one, mut other) = (new(spec, SEED), new(spec, SEED));
        insert(&mut one, 0..9_000);
        insert(&mut other, 20_000..29_000);
        let error = refusal(&any(&one), &[&any(&other)]);
        let Error::RateExceeded { rate, target } = error else { panic!("{error}") };
        // That of 18,000 items, less those that are false positives when they are added.
        let expected = one.layers().next().unwrap().fp_rate(18_000);
        assert_eq!(target, 0.01);
        assert!((0.9..1.0).contains(&(rate / expected)), "{rate} for {expected}");
    }
}

#[test]
fn older_layers_above_their_capacity_are_refused() {
    let spec = scaling(1_000, 0.1, 4);
    let (mut one, mut other) = (new(spec, SEED), new(spec, SEED));
    insert(&mut one, 0..40);
    insert(&mut other, 5_000..6_100);
    assert_eq!(other.layer_count(), 2);
    let error = refusal(&any(&one), &[&any(&other)]);
    let Error::LayerFull { layer, items, capacity } = error else { panic!("{error}") };
    assert_eq!((layer, capacity), (0, 1_000));
    assert!((1_030..=1_040).contains(&items), "{items}");
}

#[test]
fn overfull_layer_is_not_followed_by_layers_of_others() {
    // The copied layers would not be those that follow from the larger capacity.
    let spec = scaling(1_000, 0.1, 2);
    let (mut one, mut other) = (new(spec, SEED), new(spec, SEED));
    insert(&mut one, 0..550);
    insert(&mut other, 550..1_100);
    let mut overfull = any(&one);
    assert_eq!(overfull.union(&[&any(&other)], &mut |_| true), Ok(true));
    assert!(overfull.capacity() > 1_000);
    // All its items in the first layer are in the other one too.
    let mut grown = new(spec, SEED);
    insert(&mut grown, 0..1_100);
    insert(&mut grown, 2_000..2_300);
    assert_eq!(grown.layer_count(), 2);
    let error = refusal(&overfull, &[&any(&grown)]);
    assert_eq!(error, Error::Differs(Parameter::Layer(0)));
    assert_eq!(refusal(&any(&grown), &[&overfull]), error);
    copied(&overfull);
}
