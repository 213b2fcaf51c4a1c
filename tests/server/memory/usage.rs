//! MEMORY USAGE: the bytes that the allocator has given.

use bloomline_harness::{NOISE, Setup, numbered};

use super::usage;
use crate::inspect::info_field;

#[test]
fn default_filters_take_at_most_a_fifth_more_than_redisbloom() {
    Setup::new().on_each_build(|mut client, server| {
        client.call("BF.ADD k a");
        let bytes = usage(&mut client, "k");
        // RedisBloom's filter takes 272 bytes. The allocator of Redis 6.2 counts its header of each
        // block as well.
        let most = if server.kind.is_before_7() { 360 } else { 326 };
        assert!((150..=most).contains(&bytes), "{bytes}");
    });
}

#[test]
fn usage_of_small_filters_agrees_with_used_memory() {
    const FILTERS: u64 = 4000;
    Setup::new().on_each_build(|mut client, _| {
        // The buffers of the server do not grow after this command.
        client.call("BF.ADD k0 a");
        let before = client.info_number("used_memory");
        for key in 1..=FILTERS {
            client.call(&format!("BF.ADD k{key} a"));
        }
        let each = (client.info_number("used_memory") - before) / FILTERS;
        let reported = usage(&mut client, "k1000");
        // MEMORY USAGE leaves out the entry in the table of keys and the server's header of the
        // value.
        assert!(
            each <= reported + 80 && reported <= each + 32,
            "{each} bytes each, MEMORY USAGE reports {reported}"
        );
    });
}

#[test]
fn usage_grows_with_every_layer() {
    Setup::new().on_each_build(|mut client, _| {
        let mut last = 0;
        for batch in numbered("item", 3000).chunks(100) {
            let layers = client.ask("BF.INFO k FILTERS");
            client.items("BF.MADD", "k", batch);
            let bytes = usage(&mut client, "k");
            let has_grown = client.ask("BF.INFO k FILTERS") != layers;
            assert!(
                if has_grown { bytes > last } else { bytes == last },
                "{last} bytes, then {bytes}"
            );
            assert!(bytes >= info_field(&mut client, "k", "SIZE"));
            last = bytes;
        }
        assert_eq!(client.ask("BF.INFO k FILTERS"), "*[:5]");
    });
}

#[test]
fn usage_of_large_filters_agrees_with_used_memory() {
    Setup::new().on_each_build(|client, server| {
        drop(client);
        // One layer of 10 MB; ten layers of 3 MB and more together.
        for reservation in ["0.01 7000000", "0.000000001 50000 EXPANSION 1"] {
            let mut client = server.resp2();
            client.ok(&format!("BF.RESERVE k {reservation}"));
            if reservation.ends_with('1') {
                for batch in numbered("item", 500_000).chunks(1000) {
                    client.items("BF.MADD", "k", batch);
                }
            }
            let reported = usage(&mut client, "k") as f64;
            let size = info_field(&mut client, "k", "SIZE") as f64;
            drop(client);
            let freed = server.freed_by_flushall() as f64;
            assert!(
                (reported / freed - 1.0).abs() < 0.05,
                "{reservation}: {freed} bytes freed, {reported} reported"
            );
            // BF.INFO SIZE is computed from the requested bytes. The allocator gives up to a
            // quarter more.
            assert!(
                size <= freed + NOISE as f64 && size > freed * 0.75,
                "{reservation}: {freed} bytes freed, BF.INFO {size}"
            );
        }
    });
}
