//! Keyspace events: sent for every change, and never without one.

use bloomline_harness::{Client, Server, Setup, bulk, for_each_server};
use redis::Value;

use super::watch::{CALLS, prepare};

/// A connection that receives events, and one that causes them.
pub struct Listener {
    subscriber: Client,
    /// The connection that causes events.
    pub client: Client,
}

impl Listener {
    /// Subscribes to events of these classes.
    pub fn start(server: &Server, classes: &str) -> Self {
        let (mut subscriber, mut client) = (server.resp2(), server.resp2());
        client.ok(&format!("CONFIG SET notify-keyspace-events {classes}"));
        subscriber.call("PSUBSCRIBE __key*__:*");
        Self { subscriber, client }
    }

    /// The events since the last call, as `event key`.
    pub fn received(&mut self) -> Vec<String> {
        self.client.call("PUBLISH __keyevent@0__:fence all");
        let mut events = Vec::new();
        loop {
            let Value::Array(message) = self.subscriber.receive("PSUBSCRIBE") else {
                panic!("a message")
            };
            let text = |at: usize| String::from_utf8_lossy(bulk(&message[at])).into_owned();
            let event = text(2).split_once(':').expect("a channel").1.to_owned();
            if event == "fence" {
                return events;
            }
            events.push(format!("{event} {}", text(3)));
        }
    }
}

/// The events of those [`CALLS`] that change something.
fn expected(line: &str) -> &'static [&'static str] {
    match line {
        "BF.RESERVE missing 0.01 100" => &["bloom.reserve missing"],
        "BF.COMPACT roomy" => &["bloom.compact roomy"],
        "BF.ROTATE hand" => &["bloom.rotate hand"],
        "CF.RESERVE missing 100" => &["cuckoo.reserve missing"],
        "CF.DEL cuckoo a" | "CF.MDEL cuckoo x b b b" | "CF.BULKDEL cuckoo FIXED 1 xa" => {
            &["cuckoo.del cuckoo"]
        }
        "CF.COMPACT deleted" => &["cuckoo.compact deleted"],
        "CF.COMPACT sparse" => &["cuckoo.compact sparse"],
        "CF.LOADCHUNK deleted 2 x" => &["cuckoo.load deleted"],
        line if line.starts_with("CF.") && line.contains(" missing ") => {
            &["cuckoo.reserve missing", "cuckoo.add missing"]
        }
        line if line.starts_with("CF.") => &["cuckoo.add cuckoo"],
        line if line.contains(" missing ") => &["bloom.reserve missing", "bloom.add missing"],
        _ => &["bloom.add k"],
    }
}

#[test]
fn exactly_the_changes_are_notified() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut listener = Listener::start(&server, "Eg");
        let mut wrong = String::new();
        for (line, changes) in CALLS {
            prepare(&mut listener.client);
            listener.received();
            let reply = listener.client.ask(line);
            let received = listener.received();
            if received != if *changes { expected(line) } else { &[] } {
                wrong += &format!("\n{line} ({reply}): {received:?}");
            }
        }
        assert!(wrong.is_empty(), "{wrong}");
    });
}

#[test]
fn every_loaded_chunk_is_notified() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut listener = Listener::start(&server, "Eg");
        prepare(&mut listener.client);
        listener.received();
        for iterator in [0, 1] {
            let (next, data) = listener.client.scandump("k", iterator);
            assert_eq!(listener.client.loadchunk("missing", next, &data), "+OK");
            assert_eq!(listener.received(), ["bloom.load missing"]);
        }
    });
}

#[test]
fn events_belong_to_the_generic_class() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        // All classes but the generic one, which `A` would include.
        let mut listener = Listener::start(&server, "E$lshzxe");
        listener.client.call("BF.ADD k a");
        assert_eq!(listener.received(), [""; 0]);
        // Channels by key instead of by event.
        let mut listener = Listener::start(&server, "Kg");
        listener.client.call("BF.ADD other a");
        assert_eq!(listener.received(), ["other bloom.reserve", "other bloom.add"]);
    });
}

#[test]
fn scripts_and_transactions_notify() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut listener = Listener::start(&server, "Eg");
        listener.client.call(r#"EVAL "return redis.call('BF.ADD', KEYS[1], 'a')" 1 k"#);
        assert_eq!(listener.received(), ["bloom.reserve k", "bloom.add k"]);
        for line in ["MULTI", "BF.ADD k a", "BF.ADD k b", "EXEC"] {
            listener.client.call(line);
        }
        assert_eq!(listener.received(), ["bloom.add k"]);
    });
}
