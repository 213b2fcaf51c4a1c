//! BF.COMPACT gives memory back to the server.

use bloomline_harness::{Client, Setup, int, numbered};

use crate::filters::compact;
use crate::inspect::info_field;

/// What the server's memory grows by while a client sends commands.
const NOISE: u64 = 64 << 10;

fn usage(client: &mut Client, key: &str) -> u64 {
    int(&client.call(&format!("MEMORY USAGE {key} SAMPLES 0"))).try_into().expect("bytes")
}

#[test]
fn the_memory_is_given_back() {
    Setup::new().on_each_build(|mut client, _| {
        for options in ["", "NONSCALING", "LAYOUT redisbloom"] {
            for items in [0, 1000, 100_000] {
                client.ok(&format!("BF.RESERVE k 0.01 643496 {options}"));
                for part in numbered("item", items).chunks(10_000) {
                    client.items("BF.MADD", "k", part);
                }
                let sizes =
                    |client: &mut Client| (usage(client, "k"), client.info_number("used_memory"));
                let before = sizes(&mut client);
                let freed = compact(&mut client, "k");
                let after = sizes(&mut client);
                let case = format!("{options} {items}: {before:?} {after:?} {freed}");
                assert!(freed > 200_000, "{case}");
                // Allocators round up by a quarter at most.
                let size = info_field(&mut client, "k", "SIZE");
                assert!(after.0 >= size && after.0 <= size + size / 4 + 8192, "{size}: {case}");
                let fallen = before.0 - after.0;
                assert!((before.1 - after.1).abs_diff(fallen) < NOISE, "{case}");
                assert_eq!(client.ask("DEL k"), ":1");
                client.wait_for_frees();
            }
        }
    });
}
