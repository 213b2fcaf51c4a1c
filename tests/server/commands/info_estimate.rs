//! BF.INFO key ESTIMATE: its shape in both protocols. `core/tests/bloom/joined/estimates.rs` has
//! how near it is to the truth.

use bloomline_harness::{Client, Setup, rows};

use crate::overlapping::add;

/// The estimated number of items and its standard error, in RESP2.
fn estimate(client: &mut Client, key: &str) -> (i64, i64) {
    let reply = client.ask(&format!("BF.INFO {key} ESTIMATE"));
    let inner = reply.strip_prefix("*[*[").and_then(|rest| rest.strip_suffix("]]"));
    let numbers: Vec<i64> = inner
        .unwrap_or_else(|| panic!("{key}: {reply}"))
        .split(' ')
        .map(|word| word.trim_start_matches(':').parse().expect("a number"))
        .collect();
    (numbers[0], numbers[1])
}

/// Asserts that the estimate is within five standard errors of the truth.
fn assert_near(client: &mut Client, key: &str, truth: i64) {
    let (items, error) = estimate(client, key);
    assert!((items - truth).abs() <= 5 * error, "{key}: {items} with {error}, not {truth}");
    assert!(error <= 1 + truth / 20, "{key}: {items} with {error}");
}

#[test]
fn an_estimate_is_a_pair_of_numbers() {
    Setup::new().check_rows(rows![
        "BF.RESERVE k 0.0001 1000 SEED 7" => "+OK";
        "BF.INFO k ESTIMATE" => "*[*[:0 :0]]" | "%{+Estimated number of items *[:0 :0]}";
        "BF.MADD k a b c" => "<any>";
        "BF.INFO k ESTIMATE" => "*[*[:3 :<n>]]" | "%{+Estimated number of items *[:3 :<n>]}";
        "BF.INFO k estimate" => "*[*[:3 :<n>]]" | "%{+Estimated number of items *[:3 :<n>]}";
        "BF.INFO k ESTIMATES" => "-Invalid information value";
    ]);
}

#[test]
fn an_item_that_was_refreshed_counts_once() {
    Setup::new().on_shared_servers(|mut client, _| {
        client.ok("BF.RESERVE k 0.000001 3000 SEED 7 GENERATIONS 3");
        for _ in 0..3 {
            add(&mut client, "k", 0..500);
            assert_near(&mut client, "k", 500);
            client.ok("BF.ROTATE k");
            assert_near(&mut client, "k", 500);
        }
    });
}
