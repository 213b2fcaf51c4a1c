//! Compacting without free memory, of a giant, and while a child process saves.

use bloomline_harness::{Limits, Setup, Stop, numbered, show};

use crate::filters::{compact, observe};
use crate::inspect::{digest, info_field};

#[test]
fn an_empty_reservation_of_a_gigabyte_becomes_a_page() {
    Setup::new().debug().on_each_server(|mut client, server| {
        for (options, most) in [("", 8192), ("NONSCALING", 8192), ("LAYOUT redisbloom", 8192)] {
            client.ok(&format!("BF.RESERVE k 0.01 750000000 {options}"));
            let before = info_field(&mut client, "k", "SIZE");
            assert!(before > 850 << 20, "{before}");
            let resident = server.resident();
            let freed = compact(&mut client, "k");
            assert!(before - freed <= most, "{options}: {} bytes", before - freed);
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
fn folding_works_without_memory_beside_the_filter() {
    Setup::new().debug().on_each_server(|mut client, server| {
        client.ok("BF.RESERVE k 0.01 20000000 NONSCALING");
        for part in numbered("item", 100_000).chunks(10_000) {
            client.items("BF.MADD", "k", part);
        }
        client.ok("BF.RESERVE half 0.01 20000000 NONSCALING");
        // Less than an eighth of a filter.
        server.limit(Limits::memory_beyond(server.pid(), 1 << 20));
        let freed = ["k", "half"].map(|key| compact(&mut client, key));
        server.limit(Limits::default());
        assert!(freed.iter().all(|freed| *freed > 20_000_000), "{freed:?}");
        let found = client.items("BF.MEXISTS", "k", &numbered("item", 100_000));
        assert!(!show(&found).contains(":0"));
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

#[test]
fn runs_when_maxmemory_is_reached() {
    Setup::new().debug().on_each_server(|mut client, _| {
        client.ok("BF.RESERVE k 0.001 100000");
        client.items("BF.MADD", "k", &numbered("item", 2000));
        let items = client.ask("BF.CARD k");
        client.ok("CONFIG SET maxmemory 1");
        assert!(client.ask("BF.ADD k x").starts_with("-OOM"));
        assert!(compact(&mut client, "k") > 0);
        let found = show(&client.items("BF.MEXISTS", "k", &numbered("item", 2000)));
        assert!(!found.contains(":0"), "{found}");
        assert_eq!(client.ask("BF.CARD k"), items);
    });
}
