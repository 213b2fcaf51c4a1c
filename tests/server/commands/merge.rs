//! What a merge makes: the filter to which the items of all sources were added.

use bloomline_harness::{Client, Setup, bulk, for_each_server, int};
use redis::Value;

use crate::inspect::{digest, info_field};
use crate::overlapping::{
    ALL, KINDS, PARTS, add, assert_contains, assert_same_bits, digests, make,
};

fn card(client: &mut Client, key: &str) -> i64 {
    int(&client.call(&format!("BF.CARD {key}")))
}

#[test]
fn a_missing_destination_becomes_the_union() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
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
    Setup::new().debug().on_shared_servers(|mut client, _| {
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
fn merging_a_filter_with_itself_changes_nothing() {
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
        }
    });
}

#[test]
fn a_source_that_is_named_again_counts_once() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        for options in KINDS {
            make(&mut client, options);
            client.ok("BF.MERGE once a b");
            client.ok("BF.MERGE often a b a b b a");
            client.ok("BF.MERGE often b often a a");
            assert_eq!(digest(&mut client, "often"), digest(&mut client, "once"), "{options}");
            assert_eq!(card(&mut client, "often"), card(&mut client, "once"), "{options}");
            assert_eq!(client.ask("DEL once often"), ":2");
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
