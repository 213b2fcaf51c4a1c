//! Merges that are refused: each error, and that nothing has changed afterwards.

use bloomline_harness::{Client, Setup, matches};

use crate::inspect::{number, totals};
use crate::overlapping::{add, make};

const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";

/// Asserts that a call returns this error and changes no key.
fn assert_refused(client: &mut Client, line: &str, expected: &str) {
    let before = (client.ask("DEBUG DIGEST"), client.ask("DBSIZE"), totals(client));
    let reply = client.ask(line);
    assert!(matches(expected, &reply), "{line}: {reply}, not {expected}");
    let now = (client.ask("DEBUG DIGEST"), client.ask("DBSIZE"), totals(client));
    assert_eq!(now, before, "{line}");
}

#[test]
fn filters_with_other_parameters_are_refused() {
    const PLAIN: &str = "0.01 100 SEED 7";
    const CLASSIC: &str = "0.01 100 LAYOUT REDISBLOOM";
    Setup::new().debug().on_each_server(|mut client, _| {
        for (one, other, parameter) in [
            (PLAIN, "0.01 100 SEED 8", "seed"),
            (PLAIN, "0.01 100", "seed"),
            (PLAIN, "0.01 101 SEED 7", "capacity"),
            (PLAIN, "0.02 100 SEED 7", "error rate"),
            (PLAIN, "0.01 100 SEED 7 EXPANSION 4", "expansion"),
            (PLAIN, "0.01 100 SEED 7 NONSCALING", "expansion"),
            (PLAIN, CLASSIC, "layout"),
            (CLASSIC, "0.01 110 LAYOUT REDISBLOOM", "capacity"),
            (CLASSIC, "0.02 100 LAYOUT REDISBLOOM", "error rate"),
            (CLASSIC, "0.01 100 LAYOUT REDISBLOOM EXPANSION 4", "expansion"),
            (CLASSIC, "0.01 100 LAYOUT REDISBLOOM NONSCALING", "expansion"),
        ] {
            client.ok("FLUSHALL");
            client.wait_for_frees();
            client.ok(&format!("BF.RESERVE a {one}"));
            client.ok(&format!("BF.RESERVE b {other}"));
            assert_eq!(client.ask("COPY a equal"), ":1");
            add(&mut client, "a", 0..10);
            add(&mut client, "b", 0..10);
            let remedy = match parameter {
                "seed" => "create them with one SEED (BF.STATS shows that of each)",
                _ => "create them with equal options",
            };
            let differs = format!("-ERR cannot merge: the filters differ in {parameter}: {remedy}");
            // The last source as well as the first, and a destination that is missing.
            for line in
                ["BF.MERGE a b", "BF.MERGE b a", "BF.MERGE a equal b", "BF.MERGE new a equal b"]
            {
                assert_refused(&mut client, line, &differs);
            }
        }
    });
}

#[test]
fn windowed_filters_are_refused() {
    let refused = "-ERR cannot merge: the filter has a window: its generations are not opened when \
                   those of another filter are: add the items to both filters, or create them \
                   without WINDOW, LAST and GENERATIONS";
    Setup::new().debug().on_each_server(|mut client, _| {
        for options in ["WINDOW 1000000", "LAST", "GENERATIONS 4"] {
            client.ok("FLUSHALL");
            client.wait_for_frees();
            client.ok(&format!("BF.RESERVE windowed 0.01 100 SEED 7 {options}"));
            assert_eq!(client.ask("COPY windowed copy"), ":1");
            client.ok("BF.RESERVE plain 0.01 100 SEED 7");
            client.ok("BF.RESERVE classic 0.01 100 LAYOUT REDISBLOOM");
            for line in [
                "BF.MERGE windowed windowed",
                "BF.MERGE windowed copy",
                "BF.MERGE windowed plain",
                "BF.MERGE plain windowed",
                "BF.MERGE plain plain windowed",
                "BF.MERGE classic windowed",
                "BF.MERGE new windowed",
                "BF.MERGE new plain windowed",
            ] {
                assert_refused(&mut client, line, refused);
            }
        }
    });
}

