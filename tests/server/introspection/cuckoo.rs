//! Deletions of cuckoo filters in INFO, and the digest of each.

use std::collections::BTreeSet;

use bloomline_harness::{Setup, numbered, show};

use crate::inspect::{digest, number};

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
fn any_change_gives_another_digest() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
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
