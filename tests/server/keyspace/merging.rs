//! Merges as changes of keys: WATCH, client-side caching, events, transactions.

use bloomline_harness::{Client, Setup, for_each_server, matches};

use crate::keyspace::events::Listener;
use crate::keyspace::tracking::invalidations;
use crate::keyspace::watch::is_aborted;
use crate::overlapping::{KINDS, assert_contains, make};

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
    Setup::new().on_each_server(|mut client, _| {
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
