//! Who is told of a merge: watchers, caching clients, subscribers. And limits of memory.

use bloomline_harness::{Client, Setup, Stop, for_each_server, matches};

use super::fixture::{KINDS, add, assert_contains, digests, make};
use crate::inspect::{number, totals, with_debug};
use crate::keyspace::events::Listener;
use crate::keyspace::tracking::invalidations;
use crate::keyspace::watch::is_aborted;

/// Calls, the key that each of them changes, and whether it does.
const CALLS: &[(&str, &str, bool)] = &[
    ("BF.MERGE a b", "a", true),
    ("BF.MERGE new a b", "new", true),
    ("BF.MERGE new a a", "new", true),
    ("BF.MERGE a b", "b", false),
    ("BF.MERGE new a b", "b", false),
    ("BF.MERGE a a", "a", false),
    ("BF.MERGE whole a b c", "whole", false),
    ("BF.MERGE a missing", "a", false),
    ("BF.MERGE a missing", "missing", false),
    ("BF.MERGE a other", "a", false),
    ("BF.MERGE new a other", "new", false),
    ("BF.MERGE a text", "a", false),
    ("BF.MERGE text a", "text", false),
];

fn prepare(client: &mut Client, options: &str) {
    make(client, options);
    client.ok("BF.RESERVE other 0.01 100");
    client.ok("SET text value");
}

#[test]
fn only_changes_touch_a_watcher() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let (mut watcher, mut client) = (server.resp2(), server.resp2());
        for options in KINDS {
            for &(line, key, changes) in CALLS {
                prepare(&mut client, options);
                let touched = is_aborted(&mut watcher, key, || drop(client.call(line)));
                assert_eq!(touched, changes, "{options}: {line}, {key}");
            }
        }
    });
}

#[test]
fn only_changes_invalidate_a_cached_reply() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let (mut caching, mut client) = (server.resp3(), server.resp2());
        caching.ok("CLIENT TRACKING ON");
        for &(line, key, changes) in CALLS {
            prepare(&mut client, "SEED 7");
            invalidations(&mut caching);
            caching.call(&format!("BF.EXISTS {key} a"));
            client.call(line);
            let expected = if changes { vec![format!("*[${} {key}]", key.len())] } else { vec![] };
            assert_eq!(invalidations(&mut caching), expected, "{line}, {key}");
        }
    });
}

#[test]
fn exactly_the_changes_are_notified() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut listener = Listener::start(&server, "Eg");
        for options in KINDS {
            for &(line, key, changes) in CALLS {
                prepare(&mut listener.client, options);
                listener.received();
                listener.client.call(line);
                let received = listener.received();
                let is_destination = line.split(' ').nth(1) == Some(key);
                if changes {
                    assert_eq!(received, [format!("bloom.merge {key}")], "{options}: {line}");
                } else if is_destination {
                    assert_eq!(received, [""; 0], "{options}: {line}");
                }
            }
        }
    });
}

#[test]
fn a_transaction_merges_and_replies_in_order() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        prepare(&mut client, "SEED 7");
        client.ok("MULTI");
        for line in ["BF.MERGE d a b", "BF.MERGE d missing", "BF.EXISTS d item:0", "BF.MERGE d c"] {
            assert_eq!(client.ask(line), "+QUEUED");
        }
        let replies = "*[+OK -ERR source 'missing' not found :<n> +OK]";
        let reply = client.ask("EXEC");
        assert!(matches(replies, &reply), "{reply}");
        assert_contains(&mut client, "d", 0..400);
    });
}

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
            let mut server = with_debug(kind).module_args("bf-max-filter-bytes 20mb").start(kind);
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
            let server = with_debug(kind).start(kind);
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
