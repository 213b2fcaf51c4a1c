//! What a merge makes: the filter to which the items of all sources were added.
//!
//! `life` compares merges into filters that exist with filters in this process.

use bloomline_harness::{Client, Setup, for_each_server, int};

use crate::inspect::{digest, info_field};
use crate::overlapping::{
    ALL, KINDS, PARTS, add, assert_contains, assert_same_bits, digests, make,
};

/// Asserts that a filter has the items of all parts.
fn assert_is_whole(client: &mut Client, key: &str, options: &str) {
    assert_contains(client, key, 0..ALL);
    assert_same_bits(client, key, "whole");
    // The filters are lightly filled, so the estimate is close.
    let items = int(&client.call(&format!("BF.CARD {key}")));
    assert!((390..=410).contains(&items), "{options}: {items}");
    for field in ["CAPACITY", "SIZE", "FILTERS"] {
        let whole = info_field(client, "whole", field);
        assert_eq!(info_field(client, key, field), whole, "{options}: {field}");
    }
}

#[test]
fn the_destination_becomes_the_union() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        for options in KINDS {
            make(&mut client, options);
            let before = digests(&mut client, ["a", "b", "c"]);
            client.ok("BF.MERGE d a b c");
            assert_eq!(digests(&mut client, ["a", "b", "c"]), before, "{options}");
            assert_is_whole(&mut client, "d", options);
            assert_eq!(client.ask("TTL d"), ":-1");
            client.ok("BF.MERGE a b c");
            assert_eq!(digests(&mut client, ["b", "c"]), before[1..], "{options}");
            assert_is_whole(&mut client, "a", options);
        }
    });
}

#[test]
fn a_key_that_is_named_again_counts_once() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        for options in KINDS {
            make(&mut client, options);
            let before = digests(&mut client, ["a", "whole"]);
            client.ok("BF.MERGE a a");
            client.ok("BF.MERGE a a a");
            client.ok("BF.MERGE whole a whole b c a");
            assert_eq!(digests(&mut client, ["a", "whole"]), before, "{options}");
            client.ok("BF.MERGE copy a");
            assert_eq!(digest(&mut client, "copy"), before[0], "{options}");
            client.ok("BF.MERGE once a b");
            client.ok("BF.MERGE often a b a b b a");
            client.ok("BF.MERGE often b often a a");
            // The number of items is in the digest.
            let [once, often] = digests(&mut client, ["once", "often"]);
            assert_eq!(once, often, "{options}");
            // Each pass over the bits of a source begins with its key.
            let opened = |client: &mut Client, line: &str| {
                let before = client.info_number("keyspace_hits");
                client.ok(line);
                client.info_number("keyspace_hits") - before
            };
            let once = opened(&mut client, "BF.MERGE once a b");
            assert!(once > 1, "{options}: {once}");
            assert_eq!(opened(&mut client, "BF.MERGE once a b a a once b"), once, "{options}");
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
            assert_eq!(there.restore("region", &here.dump("region")), "+OK");
            add(&mut here, "region", PARTS[0].1.clone());
            add(&mut there, "region", 100..ALL);
            assert_eq!(here.restore("from:there", &there.dump("region")), "+OK");
            here.ok("BF.MERGE region from:there");
            assert_contains(&mut here, "region", 0..ALL);
        }
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
