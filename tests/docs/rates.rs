//! The tables of rates in docs/how-to/choosing.md are what the program prints, and their measured
//! rates agree with their formulas.

use std::path::Path;

use bloomline_tools::rates as tables;

use crate::pages;

fn assert_is_shown(table: &str) {
    let page = pages::read(Path::new("docs/how-to/choosing.md"));
    assert!(page.contains(table), "the page does not show this table:\n{table}");
}

/// The numbers in the cells of a table, one row per line, without words and units.
fn numbers(table: &str) -> Vec<Vec<f64>> {
    let row =
        |line: &str| line.split(['|', ',', ' ']).filter_map(|word| word.parse().ok()).collect();
    table.lines().skip(2).map(row).collect()
}

#[test]
fn full_filters_are_shown_and_keep_the_target_rate() {
    let table = tables::layouts().expect("filters");
    assert_is_shown(&table);
    for row in numbers(&table) {
        let (target, computed, measured) = (row[0], row[5], row[6]);
        assert!(computed <= target * 1.001 && measured <= target * 1.05, "{row:?}");
    }
}

/// The core's tests of the spread check the formula itself.
#[test]
fn limits_of_fp_rate_are_those_of_the_formula() {
    const FORMULA: &str = "fp_rate > error_rate * (1.1 + 2 * sqrt(log2(1 / error_rate) / items))";
    let [stats, monitoring] = ["docs/reference/commands/bf.info.md", "docs/how-to/monitoring.md"]
        .map(|page| pages::read(Path::new(page)));
    assert!(monitoring.contains(FORMULA) && stats.contains(&FORMULA.replace('>', "<=")));
    let table = stats.split_once("| items | error rate 0.1 |").expect("a table").1;
    let table = table.split("\n\n").next().expect("its end").replace(',', "");
    let rows = numbers(&table);
    assert_eq!(rows.len(), 5);
    for row in rows {
        for (limit, error_rate) in row[1..].iter().zip([0.1f64, 0.01, 0.001, 1e-6]) {
            let computed = 1.1 + 2.0 * ((1.0 / error_rate).log2() / row[0]).sqrt();
            assert!((limit - computed).abs() <= 0.005, "{row:?} {computed}");
        }
    }
}

#[test]
fn overfull_filters_are_shown_and_growing_ones_keep_rates() {
    let table = tables::overfull().expect("filters");
    assert_is_shown(&table);
    for row in numbers(&table) {
        let (target, times, over, grown) = (row[0], row[1], row[4], row[7]);
        assert!(grown <= target * 1.05, "{row:?}");
        assert!(times < 2.0 || over > 5.0 * target, "{row:?}");
    }
}
