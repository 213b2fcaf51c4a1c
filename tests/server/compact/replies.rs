//! The reply of BF.COMPACT: the number of bytes by which the filter has become smaller.

use bloomline_harness::{Client, Setup, for_each_build, for_each_server, int, numbered, show};

use super::filters::{FILTERS, assert_nothing_lost, compact, make_all, observe};
use crate::inspect::{digest, info_field, number, sum_of_infos, totals, with_debug};

/// What the server's memory grows by while a client sends commands.
const NOISE: u64 = 64 << 10;

fn usage(client: &mut Client, key: &str) -> u64 {
    int(&client.call(&format!("MEMORY USAGE {key} SAMPLES 0"))).try_into().expect("bytes")
}

#[test]
fn the_reply_is_the_change_of_size() {
    for_each_server(|kind| {
        let server = with_debug(kind).start(kind);
        let mut client = server.resp2();
        make_all(&mut client);
        let keys: Vec<&str> = FILTERS.iter().map(|filter| filter.key).collect();
        let (mut count, mut bytes) = (0, 0);
        for key in &keys {
            let before = info_field(&mut client, key, "SIZE");
            let items = info_field(&mut client, key, "ITEMS");
            let layers = info_field(&mut client, key, "FILTERS");
            let freed = compact(&mut client, key);
            assert!(freed >= before / 16 / 4, "{key}: {freed} of {before} bytes");
            assert_eq!(info_field(&mut client, key, "SIZE"), before - freed, "{key}");
            assert_eq!(info_field(&mut client, key, "ITEMS"), items, "{key}");
            assert_eq!(info_field(&mut client, key, "FILTERS"), layers, "{key}");
            count += 1;
            bytes += freed;
            assert_eq!(number(&mut client, "compactions"), count);
            assert_eq!(number(&mut client, "bytes_compacted"), bytes);
            assert_eq!(totals(&mut client), sum_of_infos(&mut client, &keys), "{key}");
        }
        assert_nothing_lost(&mut client);
    });
}

#[test]
fn a_second_call_frees_nothing() {
    for_each_server(|kind| {
        let server = with_debug(kind).start(kind);
        let mut client = server.resp2();
        make_all(&mut client);
        for filter in &FILTERS {
            compact(&mut client, filter.key);
            let (seen, counted) = (observe(&mut client, filter.key), totals(&mut client));
            assert_eq!(compact(&mut client, filter.key), 0, "{}", filter.key);
            assert_eq!(observe(&mut client, filter.key), seen);
            assert_eq!(totals(&mut client), counted);
        }
        assert_eq!(number(&mut client, "compactions"), FILTERS.len() as u64);
    });
}

#[test]
fn the_memory_is_given_back() {
    for_each_build(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        for options in ["", "NONSCALING", "LAYOUT redisbloom", "GENERATIONS 2"] {
            for items in [0, 1000, 100_000] {
                client.ok(&format!("BF.RESERVE k 0.01 643496 {options}"));
                for part in numbered("item", items).chunks(10_000) {
                    client.items("BF.MADD", "k", part);
                }
                client.call("BF.ROTATE k");
                let sizes =
                    |client: &mut Client| (usage(client, "k"), client.info_number("used_memory"));
                let before = sizes(&mut client);
                let freed = compact(&mut client, "k");
                let after = sizes(&mut client);
                let case = format!("{options} {items}: {before:?} {after:?} {freed}");
                assert!(freed > 200_000, "{case}");
                // Allocators round up by a quarter at most.
                let size = info_field(&mut client, "k", "SIZE");
                assert!(after.0 >= size && after.0 <= size + size / 4 + 8192, "{size}: {case}");
                let fallen = before.0 - after.0;
                assert!((before.1 - after.1).abs_diff(fallen) < NOISE, "{case}");
                assert_eq!(client.ask("DEL k"), ":1");
                client.wait_for_frees();
            }
        }
    });
}

#[test]
fn a_compacted_filter_is_full_at_its_new_capacity() {
    for_each_server(|kind| {
        let server = with_debug(kind).start(kind);
        let mut client = server.resp2();
        for (layout, capacity, growth) in [
            ("bloomline", 20_000, "EXPANSION 3"),
            ("bloomline", 20_000, "NONSCALING"),
            // 10,080 words, which have many divisors.
            ("redisbloom", 18_437, "EXPANSION 3"),
            ("redisbloom", 19_229, "NONSCALING"),
        ] {
            let options = format!("{growth} LAYOUT {layout}");
            client.ok(&format!("BF.RESERVE k 0.0000001 {capacity} {options}"));
            client.items("BF.MADD", "k", &numbered("item", 1000));
            assert!(compact(&mut client, "k") > 0);
            let capacity = info_field(&mut client, "k", "CAPACITY");
            assert!((1000..1500).contains(&capacity), "{capacity}");
            let room = (capacity - 1000) as usize;
            let added = show(&client.items("BF.MADD", "k", &numbered("later", room)));
            assert_eq!(added.matches(":1").count(), room, "{layout} {growth}");
            assert_eq!(info_field(&mut client, "k", "FILTERS"), 1);
            if growth == "NONSCALING" {
                let before = digest(&mut client, "k");
                assert_eq!(client.ask("BF.ADD k more"), "-ERR non scaling filter is full");
                assert_eq!(digest(&mut client, "k"), before);
            } else {
                assert_eq!(client.ask("BF.ADD k more"), ":1");
                assert_eq!(info_field(&mut client, "k", "FILTERS"), 2);
                assert_eq!(info_field(&mut client, "k", "CAPACITY"), 4 * capacity);
            }
            let found = show(&client.items("BF.MEXISTS", "k", &numbered("item", 1000)));
            assert!(!found.contains(":0"));
            client.ok("FLUSHALL");
        }
    });
}
