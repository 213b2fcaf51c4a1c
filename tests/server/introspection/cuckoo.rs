//! The totals over cuckoo filters in INFO, and the digest of each.

use std::collections::BTreeSet;

use bloomline_harness::{Client, Setup, Stop, bulk, numbered, show, until};

use crate::filters::{Family, cuckoo_number};
use crate::inspect::{digest, number};

/// Filters, tables, items and bytes.
type Totals = [u64; 4];

fn totals(client: &mut Client) -> Totals {
    ["cf_filters", "cf_tables", "cf_items", "cf_bytes"].map(|name| number(client, name))
}

/// The sum of what the filters under these keys report.
fn sum(client: &mut Client, keys: &[&str]) -> Totals {
    let mut sum = [keys.len() as u64, 0, 0, 0];
    for key in keys {
        sum[1] += cuckoo_number(client, key, "filters");
        sum[2] += cuckoo_number(client, key, "items");
    }
    sum
}

/// Asserts that the totals are those of the filters under these keys.
fn assert_totals(client: &mut Client, keys: &[&str], after: &str) {
    let expected = sum(client, keys);
    // The server may free what was replaced in the background.
    until(&format!("the totals of {keys:?} after {after}"), || {
        (totals(client)[..3] == expected[..3]).then_some(())
    });
}

#[test]
fn totals_follow_every_change_of_filters() {
    Setup::new().debug().on_each_server(|mut client, mut server| {
        assert_eq!(totals(&mut client), [0; 4]);
        let bloom = number(&mut client, "filters");
        client.ok("CF.RESERVE grown 64 EXPANSION 2");
        assert_totals(&mut client, &["grown"], "CF.RESERVE");
        Family::Cuckoo.add(&mut client, "grown", &numbered("item", 1000));
        client.call("CF.ADD one a");
        client.call("CF.INSERTNX two CAPACITY 7 ITEMS a b a");
        let keys = ["grown", "one", "two"];
        assert_totals(&mut client, &keys, "additions");
        let bytes = totals(&mut client)[3];
        assert!((2000..20_000).contains(&bytes), "{bytes}");
        client.items("CF.MDEL", "grown", &numbered("item", 900));
        assert_totals(&mut client, &keys, "deletions");
        client.ok("CF.COMPACT grown");
        assert_totals(&mut client, &keys, "CF.COMPACT");
        assert!(totals(&mut client)[3] < bytes);
        assert_eq!(client.ask("COPY grown copied"), ":1");
        let dump = client.call("DUMP two");
        client.run(&[b"RESTORE", b"one".as_slice(), b"0", bulk(&dump), b"REPLACE"]);
        client.copy_by_chunks("grown", "loaded");
        let keys = ["grown", "one", "two", "copied", "loaded"];
        assert_totals(&mut client, &keys, "copies");
        client.ok("DEBUG RELOAD");
        assert_totals(&mut client, &keys, "a reload");
        client.call("CF.DEBUG grown");
        let before = totals(&mut client);
        server.restart(Stop::Save);
        let mut client = server.resp2();
        assert_eq!(totals(&mut client), before);
        // Bloom filters are counted by themselves.
        assert_eq!(number(&mut client, "filters"), bloom);
        for (line, keys) in [
            ("DEL one", &["grown", "two", "copied", "loaded"][..]),
            ("UNLINK two", &["grown", "copied", "loaded"]),
            ("SET copied value", &["grown", "loaded"]),
            ("RENAME grown loaded", &["loaded"]),
            ("FLUSHALL ASYNC", &[]),
        ] {
            client.call(line);
            assert_totals(&mut client, keys, line);
        }
        until("no bytes", || (totals(&mut client) == [0; 4]).then_some(()));
    });
}

#[test]
fn deletions_are_counted_with_those_that_found_nothing() {
    Setup::new().on_each_server(|mut client, _| {
        client.call("CF.INSERT k ITEMS a a b");
        for line in ["CF.DEL k a", "CF.DEL k x", "CF.MDEL k a a b x", "CF.DEL missing a"] {
            client.call(line);
        }
        assert_eq!(number(&mut client, "cf_deletes"), 3);
        assert_eq!(number(&mut client, "cf_deletes_missed"), 3);
        // They are cumulative since the start.
        client.ok("FLUSHALL");
        assert_eq!(number(&mut client, "cf_deletes"), 3);
    });
}

#[test]
fn refusals_are_counted_with_those_of_bloom_filters() {
    Setup::new().module_args("bf-max-filter-bytes 10kb").on_each_server(|mut client, server| {
        assert_eq!(client.ask("CF.LOADCHUNK k 1 garbage"), "-Invalid header");
        assert_eq!(number(&mut client, "loads_refused"), 1);
        let log = server.log();
        assert!(log.contains("CF.LOADCHUNK of 'k' refused: "), "{log}");
        assert!(client.ask("CF.RESERVE k 100000").starts_with("-ERR Insufficient memory"));
        assert_eq!(number(&mut client, "creations_refused"), 1);
    });
}

#[test]
fn any_change_gives_another_digest() {
    Setup::new().debug().on_each_server(|mut client, _| {
        let mut seen = BTreeSet::new();
        client.ok("CF.RESERVE k 16 SEED 7");
        assert!(seen.insert(digest(&mut client, "k")));
        // Additions and deletions, while tables are added and removed.
        for item in numbered("item", 60) {
            assert_eq!(show(&client.items("CF.ADD", "k", &[item])), ":1");
            assert!(seen.insert(digest(&mut client, "k")), "an item did not change the digest");
        }
        for item in numbered("item", 30) {
            assert_eq!(show(&client.items("CF.DEL", "k", &[item])), ":1");
            assert!(seen.insert(digest(&mut client, "k")), "a deletion did not change the digest");
        }
        let before = digest(&mut client, "k");
        for line in ["CF.DEL k absent", "CF.ADDNX k item:59", "CF.RESERVE k 16", "CF.INFO k"] {
            client.call(line);
            assert_eq!(digest(&mut client, "k"), before, "{line}");
        }
        // Equal tables, but other parameters.
        for options in ["16", "16 BUCKETSIZE 1", "16 MAXITERATIONS 7", "16 EXPANSION 0", "32"] {
            client.call("DEL k");
            client.ok(&format!("CF.RESERVE k {options} SEED 7"));
            assert_eq!(seen.insert(digest(&mut client, "k")), options != "16", "{options}");
        }
    });
}
