//! Compacting of a giant, and while a child process saves.

use bloomline_harness::{Setup, Stop, numbered};

use crate::filters::{compact, observe};
use crate::inspect::{digest, info_field};

#[test]
fn an_empty_reservation_of_a_gigabyte_becomes_a_page() {
    Setup::new().debug().on_each_server(|mut client, server| {
        for options in ["", "NONSCALING", "LAYOUT redisbloom"] {
            client.ok(&format!("BF.RESERVE k 0.01 750000000 {options}"));
            let before = info_field(&mut client, "k", "SIZE");
            assert!(before > 850 << 20, "{before}");
            let resident = server.resident();
            let freed = compact(&mut client, "k");
            assert!(before - freed <= 8192, "{options}: {} bytes", before - freed);
            // Untouched pages are not read, so they take no memory meanwhile.
            let grown = server.resident().saturating_sub(resident);
            assert!(grown < 16 << 20, "{options}: {grown} more bytes are resident");
            assert_eq!(client.ask("BF.ADD k a"), ":1");
            assert_eq!(client.ask("BF.EXISTS k a"), ":1");
            assert_eq!(client.ask("DEL k"), ":1");
            client.wait_for_frees();
        }
    });
}

#[test]
fn a_save_in_progress_writes_the_filter_as_it_was() {
    Setup::new().debug().on_each_server(|mut client, mut server| {
        let keys = ["k", "classic"];
        for (key, options) in keys.iter().zip(["", "LAYOUT redisbloom"]) {
            client.ok(&format!("BF.RESERVE {key} 0.001 224279 {options}"));
            client.items("BF.MADD", key, &numbered("item", 20_000));
        }
        let before = keys.map(|key| observe(&mut client, key));
        // The delay applies to each key, in microseconds.
        client.ok("CONFIG SET rdb-key-save-delay 100000");
        client.call("BGSAVE");
        client.wait_for("rdb_bgsave_in_progress", "1");
        let compacted = keys.map(|key| {
            assert!(compact(&mut client, key) > 0, "{key}");
            digest(&mut client, key)
        });
        client.wait_for_saves();
        assert_eq!(keys.map(|key| digest(&mut client, key)), compacted);
        server.restart(Stop::NoSave);
        let mut client = server.resp2();
        assert_eq!(keys.map(|key| observe(&mut client, key)), before);
        // What was loaded is compacted to the same filter.
        for (key, expected) in keys.iter().zip(compacted) {
            assert!(compact(&mut client, key) > 0);
            assert_eq!(digest(&mut client, key), expected, "{key}");
        }
    });
}
