//! DEBUG DIGEST: different after any change.
//!
//! The tests of `entry_points` compare digests of equal filters.

use std::collections::BTreeSet;

use bloomline_harness::{Setup, numbered, show};

use crate::inspect::digest;

#[test]
fn any_change_gives_another_digest() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        let mut seen = BTreeSet::new();
        client.ok("BF.RESERVE k 0.0000001 10");
        assert!(seen.insert(digest(&mut client, "k")));
        // Add items one at a time while two layers are added.
        for item in numbered("item", 40) {
            assert_eq!(show(&client.items("BF.ADD", "k", &[item])), ":1");
            assert!(seen.insert(digest(&mut client, "k")), "an item did not change the digest");
        }
        assert_eq!(client.ask("BF.INFO k FILTERS"), "*[:3]");
        // Change bits but not the header, in the oldest layer.
        let (next, mut bits) = client.scandump("k", 1);
        bits[3] ^= 1;
        for expected_new in [true, false] {
            assert_eq!(client.loadchunk("k", next, &bits), "+OK");
            assert_eq!(seen.insert(digest(&mut client, "k")), expected_new);
        }
    });
}

#[test]
fn other_parameters_give_other_digests() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        let mut seen = BTreeSet::new();
        for (key, parameters) in [
            ("plain", "0.01 100"),
            ("capacity", "0.01 101"),
            ("rate", "0.0100001 100"),
            ("expansion", "0.01 100 EXPANSION 3"),
            ("fixed", "0.01 100 NONSCALING"),
            // Another seed maps every item to other bits.
            ("reseeded", "0.01 100"),
        ] {
            client.ok(&format!("BF.RESERVE {key} {parameters}"));
            assert!(seen.insert(digest(&mut client, key)), "{key}");
        }
    });
}
