//! What a merge makes: the filter to which the items of all sources were added.

use bloomline_harness::{Client, Setup, Stop, bulk, for_each_server, int};
use redis::Value;

use crate::inspect::{digest, info_field, sum_of_infos, totals};
use crate::overlapping::{
    ALL, KINDS, PARTS, add, assert_contains, assert_same_bits, digests, make,
};

fn card(client: &mut Client, key: &str) -> i64 {
    int(&client.call(&format!("BF.CARD {key}")))
}

#[test]
fn a_missing_destination_becomes_the_union() {
    Setup::new().debug().on_each_server(|mut client, _| {
        for options in KINDS {
            make(&mut client, options);
            let before = digests(&mut client, ["a", "b", "c"]);
            client.ok("BF.MERGE d a b c");
            assert_eq!(digests(&mut client, ["a", "b", "c"]), before, "{options}");
            assert_contains(&mut client, "d", 0..ALL);
            assert_same_bits(&mut client, "d", "whole");
            // The filters are lightly filled, so the estimate is close.
            let items = card(&mut client, "d");
            assert!((390..=410).contains(&items), "{options}: {items}");
            for field in ["CAPACITY", "SIZE", "FILTERS"] {
                let whole = info_field(&mut client, "whole", field);
                assert_eq!(info_field(&mut client, "d", field), whole, "{options}: {field}");
            }
            assert_eq!(client.ask("TTL d"), ":-1");
        }
    });
}

#[test]
fn an_existing_destination_takes_part() {
    Setup::new().debug().on_each_server(|mut client, _| {
        for options in KINDS {
            make(&mut client, options);
            let before = digests(&mut client, ["b", "c"]);
            client.ok("BF.MERGE a b c");
            assert_eq!(digests(&mut client, ["b", "c"]), before, "{options}");
            assert_contains(&mut client, "a", 0..ALL);
            assert_same_bits(&mut client, "a", "whole");
            let items = card(&mut client, "a");
            assert!((390..=410).contains(&items), "{options}: {items}");
        }
    });
}

#[test]
fn the_order_and_repetition_of_sources_do_not_matter() {
    Setup::new().debug().on_each_server(|mut client, _| {
        for options in KINDS {
            make(&mut client, options);
            for (key, line) in [
                ("d", "BF.MERGE d c a b"),
                ("e", "BF.MERGE e a a b c b a"),
                ("a", "BF.MERGE a a c b"),
                ("b", "BF.MERGE b c b a b c"),
            ] {
                client.ok(line);
                assert_same_bits(&mut client, key, "whole");
                assert_contains(&mut client, key, 0..ALL);
            }
            // Only their estimates may differ a little.
            let counts = ["d", "e", "a", "b"].map(|key| card(&mut client, key));
            let (least, most) = (counts.iter().min(), counts.iter().max());
            assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 8), "{counts:?}");
        }
    });
}

#[test]
fn merging_a_filter_with_itself_changes_nothing() {
    Setup::new().debug().on_each_server(|mut client, _| {
        for options in KINDS {
            make(&mut client, options);
            let before = digests(&mut client, ["a", "whole"]);
            client.ok("BF.MERGE a a");
            client.ok("BF.MERGE a a a");
            client.ok("BF.MERGE whole a whole b c a");
            assert_eq!(digests(&mut client, ["a", "whole"]), before, "{options}");
            client.ok("BF.MERGE copy a");
            assert_eq!(digest(&mut client, "copy"), before[0], "{options}");
        }
    });
}

#[test]
fn the_count_is_between_the_largest_and_the_sum() {
    Setup::new().on_each_server(|mut client, _| {
        for options in KINDS {
            for (one, other) in [(0..300, 0..300), (0..300, 299..301), (0..1, 1..2), (0..0, 5..90)]
            {
                make(&mut client, options);
                client.ok(&format!("BF.RESERVE x 0.000001 1000 {options}"));
                assert_eq!(client.ask("COPY x y"), ":1");
                for (key, range) in [("x", one.clone()), ("y", other.clone())] {
                    if !range.is_empty() {
                        add(&mut client, key, range);
                    }
                }
                let counts = [card(&mut client, "x"), card(&mut client, "y")];
                client.ok("BF.MERGE x y");
                let count = card(&mut client, "x");
                let most = counts[0] + counts[1];
                assert!(counts[0].max(counts[1]) <= count && count <= most, "{options}: {count}");
            }
        }
    });
}

