//! The table of rates in docs/how-to/choosing.md is what the program prints, and the measured rates
//! agree with the formula. The core's tests check what `fp_rate` may be (`rates/spread.rs`).

use std::path::Path;

use bloomline_core::bloom::window::{Window, WindowSpec, WindowedFilter};
use bloomline_core::host::{AnyFilter, Growth, Spec};
use bloomline_tools::rates;

use crate::pages;

#[test]
fn full_filters_are_shown_and_keep_the_target_rate() {
    let table = rates::layouts().expect("filters");
    let page = pages::read(Path::new("docs/how-to/choosing.md"));
    assert!(page.contains(&table), "the page does not show this table:\n{table}");
    for row in table.lines().skip(2) {
        let cells = row.split('|').filter_map(|cell| cell.trim().parse().ok());
        let cells: Vec<f64> = cells.collect();
        let (target, computed, measured) = (cells[0], cells[5], cells[6]);
        assert!(computed <= target * 1.001 && measured <= target * 1.05, "{row}");
    }
}

#[test]
fn both_pages_have_the_same_limit_of_fp_rate() {
    const LIMIT: &str = "error_rate * (1.1 + 2 * sqrt(log2(1 / error_rate) / items))";
    for (page, start) in [
        ("docs/reference/commands/bf.info.md", "fp_rate <="),
        ("docs/how-to/monitoring.md", "fp_rate >"),
    ] {
        assert!(pages::read(Path::new(page)).contains(&format!("{start} {LIMIT}")), "{page}");
    }
}

/// Asserts that two numbers are equal but for rounding.
fn assert_near(got: f64, expected: f64) {
    assert!((got - expected).abs() <= expected * 1e-9, "{got} is not {expected}");
}

/// The formulas of docs/explanation/math.md, "Merged filters".
#[test]
fn estimates_are_computed_as_the_page_describes() {
    let growth = Growth::Scaling { expansion: 2 };
    let spec = Spec { capacity: 400, error_rate: 0.25, growth };
    let own = AnyFilter::bloomline(spec, 7, &mut |_| true).expect("a filter");
    let classic = AnyFilter::redisbloom(spec, 2, &mut |_| true).expect("a filter");
    for mut filter in [own, classic] {
        for item in 0..2000u32 {
            filter.insert(&item.to_le_bytes(), 0, &mut |_| true).expect("an item");
        }
        let is_own = filter.seed().is_some();
        let (mut sum, mut variance, mut written) = (0.0, 0.0, 1.0);
        let numbers = filter.layer_numbers().into_iter();
        for ((layer, fill), rate) in numbers.zip(filter.fills()).zip(filter.fp_rates()) {
            let (m, hashes) = (layer.bits as f64, f64::from(layer.hashes));
            // The bits of an item of RedisBloom's layout are items of one bit.
            let k = if is_own { hashes } else { 1.0 };
            let items = (1.0 - fill).ln() / (1.0 - k / m).ln();
            let a = k * items / m;
            let v = m * (a.exp() - 1.0 - a) / (k * k);
            let (items, v) = if is_own { (items, v) } else { (items / hashes, v / hashes.powi(2)) };
            let w = f64::max(written, 0.5);
            sum += items / w;
            variance += (v + items * (1.0 - w)) / (w * w);
            written *= 1.0 - rate;
            if !is_own {
                assert_near(rate, fill.powf(hashes));
            }
        }
        assert!(filter.layer_count() > 1 && written < 0.9, "the older layers have no effect");
        assert_near(filter.estimate_at(0).items, sum);
        assert_near(filter.estimate_at(0).variance, variance);
    }

    let spec = WindowSpec {
        capacity: 4_000,
        error_rate: 0.01,
        growth,
        window: Window::Manual,
        generations: 2,
        refreshes: true,
    };
    let mut filter = WindowedFilter::new(spec, 7, 0, &mut |_| true).expect("a filter");
    for items in [0..1500u32, 1000..2000] {
        for item in items {
            filter.insert(&item.to_le_bytes(), 0, &mut |_| true).expect("an item");
        }
        filter.rotate(0, &mut |_| true).expect("a rotation");
    }
    // A third of the first generation is in the second one, too.
    let of_layers: Vec<_> = filter.layers().map(|layer| layer.by_fill(4096).attempted).collect();
    let header = filter.encode_header();
    let field = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("8 bytes"));
    let (mut sum, mut variance) = (0.0, 0.0);
    for (generation, estimate) in of_layers.iter().enumerate() {
        let [items, live] = [8, 16].map(|at| field(80 + 32 * generation + at) as f64);
        let a = live / items.max(1.0);
        sum += estimate.items * a;
        variance += estimate.variance * a * a;
    }
    assert!(of_layers.len() == 3 && field(80 + 16) < field(80 + 8), "nothing was refreshed");
    assert_near(filter.estimate_at(0).items, sum);
    assert_near(filter.estimate_at(0).variance, variance);
}
