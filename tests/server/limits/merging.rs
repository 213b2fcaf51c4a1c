//! BF.MERGE at a limit of memory: an error, and nothing changes.

use bloomline_harness::{Client, Setup, Stop, for_each_server, matches};

use crate::inspect::{number, totals};
use crate::overlapping::{add, assert_contains, digests};

/// Two filters of about 7 MB, the second with a further layer.
fn large(client: &mut Client, options: &str) {
    client.ok(&format!("BF.RESERVE a 0.01 1000 EXPANSION 4096 {options}"));
    assert_eq!(client.ask("COPY a b"), ":1");
    add(client, "a", 0..100);
    add(client, "b", 0..1100);
    assert_eq!(client.ask("BF.INFO b FILTERS"), "*[:2]");
}

#[test]
fn bf_max_filter_bytes_applies_to_merges() {
    for_each_server(|kind| {
        for options in ["SEED 7", "LAYOUT REDISBLOOM"] {
            let mut server =
                Setup::new().debug().module_args("bf-max-filter-bytes 20mb").start(kind);
            large(&mut server.resp2(), options);
            server.edit_config("bf-max-filter-bytes 20mb", "bf-max-filter-bytes 1mb");
            server.restart(Stop::Save);
            let mut client = server.resp2();
            let before = (digests(&mut client, ["a", "b"]), totals(&mut client));
            let why = "it needs <n> bytes, bf-max-filter-bytes allows 1048576";
            for line in ["BF.MERGE a b", "BF.MERGE new b", "BF.MERGE new a b"] {
                let reply = client.ask(line);
                let expected = format!("-ERR Insufficient memory to merge filters: {why}");
                assert!(matches(&expected, &reply), "{options}: {line}: {reply}");
            }
            assert_eq!((digests(&mut client, ["a", "b"]), totals(&mut client)), before);
            assert_eq!(number(&mut client, "merges_refused"), 3);
            assert_eq!(client.ask("EXISTS new"), ":0");
            // Nothing is allocated for these.
            client.ok("BF.MERGE b a");
            client.ok("BF.MERGE new a");
        }
    });
}

#[test]
fn maxmemory_applies_to_merges() {
    for_each_server(|kind| {
        for options in ["SEED 7", "LAYOUT REDISBLOOM"] {
            let server = Setup::new().debug().start(kind);
            let mut client = server.resp2();
            large(&mut client, options);
            let max = client.info_number("used_memory") + (2 << 20);
            client.ok(&format!("CONFIG SET maxmemory {max}"));
            let before = (digests(&mut client, ["a", "b"]), totals(&mut client));
            let why = "its new layers need <n> bytes, maxmemory <n> leaves <n>";
            for line in ["BF.MERGE a b", "BF.MERGE new b", "BF.MERGE new a b"] {
                let reply = client.ask(line);
                let expected = format!("-ERR Insufficient memory to merge filters: {why}");
                assert!(matches(&expected, &reply), "{options}: {line}: {reply}");
            }
            assert_eq!((digests(&mut client, ["a", "b"]), totals(&mut client)), before);
            client.ok("BF.MERGE b a");
            // The server itself refuses when it is out of memory.
            client.ok("CONFIG SET maxmemory 1");
            assert!(client.ask("BF.MERGE b a").starts_with("-OOM "));
            client.ok("CONFIG SET maxmemory 0");
            client.ok("BF.MERGE a b");
            client.ok("BF.MERGE new b");
            assert_contains(&mut client, "a", 0..1100);
        }
    });
}