#[test]
fn layers_that_only_a_source_has_are_copied() {
    Setup::new().debug().on_each_server(|mut client, _| {
        for options in ["SEED 7", "LAYOUT REDISBLOOM"] {
            client.ok("FLUSHALL");
            client.ok(&format!("BF.RESERVE a 0.000001 100 {options}"));
            assert_eq!(client.ask("COPY a b"), ":1");
            add(&mut client, "a", 0..100);
            add(&mut client, "b", 0..650);
            let before = digests(&mut client, ["a", "b"]);
            client.ok("BF.MERGE d a b");
            client.ok("BF.MERGE e b a");
            assert_eq!(digests(&mut client, ["a", "b"]), before);
            // The first layers hold the same items, so the result equals the longer filter.
            for key in ["d", "e"] {
                assert_eq!(info_field(&mut client, key, "FILTERS"), 3, "{options}");
                assert_eq!(digest(&mut client, key), before[1], "{options}: {key}");
                add(&mut client, key, 650..1500);
                assert_contains(&mut client, key, 0..1500);
            }
            client.ok("BF.MERGE a b");
            assert_eq!(digest(&mut client, "a"), before[1], "{options}");
        }
    });
}

#[test]
fn a_destination_keeps_its_time_to_live() {
    Setup::new().on_each_server(|mut client, _| {
        for options in KINDS {
            make(&mut client, options);
            assert_eq!(client.ask("EXPIRE a 10000"), ":1");
            assert_eq!(client.ask("EXPIRE b 500"), ":1");
            client.ok("BF.MERGE a b c");
            let left = int(&client.call("TTL a"));
            assert!((9000..=10_000).contains(&left), "{options}: {left}");
            client.ok("BF.MERGE d b c");
            assert_eq!(client.ask("TTL d"), ":-1", "{options}");
        }
    });
}

#[test]
fn items_are_added_to_a_merged_filter_as_to_any() {
    for_each_server(|kind| {
        let mut server = Setup::new().start(kind);
        for options in KINDS {
            let mut client = server.resp2();
            make(&mut client, options);
            client.ok("BF.MERGE d a b c");
            add(&mut client, "d", ALL..900);
            server.restart(Stop::Save);
            let mut client = server.resp2();
            assert_contains(&mut client, "d", 0..900);
            let keys = ["a", "b", "c", "d", "whole"];
            assert_eq!(totals(&mut client), sum_of_infos(&mut client, &keys), "{options}");
        }
    });
}

#[test]
fn filters_of_two_servers_are_merged_by_dump_and_restore() {
    for_each_server(|kind| {
        let (one, other) = (Setup::new().start(kind), Setup::new().start(kind));
        let (mut here, mut there) = (one.resp2(), other.resp2());
        for options in KINDS {
            here.ok("FLUSHALL");
            there.ok("FLUSHALL");
            here.ok(&format!("BF.RESERVE region 0.000001 1000 {options}"));
            let copy = here.call("DUMP region");
            let restored = there.run(&[&b"RESTORE"[..], b"region", b"0", bulk(&copy)]);
            assert_eq!(restored, Value::Okay);
            add(&mut here, "region", PARTS[0].1.clone());
            add(&mut there, "region", 100..ALL);
            let dump = there.call("DUMP region");
            let restored = here.run(&[&b"RESTORE"[..], b"from:there", b"0", bulk(&dump)]);
            assert_eq!(restored, Value::Okay);
            here.ok("BF.MERGE region from:there");
            assert_contains(&mut here, "region", 0..ALL);
        }
    });
}

#[test]
fn totals_follow_merges() {
    Setup::new().on_each_server(|mut client, _| {
        for options in KINDS {
            make(&mut client, options);
            client.ok("BF.MERGE d a b");
            client.ok("BF.MERGE a b c");
            let keys = ["a", "b", "c", "d", "whole"];
            assert_eq!(totals(&mut client), sum_of_infos(&mut client, &keys), "{options}");
        }
    });
}
