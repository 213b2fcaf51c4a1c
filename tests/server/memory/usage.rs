//! MEMORY USAGE: the bytes that the allocator really gave.

use bloomline_harness::{Client, Setup, for_each_build, int, numbered};

use crate::inspect::info_field;

fn usage(client: &mut Client, key: &str) -> u64 {
    int(&client.call(&format!("MEMORY USAGE {key}"))).try_into().expect("bytes")
}

fn used(client: &mut Client) -> u64 {
    client.info("used_memory").trim().parse().expect("bytes")
}

#[test]
fn a_default_filter_takes_a_fifth_more_than_redisblooms_at_most() {
    for_each_build(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        client.call("BF.ADD k a");
        let bytes = usage(&mut client, "k");
        // 272 bytes there.
        // Its allocator counts its own head of each block as well.
        let most = if kind.is_before_7() { 360 } else { 326 };
        assert!((150..=most).contains(&bytes), "{bytes}");
    });
}

#[test]
fn many_small_filters_take_what_their_usage_says() {
    const FILTERS: u64 = 4000;
    for_each_build(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        // The server's own buffers have their size from here on.
        client.call("BF.ADD k0 a");
        let before = used(&mut client);
        for key in 1..=FILTERS {
            client.call(&format!("BF.ADD k{key} a"));
        }
        let each = (used(&mut client) - before) / FILTERS;
        let said = usage(&mut client, "k1000");
        // Of what a key costs, the server leaves out its place in the table and its own head of the
        // value.
        assert!(
            each <= said + 80 && said <= each + 32,
            "{each} bytes each, MEMORY USAGE says {said}"
        );
    });
}

#[test]
fn usage_grows_with_every_layer() {
    for_each_build(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
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
fn usage_of_large_filters_is_what_used_memory_grows_by() {
    for_each_build(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        // 10 MB in one layer; 1 MB in ten.
        for reservation in ["0.01 7000000", "0.01 50000 EXPANSION 1"] {
            let before = used(&mut client);
            client.ok(&format!("BF.RESERVE k {reservation}"));
            if reservation.ends_with('1') {
                for batch in numbered("item", 500_000).chunks(1000) {
                    client.items("BF.MADD", "k", batch);
                }
            }
            let grown = used(&mut client).saturating_sub(before) as f64;
            let said = usage(&mut client, "k") as f64;
            assert!((said / grown - 1.0).abs() < 0.05, "{reservation}: {grown} bytes, {said} said");
            let size = info_field(&mut client, "k", "SIZE") as f64;
            // Arithmetic on what was asked for: the allocator gives up to a quarter more.
            assert!(
                size <= grown && size > grown * 0.75,
                "{reservation}: {grown} bytes, BF.INFO {size}"
            );
            client.ok("FLUSHALL SYNC");
        }
    });
}