#[test]
fn missing_and_other_keys_are_refused() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        make(&mut client, "SEED 7");
        client.ok("SET text value");
        assert_eq!(client.ask("LPUSH list value"), ":1");
        for line in [
            "BF.MERGE a missing",
            "BF.MERGE new missing",
            "BF.MERGE a b missing c",
            "BF.MERGE a b missing text",
            "BF.MERGE missing missing",
            "BF.MERGE missing b missing",
        ] {
            assert_refused(&mut client, line, "-ERR source 'missing' not found");
        }
        for line in [
            "BF.MERGE text a",
            "BF.MERGE a text",
            "BF.MERGE new b list c",
            "BF.MERGE a b text missing",
            "BF.MERGE text text",
        ] {
            assert_refused(&mut client, line, WRONG_TYPE);
        }
        let long = "x".repeat(100);
        let shown = format!("-ERR source '{}' not found", &long[..64]);
        assert_refused(&mut client, &format!("BF.MERGE a {long}"), &shown);
        let escaped = "-ERR source '\\x00\\r\\n' not found";
        assert_refused(&mut client, "BF.MERGE a \"\\x00\\r\\n\"", escaped);
    });
}

const RATE_TOO_HIGH: &str = "the false-positive rate would be <any>e-<n>, above the target 1e-3: \
     reserve each filter with the capacity of the whole";

/// Together more than the capacity of the filters.
const MANY: &[&str] = &["BF.MADD a 0..900", "BF.MADD b 100000..100900"];

/// Options of two filters, the calls before a merge, and why it is refused.
const APART: [(&str, &[&str], &str); 5] = [
    ("0.001 1000 SEED 7", MANY, RATE_TOO_HIGH),
    ("0.001 1000 LAYOUT REDISBLOOM", MANY, RATE_TOO_HIGH),
    ("0.001 1000 LAYOUT REDISBLOOM NONSCALING", MANY, RATE_TOO_HIGH),
    // Few items too many do not exceed the rate of the filter, only the size of the layer.
    (
        "0.001 1000 SEED 7 EXPANSION 1",
        &["BF.MADD a 0..1010", "BF.MADD b 100000..100020"],
        "layer 0 would hold <n> items, above its capacity 1000: reserve each filter with the \
         capacity of the whole",
    ),
    (
        "0.01 100000 SEED 7",
        &["BF.MADD a 0..100", "BF.COMPACT a"],
        "the filters differ in size of layer 0: merge filters before they are compacted",
    ),
];

#[test]
fn layers_that_do_not_fit_are_refused_with_numbers() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        for (options, changes, why) in APART {
            client.ok("FLUSHALL");
            client.wait_for_frees();
            for key in ["a", "b"] {
                client.ok(&format!("BF.RESERVE {key} {options}"));
            }
            for change in changes {
                if let [_, key, items] = change.split(' ').collect::<Vec<_>>()[..] {
                    let (from, to) = items.split_once("..").expect("a range");
                    add(&mut client, key, from.parse().unwrap()..to.parse().unwrap());
                } else {
                    assert_ne!(client.ask(change), ":0");
                }
            }
            let refused = format!("-ERR cannot merge: {why}");
            for line in ["BF.MERGE a b", "BF.MERGE b a", "BF.MERGE new a b"] {
                assert_refused(&mut client, line, &refused);
            }
        }
    });
}

#[test]
fn merges_and_refusals_are_counted() {
    Setup::new().on_each_server(|mut client, _| {
        make(&mut client, "SEED 7");
        client.ok("BF.RESERVE other 0.01 100");
        let mut counted = |line: &str| {
            client.call(line);
            (number(&mut client, "merges"), number(&mut client, "merges_refused"))
        };
        assert_eq!(counted("BF.MERGE d a b"), (1, 0));
        assert_eq!(counted("BF.MERGE d c"), (2, 0));
        // Nothing changed.
        assert_eq!(counted("BF.MERGE d c"), (2, 0));
        assert_eq!(counted("BF.MERGE d other"), (2, 1));
        assert_eq!(counted("BF.MERGE new a other"), (2, 2));
        // Such calls have no filters to merge.
        assert_eq!(counted("BF.MERGE d missing"), (2, 2));
    });
}
