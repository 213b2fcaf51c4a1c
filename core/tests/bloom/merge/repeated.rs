//! Merging small parts into one filter, again and again until it is full: neither does the count
//! fall behind, nor does the rate rise above the target.

use bloomline_core::Error;
use bloomline_core::host::AnyFilter;

use crate::filters::{SEED, classic, clone, copied, fixed, insert, measured, new, scaling};

/// Merges parts of `per` new items, at most `most` parts, into copies of an empty filter until one
/// is refused. The filter, and the number of items in it.
fn filled(empty: &AnyFilter, per: u64, first: u64, most: u64) -> (AnyFilter, u64) {
    let (mut filter, mut items) = (clone(empty), 0);
    for _ in 0..most {
        let mut part = clone(empty);
        insert(&mut part, first + items..first + items + per);
        match filter.union(&[&part], &mut |_| true) {
            Ok(_) => items += per,
            Err(Error::RateExceeded { .. } | Error::LayerFull { .. }) => break,
            Err(other) => panic!("{other}"),
        }
    }
    (filter, items)
}

#[test]
fn counts_keep_up_and_rates_stay_within_the_target() {
    for (empty, per, filters) in [
        (AnyFilter::from(new(fixed(2_000, 0.01), SEED)), 1, 24u32),
        (AnyFilter::from(classic(fixed(2_000, 0.01))), 1, 24),
        (AnyFilter::from(new(fixed(2_000, 0.01), SEED)), 7, 24),
        (AnyFilter::from(new(fixed(20_000, 1e-3), SEED)), 5, 6),
        (AnyFilter::from(classic(fixed(20_000, 1e-3))), 5, 6),
        (AnyFilter::from(new(fixed(20_000, 1e-3), SEED)), 160, 12),
        (AnyFilter::from(new(scaling(3_000, 0.02, 2), SEED)), 2, 12),
        (AnyFilter::from(classic(scaling(3_000, 0.02, 2))), 2, 12),
    ] {
        let (mut rates, mut differences) = (0.0, 0.0);
        let count = f64::from(filters);
        for index in 0..filters {
            let (filter, items) = filled(&empty, per, u64::from(index) << 32, u64::MAX);
            let estimate = filter.estimate_at(0);
            let error = estimate.standard_error();
            let (len, case) = (filter.len() as f64, format!("{filter:?} of {items}, {estimate:?}"));
            // A difference from the estimate is what was cut, or what was exact at the beginning.
            assert!(
                len >= estimate.items * (1.0 - 0.6 * filter.error_rate()) - 3.0 * error,
                "{case}"
            );
            assert!((len - items as f64).abs() <= 5.0 * error, "{case}");
            differences += (len - items as f64) / error / count;
            let target = filter.error_rate();
            rates += measured(&filter, (2_000.0 / target) as u64, 3).mean / target / count;
            copied(&filter);
        }
        let case = format!("{empty:?} by {per}: {rates:.3} of the target, {differences:.2} errors");
        println!("{case}");
        // The rates of single filters differ by 3 %.
        assert!(rates <= 1.01 + 3.0 * 0.04 / count.sqrt(), "{case}");
        assert!(differences.abs() <= 1.0 + 4.0 / count.sqrt(), "{case}");
    }
}

#[test]
fn counts_keep_up_in_filters_of_which_some_pages_are_counted() {
    // More than 16 MiB.
    for empty in [
        AnyFilter::from(new(fixed(14_000_000, 1e-3), SEED)),
        classic(fixed(10_000_000, 1e-3)).into(),
    ] {
        assert!(empty.size_bytes() > 17 << 20);
        for (per, parts) in [(1, 60), (100, 60)] {
            let (filter, items) = filled(&empty, per, 0, parts);
            let difference = filter.len().abs_diff(items);
            assert!(difference <= 1 + items / 50, "{filter:?} of {items}");
        }
    }
}
