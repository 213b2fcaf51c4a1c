//! MEMORY USAGE: the bytes that the allocator has given.

use bloomline_harness::{Client, NOISE, Setup, numbered};

use super::usage;
use crate::filters::{Family, compact};
use crate::inspect::info_field;

/// RedisBloom's Bloom filter takes 272 bytes, its cuckoo filter 184 bytes and the key.
#[test]
fn small_bloom_filters_take_less_than_redisblooms_and_cuckoo_filters_little_more() {
    Setup::new().on_each_build(|mut client, server| {
        // The allocator of Redis 6.2 counts its header of each block as well.
        let header = if server.kind.is_before_7() { 16 } else { 0 };
        let items = (1..=17).map(|item| item.to_string()).collect::<Vec<_>>();
        for (line, least, most) in [
            ("BF.ADD k a", 48, 110 + header),
            (&format!("BF.MADD k {}", items.join(" ")), 150, 254 + header),
            ("CF.RESERVE k 100", 150, 420),
            ("CF.RESERVE k 100 LAYOUT REDISBLOOM", 150, 300),
        ] {
            client.call(line);
            let bytes = usage(&mut client, "k");
            assert!((least..=most).contains(&bytes), "{line}: {bytes}");
            assert_eq!(client.ask("DEL k"), ":1");
        }
    });
}

/// Each form of the word that a key holds: a sparse filter, one of bits in one allocation, and one
/// that has grown to a box, a windowed one, and those of other layouts.
#[test]
fn usage_of_small_filters_agrees_with_used_memory() {
    const FILTERS: u64 = 2000;
    Setup::new().on_each_build(|mut client, _| {
        for (items, options) in [
            (1, ""),
            (6, ""),
            (100, ""),
            (120, ""),
            (1, "NONSCALING"),
            (1, "GENERATIONS 2"),
            (1, "LAYOUT REDISBLOOM"),
            (1, "LAYOUT VALKEY-BLOOM"),
        ] {
            let items = numbered("item", items);
            let make = |client: &mut Client, key: &str| {
                client.ok(&format!("BF.RESERVE {key} 0.01 100 {options}"));
                client.items("BF.MADD", key, &items);
            };
            // The buffers of the server do not grow after this key.
            make(&mut client, "k0");
            let before = client.info_number("used_memory");
            for key in 1..=FILTERS {
                make(&mut client, &format!("k{key}"));
            }
            let each = (client.info_number("used_memory") - before) / FILTERS;
            let reported = usage(&mut client, "k1000");
            // MEMORY USAGE leaves out the entry in the table of keys and the server's header of the
            // value.
            assert!(
                each <= reported + 80 && reported <= each + 32,
                "{options}: {each} bytes each, MEMORY USAGE reports {reported}"
            );
            // What is freed in the background would lower the next figure.
            client.ok("FLUSHALL SYNC");
        }
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

/// Makes a filter under `k`.
type Make = fn(&mut Client);

/// Filters whose bytes are nearly all in a few large blocks.
const LARGE: [(&str, Make); 9] = [
    ("one layer of 10 MB", |client| client.ok("BF.RESERVE k 0.01 7000000")),
    ("ten layers of 3 MB and more together", |client| {
        client.ok("BF.RESERVE k 0.000000001 50000 EXPANSION 1");
        add(client, &numbered("item", 500_000));
    }),
    ("generations", |client| slide(client, 100_000)),
    ("generations with overflow layers", |client| slide(client, 600_000)),
    ("a cuckoo filter of 10 MB", |client| client.ok("CF.RESERVE k 8000000")),
    ("a table of 8 MiB", |client| client.ok("CF.RESERVE k 8000000 LAYOUT REDISBLOOM")),
    ("16 tables of 128 KiB", |client| {
        client.ok("CF.RESERVE k 131072 LAYOUT REDISBLOOM");
        // A table has room for four copies of an item, in its two buckets.
        for _ in 0..4 * 16 {
            assert_eq!(client.ask("CF.ADD k a"), ":1");
        }
        assert!(client.ask("CF.DEBUG k").contains("filters:16 "));
    }),
    ("a compacted layer", |client| {
        client.ok("BF.RESERVE k 0.01 6434960");
        add(client, &numbered("item", 500_000));
        assert!(compact(client, "k") > 2_000_000);
    }),
    ("a compacted layer of RedisBloom's layout", |client| {
        client.ok("BF.RESERVE k 0.01 643496 LAYOUT REDISBLOOM");
        add(client, &numbered("item", 100_000));
        assert!(compact(client, "k") > 200_000);
    }),
];

fn add(client: &mut Client, items: &[Vec<u8>]) {
    for batch in items.chunks(1000) {
        client.items("BF.MADD", "k", batch);
    }
}

/// A filter of 400,000 items by hand: six rotations drop two generations.
fn slide(client: &mut Client, items: usize) {
    client.ok("BF.RESERVE k 0.001 400000 GENERATIONS 4");
    for step in 0..7 {
        add(client, &numbered(&format!("step{step}"), items / 4));
        client.ok("BF.ROTATE k");
    }
    client.wait_for_frees();
}

/// The size in CF.INFO.
fn cuckoo_size(client: &mut Client) -> u64 {
    let info = client.ask("CF.INFO k");
    let size = info.split("Size :").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
    size.unwrap_or_else(|| panic!("no size in {info}"))
}

#[test]
fn usage_of_large_filters_agrees_with_used_memory() {
    Setup::new().on_each_build(|client, server| {
        drop(client);
        for (what, make) in LARGE {
            let mut client = server.resp2();
            make(&mut client);
            let reported = usage(&mut client, "k");
            let size = match Family::of(&mut client, "k") {
                Family::Bloom => info_field(&mut client, "k", "SIZE"),
                Family::Cuckoo => cuckoo_size(&mut client),
            };
            drop(client);
            let freed = server.freed_by_flushall();
            let what = format!("{what}: {freed} freed, {reported} reported, {size} in INFO");
            assert!(reported.abs_diff(freed) < NOISE + freed / 20, "{what}");
            // The size is computed from the requested bytes. The allocator gives up to a quarter
            // more.
            assert!(size <= freed + NOISE && size > freed * 3 / 4 - NOISE, "{what}");
        }
    });
}
