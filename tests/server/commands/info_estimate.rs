//! BF.INFO key ESTIMATE: its shape in both protocols, and how near it is to the truth.

use bloomline_harness::{Client, Setup, bulk, rows, show};
use redis::Value;

use crate::overlapping::{KINDS, add, make};

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
        "BF.INFO missing ESTIMATE" => "-ERR not found";
        "SET text value" => "+OK";
        "BF.INFO text ESTIMATE" => "-WRONGTYPE Operation against a key holding the wrong kind of value";
    ]);
}

#[test]
fn estimates_are_near_the_number_of_items() {
    Setup::new().on_each_server(|mut client, _| {
        for options in KINDS {
            make(&mut client, options);
            for (key, truth) in [("a", 200), ("b", 200), ("c", 150), ("whole", 400)] {
                assert_near(&mut client, key, truth);
            }
            client.ok("BF.MERGE d a b c");
            assert_near(&mut client, "d", 400);
            assert_eq!(estimate(&mut client, "d"), estimate(&mut client, "whole"), "{options}");
        }
    });
}

#[test]
fn estimates_of_several_layers_are_added() {
    Setup::new().on_each_server(|mut client, _| {
        for (key, options) in [
            ("own", "SEED 7"),
            ("classic", "LAYOUT REDISBLOOM"),
            ("window", "SEED 7 GENERATIONS 2"),
        ] {
            client.ok(&format!("BF.RESERVE {key} 0.000001 500 {options}"));
            add(&mut client, key, 0..5000);
            assert_ne!(client.ask(&format!("BF.INFO {key} FILTERS")), "*[:1]");
            assert_near(&mut client, key, 5000);
        }
    });
}

#[test]
fn estimates_count_items_that_the_filter_took_for_present() {
    Setup::new().on_each_server(|mut client, _| {
        // A third of the last items seem to be present.
        client.ok("BF.RESERVE k 0.3 20000 NONSCALING SEED 7");
        add(&mut client, "k", 0..20_000);
        let Value::Int(counted) = client.call("BF.CARD k") else { panic!("a number") };
        assert!(counted < 19_500, "{counted}");
        assert_near(&mut client, "k", 20_000);
    });
}

#[test]
fn an_item_that_was_refreshed_counts_once() {
    Setup::new().on_each_server(|mut client, _| {
        client.ok("BF.RESERVE k 0.000001 3000 SEED 7 GENERATIONS 3");
        for _ in 0..3 {
            add(&mut client, "k", 0..500);
            assert_near(&mut client, "k", 500);
            client.ok("BF.ROTATE k");
            assert_near(&mut client, "k", 500);
        }
    });
}

#[test]
fn large_filters_are_estimated_by_a_sample() {
    Setup::new().on_each_server(|mut client, _| {
        client.ok("BF.RESERVE k 0.01 30000000 SEED 7");
        for part in 0..20 {
            add(&mut client, "k", part * 10_000..(part + 1) * 10_000);
        }
        assert_near(&mut client, "k", 200_000);
    });
}

#[test]
fn estimates_survive_a_copy_and_change_nothing() {
    Setup::new().on_each_server(|mut client, _| {
        for options in KINDS {
            make(&mut client, options);
            let dump = client.call("DUMP whole");
            let expected = estimate(&mut client, "whole");
            let restored = client.run(&[&b"RESTORE"[..], b"restored", b"0", bulk(&dump)]);
            assert_eq!(show(&restored), "+OK");
            assert_eq!(estimate(&mut client, "restored"), expected, "{options}");
            assert!(client.call("DUMP whole") == dump, "the filter has other bytes");
        }
    });
}
