//! Memory of cuckoo filters: what is reported, when it is taken, and how it is freed.

use bloomline_harness::{Setup, Stop, int, numbered, until};

use super::usage;
use crate::filters::Family;

#[test]
fn usage_agrees_with_used_memory() {
    Setup::new().on_each_build(|client, server| {
        drop(client);
        // One table of 8 MiB or 10 MB; 16 tables of 128 KiB.
        for (options, tables) in
            [("8000000", 1), ("8000000 LAYOUT REDISBLOOM", 1), ("131072 LAYOUT REDISBLOOM", 16)]
        {
            let mut client = server.resp2();
            client.ok(&format!("CF.RESERVE k {options}"));
            // A table in RedisBloom's layout has room for four copies of an item, in its two
            // buckets.
            for _ in 0..4 * tables {
                assert_eq!(client.ask("CF.ADD k a"), ":1");
            }
            assert!(client.ask("CF.DEBUG k").contains(&format!("filters:{tables} ")));
            let reported = usage(&mut client, "k") as f64;
            drop(client);
            let freed = server.freed_by_flushall() as f64;
            assert!(
                (reported / freed - 1.0).abs() < 0.05,
                "{options}: {freed} bytes freed, {reported} reported"
            );
        }
    });
}

#[test]
fn small_filters_take_little_more_than_their_slots() {
    Setup::new().on_each_build(|mut client, _| {
        // 336 bytes as computed, in three blocks. RedisBloom's takes 184 bytes and the key.
        for (options, most) in [("", 420), ("LAYOUT REDISBLOOM", 300)] {
            client.ok(&format!("CF.RESERVE k 100 {options}"));
            let bytes = int(&client.call("MEMORY USAGE k"));
            assert!((150..most).contains(&bytes), "{options}: {bytes}");
            assert_eq!(client.ask("DEL k"), ":1");
        }
    });
}

#[test]
fn a_gigabyte_is_taken_only_when_it_is_written() {
    Setup::new().on_each_build(|mut client, server| {
        let before = server.resident();
        client.ok("CF.RESERVE k 1073741824");
        for item in ["a", "b", "a"] {
            assert_eq!(client.ask(&format!("CF.ADD k {item}")), ":1");
        }
        assert_eq!(client.ask("CF.MEXISTS k a b c"), "*[:1 :1 :0]");
        assert_eq!(client.ask("CF.COUNT k a"), ":2");
        assert_eq!(client.ask("CF.DEL k a"), ":1");
        let grown = server.resident().saturating_sub(before);
        assert!(grown < 16 << 20, "{grown} bytes became resident");
        // The server counts all of them.
        let used = client.info_number("used_memory");
        assert!(used > 1 << 30, "{used}");
        assert_eq!(client.ask("UNLINK k"), ":1");
        until("the filter to be freed", || {
            (client.info_number("used_memory") < 100 << 20).then_some(())
        });
    });
}

#[test]
fn large_filters_are_saved_and_freed_in_the_background() {
    Setup::new().on_each_build(|mut client, mut server| {
        client.ok("CF.RESERVE k 32000000");
        Family::Cuckoo.add(&mut client, "k", &numbered("item", 1000));
        let chunks = client.chunks("k");
        assert_eq!(chunks.len(), 4, "a header, and three chunks of at most 16 MiB");
        let info = client.ask("CF.INFO k");
        server.restart(Stop::Save);
        let mut client = server.resp2();
        assert_eq!(client.ask("CF.INFO k"), info);
        assert_eq!(client.ask("CF.MEXISTS k item:0 item:999"), "*[:1 :1]");
        assert!(client.chunks("k") == chunks, "other bytes");
        let freed = client.info_number("lazyfreed_objects");
        assert_eq!(client.ask("UNLINK k"), ":1");
        until("the background threads to free a filter", || {
            (client.info_number("lazyfreed_objects") > freed).then_some(())
        });
        until("its memory to be returned", || (server.resident() < 48 << 20).then_some(()));
    });
}
