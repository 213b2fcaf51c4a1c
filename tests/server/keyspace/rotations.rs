//! Events, WATCH and client-side caching: each rotation is a change, and nothing else is one.

use bloomline_harness::{Setup, for_each_server};

use crate::keyspace::events::Listener;
use crate::keyspace::tracking::invalidations;
use crate::keyspace::watch::is_aborted;
use crate::windowed::{RATE, age};

/// Milliseconds of a slot of [`RESERVE`].
const SLOT: u64 = 1_000_000_000;

#[test]
fn rotations_are_notified_before_the_items() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut listener = Listener::start(&server, "Eg");
        for (line, expected) in [
            ("BF.RESERVE hand 0.01 100 GENERATIONS 2", &["bloom.reserve hand"][..]),
            ("BF.ADD hand a", &["bloom.add hand"]),
            ("BF.ROTATE hand", &["bloom.rotate hand"]),
            ("BF.ROTATE hand AT 5", &["bloom.rotate hand"]),
            // Refreshed.
            ("BF.ADD hand a", &["bloom.add hand"]),
            ("BF.ADD hand a", &[]),
            ("BF.ROTATE hand AT x", &[]),
            ("BF.ROTATE missing", &[]),
            ("BF.EXISTS hand a", &[]),
            (
                "BF.INSERT last CAPACITY 8 LAST GENERATIONS 8 ITEMS a",
                &["bloom.reserve last", "bloom.add last"],
            ),
            ("BF.MADD last b c", &["bloom.rotate last", "bloom.add last"]),
            ("BF.ADD last d", &["bloom.rotate last", "bloom.add last"]),
            ("BF.ADD last d", &[]),
            ("BF.ROTATE last AT 5", &[]),
            ("BF.RESERVE window 0.01 100 WINDOW 8000000 GENERATIONS 8", &["bloom.reserve window"]),
            ("BF.ADD window a", &["bloom.add window"]),
            ("BF.ROTATE window", &[]),
            // Nothing is due.
            ("BF.ROTATE window AT 5", &[]),
        ] {
            let reply = listener.client.ask(line);
            assert_eq!(listener.received(), expected, "{line}: {reply}");
        }
        // The server has an event of its own for the expiry.
        listener.client.ok("BF.RESERVE ttl 0.01 100 TTL 1000");
        let received = listener.received();
        assert_eq!(received[0], "bloom.reserve ttl");
        assert!(received[1..].iter().all(|event| event == "expire ttl"), "{received:?}");
    });
}

#[test]
fn additions_after_a_slot_notify_of_both() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut listener = Listener::start(&server, "Eg");
        for (options, item, expected) in [
            ("", "b", &["bloom.rotate k", "bloom.add k"][..]),
            ("", "a", &["bloom.rotate k", "bloom.add k"]),
            (" NOREFRESH", "a", &["bloom.rotate k"]),
        ] {
            listener
                .client
                .ok(&format!("BF.RESERVE k {RATE} 100 WINDOW 8000000 GENERATIONS 8{options}"));
            listener.client.call("BF.ADD k a");
            age(&mut listener.client, "k", SLOT);
            listener.received();
            listener.client.call(&format!("BF.ADD k {item}"));
            assert_eq!(listener.received(), expected, "{options} {item}");
            listener.client.ok("FLUSHALL");
        }
    });
}

#[test]
fn rotations_touch_watchers_and_cached_replies() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let (mut watcher, mut caching, mut client) =
            (server.resp2(), server.resp3(), server.resp2());
        caching.ok("CLIENT TRACKING ON");
        let prepare = [
            format!("BF.RESERVE hand {RATE} 100 GENERATIONS 2"),
            format!("BF.RESERVE window {RATE} 100 WINDOW 8000000 GENERATIONS 8 NOREFRESH"),
            format!("BF.RESERVE last {RATE} 8 LAST GENERATIONS 8"),
        ];
        for (line, key, changes) in [
            ("BF.ROTATE hand", "hand", true),
            ("BF.ROTATE hand AT 5", "hand", true),
            ("BF.ROTATE hand AT x", "hand", false),
            ("BF.ADD hand a", "hand", true),
            ("BF.ADD window a", "window", true),
            ("BF.ROTATE window", "window", false),
            ("BF.ROTATE window AT 5", "window", false),
            ("BF.ADD last a", "last", false),
            ("BF.ADD last b", "last", true),
            ("BF.INFO window WINDOW", "window", false),
        ] {
            client.ok("FLUSHALL");
            for line in &prepare {
                client.ok(line);
            }
            for key in ["hand", "window", "last"] {
                assert_eq!(client.ask(&format!("BF.ADD {key} a")), ":1");
            }
            client.ok("BF.ROTATE hand");
            age(&mut client, "window", SLOT);
            invalidations(&mut caching);
            caching.call(&format!("BF.EXISTS {key} a"));
            let mut reply = String::new();
            let is_touched = is_aborted(&mut watcher, key, || reply = client.ask(line));
            assert_eq!(is_touched, changes, "{line}: {reply}");
            let received = invalidations(&mut caching);
            assert_eq!(received.len(), usize::from(changes), "{line} ({reply}): {received:?}");
        }
    });
}
