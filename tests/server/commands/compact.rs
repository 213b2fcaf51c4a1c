//! BF.COMPACT: its reply, the number of bytes by which the filter has become smaller, and what the
//! filter is afterwards.

use bloomline_harness::{Setup, numbered, show};

use crate::filters::{build, compact, compactable, observe};
use crate::inspect::{digest, info_field, number, sum_of_infos, totals};
use crate::windowed::restore;

#[test]
fn the_reply_is_the_change_of_size() {
    Setup::new().debug().on_each_server(|mut client, _| {
        let filters = compactable();
        build(&mut client, &filters);
        let keys: Vec<&str> = filters.iter().map(|filter| filter.key.as_str()).collect();
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
            // The targets are 0.1 and 1 %, and the seeds are constant.
            let absent = show(&client.items("BF.MEXISTS", key, &numbered("absent", 2000)));
            assert!(absent.matches(":1").count() < 20, "{key}");
        }
        for filter in &filters {
            filter.assert_has_items(&mut client);
        }
    });
}

#[test]
fn a_second_call_frees_nothing() {
    Setup::new().debug().on_each_server(|mut client, _| {
        let filters = compactable();
        build(&mut client, &filters);
        for filter in &filters {
            compact(&mut client, &filter.key);
            let (seen, counted) = (observe(&mut client, &filter.key), totals(&mut client));
            assert_eq!(compact(&mut client, &filter.key), 0, "{}", filter.key);
            assert_eq!(observe(&mut client, &filter.key), seen);
            assert_eq!(totals(&mut client), counted);
        }
        assert_eq!(number(&mut client, "compactions"), filters.len() as u64);
    });
}

#[test]
fn a_compacted_filter_is_full_at_its_new_capacity() {
    Setup::new().debug().on_each_server(|mut client, _| {
        for (layout, rate, capacity, growth) in [
            ("bloomline", "0.0000001", 20_000, "EXPANSION 3"),
            ("bloomline", "0.0000001", 20_000, "NONSCALING"),
            // 10,080 words, which have many divisors. Links of a smaller rate are not that small.
            ("redisbloom", "0.001", 40_778, "EXPANSION 3"),
            ("redisbloom", "0.001", 44_869, "NONSCALING"),
        ] {
            let options = format!("{growth} LAYOUT {layout}");
            client.ok(&format!("BF.RESERVE k {rate} {capacity} {options}"));
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

#[test]
fn small_and_full_filters_stay_as_they_are() {
    Setup::new().debug().on_each_server(|mut client, _| {
        client.ok("BF.RESERVE page 0.01 300");
        client.ok("BF.RESERVE full 0.0001 5000 NONSCALING");
        client.items("BF.MADD", "full", &numbered("item", 4_990));
        for key in ["page", "full"] {
            let before = digest(&mut client, key);
            assert_eq!(compact(&mut client, key), 0, "{key}");
            assert_eq!(digest(&mut client, key), before, "{key}");
        }
        assert_eq!(client.ask("BF.COMPACT missing"), "-ERR not found");
        client.ok("SET text x");
        assert!(client.ask("BF.COMPACT text").starts_with("-WRONGTYPE"));
        assert!(client.ask("BF.COMPACT page page").starts_with("-ERR wrong number"));
    });
}

#[test]
fn equal_filters_are_equal_after_compacting() {
    Setup::new().debug().on_each_server(|mut client, _| {
        for filter in compactable() {
            filter.build(&mut client);
            let dump = client.call(&format!("DUMP {}", filter.key));
            restore(&mut client, "other", &dump);
            for key in [&filter.key, "other"] {
                assert!(compact(&mut client, key) > 0, "{key}");
            }
            assert_eq!(observe(&mut client, "other"), observe(&mut client, &filter.key));
            let [one, other] =
                [&filter.key, "other"].map(|key| client.call(&format!("DUMP {key}")));
            assert!(one == other, "{} has other bytes", filter.key);
            assert_eq!(client.ask("DEL other"), ":1");
        }
    });
}
