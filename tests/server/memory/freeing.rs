//! Large filters are freed in the background, small ones at once.

use bloomline_harness::{Client, Setup, numbered, until};

/// A filter of 1.3 MB in which every page was written.
fn build(client: &mut Client, key: &str) {
    client.ok(&format!("BF.RESERVE {key} 0.01 1000000"));
    client.items("BF.MADD", key, &numbered("item", 5000));
}

fn freed(client: &mut Client) -> u64 {
    client.info_number("lazyfreed_objects")
}

/// Waits until the background threads have freed more than `before` objects and are idle.
fn wait_for_more_than(before: u64, client: &mut Client, after: &str) {
    until(&format!("the background threads to free a filter after {after}"), || {
        let is_idle = client.info("lazyfree_pending_objects").trim() == "0";
        (is_idle && freed(client) > before).then_some(())
    });
}

#[test]
fn large_filters_are_freed_in_the_background() {
    Setup::new()
        .line("lazyfree-lazy-user-del yes")
        .line("lazyfree-lazy-user-flush yes")
        .line("lazyfree-lazy-server-del yes")
        .line("lazyfree-lazy-expire yes")
        .on_each_build(|mut client, _| {
            let empty: u64 = client.info_number("used_memory");
            for line in [
                "UNLINK k",
                "UNLINK k # cuckoo",
                "DEL k",
                "SET k value",
                "RENAME other k",
                "COPY other k REPLACE",
                "PEXPIRE k 1",
                "FLUSHDB ASYNC",
                "FLUSHALL ASYNC",
            ] {
                client.ok("FLUSHALL SYNC");
                client.ok("SET other value");
                match line {
                    "UNLINK k # cuckoo" => client.ok("CF.RESERVE k 2000000"),
                    _ => build(&mut client, "k"),
                }
                let before = freed(&mut client);
                client.call(line.trim_end_matches(" # cuckoo"));
                // An expired key is deleted at the latest when a command accesses it.
                if line.starts_with("PEXPIRE") {
                    until("the filter to expire", || {
                        (client.ask("EXISTS k") == ":0").then_some(())
                    });
                }
                wait_for_more_than(before, &mut client, line);
            }
            client.ok("FLUSHALL SYNC");
            let left: u64 = client.info_number("used_memory");
            assert!(left < empty + (1 << 20), "{empty} bytes before, {left} after");
        });
}

#[test]
fn evicted_filters_are_freed_in_the_background() {
    Setup::new()
        .line("lazyfree-lazy-eviction yes")
        .line("maxmemory-policy allkeys-lru")
        .on_each_build(|mut client, _| {
            for key in 0..8 {
                build(&mut client, &format!("k{key}"));
            }
            let before = freed(&mut client);
            let used: u64 = client.info_number("used_memory");
            client.ok(&format!("CONFIG SET maxmemory {}", used - (3 << 20)));
            wait_for_more_than(before, &mut client, "eviction");
            until("memory to fall below its limit", || {
                let used_now: u64 = client.info_number("used_memory");
                (used_now <= used - (3 << 20)).then_some(())
            });
            assert_ne!(client.info("evicted_keys").trim(), "0");
        });
}

#[test]
fn small_filters_are_freed_at_once() {
    Setup::new().on_each_build(|mut client, _| {
        let before = freed(&mut client);
        for _ in 0..10 {
            client.call("BF.MADD k a b c");
            assert_eq!(client.ask("UNLINK k"), ":1");
        }
        assert_eq!(client.info("lazyfree_pending_objects").trim(), "0");
        assert_eq!(freed(&mut client), before);
    });
}
