//! BF.COMPACT gives memory back to the server.

use bloomline_harness::{NOISE, Setup, numbered};

use super::usage;
use crate::filters::compact;
use crate::inspect::info_field;

#[test]
fn the_memory_is_given_back() {
    Setup::new().on_each_build(|client, server| {
        drop(client);
        for options in ["", "NONSCALING", "LAYOUT redisbloom"] {
            for items in [0, 1000, 100_000] {
                let mut client = server.resp2();
                client.ok(&format!("BF.RESERVE k 0.01 643496 {options}"));
                for part in numbered("item", items).chunks(10_000) {
                    client.items("BF.MADD", "k", part);
                }
                let freed = compact(&mut client, "k");
                let (reported, size) =
                    (usage(&mut client, "k"), info_field(&mut client, "k", "SIZE"));
                drop(client);
                let left = server.freed_by_flushall();
                let case =
                    format!("{options} {items}: {freed} freed, {reported} reported, {left} left");
                assert!(freed > 200_000, "{case}");
                // Allocators round up by a quarter at most.
                assert!(reported >= size && reported <= size + size / 4 + 8192, "{size}: {case}");
                assert!(left.abs_diff(reported) < NOISE, "{case}");
            }
        }
    });
}
