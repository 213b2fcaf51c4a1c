//! The promise of the error rate: a merge keeps it, or is refused with both numbers.

use bloomline_harness::{Client, Setup, int, matches};

use crate::inspect::info_field;
use crate::overlapping::{add, assert_contains, digests};

const TOO_HIGH: &str = "-ERR cannot merge: the false-positive rate would be <any>e-<n>, above the target 1e-3: \
     reserve each filter with the capacity of the whole";

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
    Setup::new().debug().on_shared_servers(|mut client, _| {
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
fn a_layer_above_its_capacity_is_refused_with_numbers() {
    Setup::new().on_shared_servers(|mut client, _| {
        // One item too many does not exceed the rate of the filter, only the size of the layer.
        two(&mut client, "SEED 7 EXPANSION 1", 1000, 20);
        assert_eq!(int(&client.items("BF.ADD", "a", &[b"one more"])), 1);
        assert_eq!(info_field(&mut client, "a", "FILTERS"), 2);
        let full = "-ERR cannot merge: layer 0 would hold <n> items, above its capacity 1000: \
                    reserve each filter with the capacity of the whole";
        let reply = client.ask("BF.MERGE a b");
        assert!(matches(full, &reply), "{reply}");
    });
}

#[test]
fn a_fixed_filter_at_its_capacity_refuses_after_a_merge() {
    Setup::new().on_shared_servers(|mut client, _| {
        for options in ["SEED 7 NONSCALING", "LAYOUT REDISBLOOM NONSCALING"] {
            client.ok("FLUSHALL");
            for (key, items) in [("a", 0..1000), ("b", 300..700)] {
                client.ok(&format!("BF.RESERVE {key} 0.001 1000 {options}"));
                add(&mut client, key, items);
            }
            client.ok("BF.MERGE d b a");
            assert_eq!(client.ask("BF.ADD d item:new"), "-ERR non scaling filter is full");
            assert_contains(&mut client, "d", 0..1000);
            // The items are those of one of the filters.
            let most = info_field(&mut client, "a", "ITEMS");
            assert_eq!(info_field(&mut client, "d", "ITEMS"), most);
        }
    });
}
