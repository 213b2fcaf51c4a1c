//! The promise of the error rate: a merge keeps it, or is refused with both numbers.

use bloomline_harness::{Client, Random, Setup, int, matches, show};

use crate::inspect::info_field;
use crate::overlapping::{add, assert_contains, digests};

const TOO_HIGH: &str = "-ERR cannot merge: the false-positive rate would be <any>e-<n>, above the target 1e-3: \
     reserve each filter with the capacity of the whole";

const FULL: &str = "-ERR non scaling filter is full";

/// Two filters of 1,000 items with `one` and `other` as items.
fn two(client: &mut Client, options: &str, one: usize, other: usize) {
    client.ok("FLUSHALL");
    client.ok(&format!("BF.RESERVE a 0.001 1000 {options}"));
    client.ok(&format!("BF.RESERVE b 0.001 1000 {options}"));
    add(client, "a", 0..one);
    add(client, "b", 100_000..100_000 + other);
}

#[test]
fn a_result_above_the_error_rate_is_refused_with_numbers() {
    Setup::new().debug().on_each_server(|mut client, _| {
        for options in
            ["SEED 7", "SEED 7 NONSCALING", "LAYOUT REDISBLOOM", "LAYOUT REDISBLOOM NONSCALING"]
        {
            two(&mut client, options, 900, 900);
            let before = digests(&mut client, ["a", "b"]);
            for line in ["BF.MERGE a b", "BF.MERGE b a", "BF.MERGE new a b"] {
                let reply = client.ask(line);
                assert!(matches(TOO_HIGH, &reply), "{options}: {reply}");
                let rate = reply.split(' ').nth(8).map(|word| word.trim_end_matches(','));
                let rate: f64 = rate.expect("the rate").parse().expect("a rate");
                assert!(rate > 0.001 && rate < 0.2, "{options}: {rate}");
            }
            assert_eq!(digests(&mut client, ["a", "b"]), before, "{options}");
            assert_eq!(client.ask("EXISTS new"), ":0");
        }
    });
}

#[test]
fn two_layers_that_exceed_the_older_capacity_are_refused() {
    Setup::new().debug().on_each_server(|mut client, _| {
        for options in ["SEED 7", "LAYOUT REDISBLOOM"] {
            two(&mut client, options, 1500, 1500);
            let before = digests(&mut client, ["a", "b"]);
            let reply = client.ask("BF.MERGE a b");
            assert!(reply.starts_with("-ERR cannot merge: "), "{options}: {reply}");
            assert_eq!(digests(&mut client, ["a", "b"]), before, "{options}");
        }
        // One item too many does not exceed the rate of the filter, only the size of the layer.
        client.ok("FLUSHALL");
        for key in ["a", "b"] {
            client.ok(&format!("BF.RESERVE {key} 0.001 1000 SEED 7 EXPANSION 1"));
        }
        add(&mut client, "a", 0..1000);
        add(&mut client, "b", 100_000..100_020);
        assert_eq!(int(&client.items("BF.ADD", "a", &[b"one more"])), 1);
        assert_eq!(info_field(&mut client, "a", "FILTERS"), 2);
        let full = "-ERR cannot merge: layer 0 would hold <n> items, above its capacity 1000: \
                    reserve each filter with the capacity of the whole";
        let reply = client.ask("BF.MERGE a b");
        assert!(matches(full, &reply), "{reply}");
    });
}

#[test]
fn a_merged_filter_above_its_capacity_is_full() {
    Setup::new().on_each_server(|mut client, _| {
        // Filters that grow reserve half of their error budget for further layers, which the
        // newest layer may use.
        two(&mut client, "SEED 7", 600, 420);
        client.ok("BF.MERGE a b");
        let items = info_field(&mut client, "a", "ITEMS");
        assert!(items > 1000, "{items}");
        assert_eq!(info_field(&mut client, "a", "FILTERS"), 1);
        assert_contains(&mut client, "a", 0..600);
        assert_contains(&mut client, "a", 100_000..100_420);
        assert_eq!(client.ask("BF.ADD a new"), ":1");
        assert_eq!(info_field(&mut client, "a", "FILTERS"), 2);
        assert_eq!(info_field(&mut client, "a", "ITEMS"), items + 1);
        add(&mut client, "a", 200_000..203_000);
        assert_contains(&mut client, "a", 200_000..203_000);
        assert_contains(&mut client, "a", 0..600);
    });
}

#[test]
fn a_fixed_filter_at_its_capacity_refuses_after_a_merge() {
    Setup::new().on_each_server(|mut client, _| {
        for options in ["SEED 7 NONSCALING", "LAYOUT REDISBLOOM NONSCALING"] {
            two(&mut client, options, 1000, 1);
            assert_eq!(client.ask("DEL b"), ":1");
            client.ok(&format!("BF.RESERVE b 0.001 1000 {options}"));
            add(&mut client, "b", 300..700);
            client.ok("BF.MERGE d b a");
            assert_eq!(client.ask("BF.ADD d item:new"), FULL, "{options}");
            assert_contains(&mut client, "d", 0..1000);
            // The items are those of one of the filters.
            let most = info_field(&mut client, "a", "ITEMS");
            assert_eq!(info_field(&mut client, "d", "ITEMS"), most);
        }
    });
}

#[test]
fn full_filters_with_the_same_items_are_merged() {
    Setup::new().debug().on_each_server(|mut client, _| {
        for options in ["SEED 7", "SEED 7 NONSCALING", "LAYOUT REDISBLOOM"] {
            client.ok("FLUSHALL");
            client.ok(&format!("BF.RESERVE a 0.001 1000 {options}"));
            client.ok(&format!("BF.RESERVE b 0.001 1000 {options}"));
            let count = if options.contains("NONSCALING") { 1000 } else { 2500 };
            for key in ["a", "b"] {
                add(&mut client, key, 0..count);
            }
            let before = digests(&mut client, ["a", "b"]);
            client.ok("BF.MERGE a b");
            client.ok("BF.MERGE d a b");
            assert_eq!(digests(&mut client, ["a", "b"]), before, "{options}");
            assert_contains(&mut client, "d", 0..count);
        }
    });
}

#[test]
fn false_positives_of_a_union_keep_the_target_rate() {
    const LOOKUPS: usize = 200_000;
    Setup::new().on_each_server(|mut client, _| {
        for options in ["SEED 7", "LAYOUT REDISBLOOM"] {
            client.ok("FLUSHALL");
            for (part, key) in ["a", "b", "c", "d"].iter().enumerate() {
                client.ok(&format!("BF.RESERVE {key} 0.01 20000 {options}"));
                add(&mut client, key, part * 5000..(part + 1) * 5000);
            }
            client.ok("BF.MERGE all a b c d");
            let mut random = Random(9);
            let mut found = 0;
            for _ in 0..LOOKUPS / 1000 {
                let unknown: Vec<Vec<u8>> = (0..1000).map(|_| random.letters(12)).collect();
                let reply = show(&client.items("BF.MEXISTS", "all", &unknown));
                found += reply.matches(":1").count();
            }
            // At the target rate 2,000 with a standard deviation of 45.
            assert!(found < 2300, "{options}: {found} of {LOOKUPS}");
        }
    });
}
