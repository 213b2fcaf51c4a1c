//! The table of rates in docs/how-to/choosing.md is what the program prints, and the measured rates
//! agree with the formula. The core's tests check what `fp_rate` may be (`rates/spread.rs`).

use std::path::Path;

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
