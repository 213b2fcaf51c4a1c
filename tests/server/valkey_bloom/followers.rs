//! Servers with valkey-bloom that follow a primary with this module: no item that the primary
//! accepted is missing there, also after a restart from the append-only file that they write
//! themselves.

use bloomline_harness::{Client, Replica, Setup, numbered, show};
use bloomline_reference::valkey::{FIXED_SEED, Model};
use redis::Value;

use super::follower::{Follower, Release};
use crate::packed::{Form, answers, send};

/// The items that the primary has accepted, by key.
type Accepted = Vec<(&'static str, Vec<Vec<u8>>)>;

const RELEASES: [Release; 2] = [Release::Current, Release::AllOrNothing];

/// Adds items by a command with one argument per item, and returns those that were accepted.
fn add(client: &mut Client, call: &[&str], items: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let call = call.iter().map(|word| word.as_bytes().to_vec());
    let call: Vec<Vec<u8>> = call.chain(items.iter().cloned()).collect();
    let replies = match client.run(&call) {
        Value::Array(replies) => replies,
        reply => vec![reply],
    };
    let is_accepted = |reply: &Value| matches!(reply, Value::Int(_));
    let accepted = items.iter().zip(&replies).filter(|(_, reply)| is_accepted(reply));
    accepted.map(|(item, _)| item.clone()).collect()
}

/// Adds packed items, and returns those that were accepted.
fn add_packed(client: &mut Client, key: &str, items: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let reply = send(client, "BF.BULKADD", key, Form::Prefixed, items, &[]);
    let (answers, _) = answers(&reply);
    items[..answers.len()].to_vec()
}

/// A call that fills a filter for `capacity` items exactly, of which 1/17 are in it already or
/// twice in the call.
fn filling(capacity: usize) -> Vec<Vec<u8>> {
    let mut items = numbered("filling", capacity);
    items.extend_from_within(..capacity / 16);
    items
}

/// Runs a test with a primary and the commands that it replicates.
fn with_link(test: impl Fn(&mut Client, &mut dyn FnMut() -> Vec<Vec<Vec<u8>>>) + Sync) {
    let setup = Setup::new().module_args("bf-layout valkey-bloom bloom-use-random-seed no");
    setup.on_each_server(|mut client, server| {
        let mut link = Replica::attach(&server);
        test(&mut client, &mut || link.received(&server));
    });
}

/// Asserts that a server with each release that receives these commands contains the items, before
/// and after a restart.
fn assert_followed(commands: &[Vec<Vec<u8>>], accepted: &Accepted) {
    for release in RELEASES {
        let mut follower = Follower::new(release);
        follower.receive(commands);
        for (state, server) in
            [("following", &follower), ("after a restart", &follower.restarted())]
        {
            for (key, items) in accepted {
                let missing = server.missing(key, items);
                let count = items.len();
                assert_eq!(missing, 0, "{release:?}, {state}: {key} has {count} items");
            }
        }
    }
}

#[test]
fn items_of_all_commands_survive_a_restart_of_the_replica() {
    with_link(|client, received| {
        let items = numbered("item", 300);
        client.ok("BF.RESERVE reserved 0.001 500");
        let mut accepted: Accepted = vec![
            ("reserved", add(client, &["BF.MADD", "reserved"], &items)),
            ("one", add(client, &["BF.ADD", "one"], &items[..1])),
            ("grown", add(client, &["BF.MADD", "grown"], &items)),
            (
                "inserted",
                add(client, &["BF.INSERT", "inserted", "CAPACITY", "50", "ITEMS"], &items),
            ),
            ("packed", add_packed(client, "packed", &items)),
        ];
        for (key, items) in &mut accepted {
            let more = numbered("more", 100);
            items.extend(add(client, &["BF.MADD", key], &more[..60]));
            items.extend(add(client, &["BF.INSERT", key, "NOCREATE", "ITEMS"], &more[50..90]));
            items.extend(add_packed(client, key, &more[80..]));
        }
        assert_eq!(client.ask("BF.INFO grown FILTERS"), "*[:3]");
        assert_followed(&received(), &accepted);
    });
}

/// 2 MiB: more than the filters have, and more items than a replicated call.
#[test]
fn many_packed_items_survive_a_restart_of_the_replica() {
    with_link(|client, received| {
        let item = |n| format!("{n:0>100}").into_bytes();
        let items: Vec<_> = (0..21_000).map(item).collect();
        client.ok("BF.RESERVE growing 0.01 15000");
        client.ok("BF.RESERVE filled 0.01 15000 NONSCALING");
        let accepted = vec![
            ("growing", add_packed(client, "growing", &items)),
            ("filled", add_packed(client, "filled", &items)),
        ];
        assert_eq!(accepted[0].1.len(), items.len());
        assert_eq!(client.ask("BF.CARD filled"), ":15000");
        assert_followed(&received(), &accepted);
    });
}

#[test]
fn calls_that_fill_a_filter_are_not_refused_by_replicas() {
    with_link(|client, received| {
        let items = filling(320);
        let mut accepted: Accepted = Vec::new();
        for (key, call) in [
            ("madd", &["BF.MADD", "madd"][..]),
            ("insert", &["BF.INSERT", "insert", "NOCREATE", "ITEMS"]),
            ("packed", &[]),
        ] {
            client.ok(&format!("BF.RESERVE {key} 0.00001 320 NONSCALING"));
            let taken = match call {
                [] => add_packed(client, key, &items),
                _ => add(client, call, &items),
            };
            assert_eq!(taken.len(), items.len(), "{key}");
            accepted.push((key, taken));
        }
        // Items that were added before, and those that do not fit.
        client.ok("BF.RESERVE before 0.00001 320 NONSCALING");
        accepted.push(("before", add(client, &["BF.MADD", "before"], &items[..20])));
        accepted.push(("before", add(client, &["BF.MADD", "before"], &items)));
        let more = numbered("more", 5);
        let over: Vec<_> = [&items[..], &more].concat();
        client.ok("BF.RESERVE over 0.00001 320 NONSCALING");
        accepted.push(("over", add(client, &["BF.MADD", "over"], &over)));
        // The rate of a second layer would be too small.
        let ended = ["BF.INSERT", "ended", "CAPACITY", "320", "ERROR", "1e-305", "TIGHTENING"];
        client.call(&format!("{} 0.0001", ended.join(" ")));
        accepted.push(("ended", add(client, &["BF.MADD", "ended"], &items)));
        assert_eq!(client.ask("BF.CARD ended"), ":320");
        assert_followed(&received(), &accepted);
    });
}

/// Only a call that a replica may refuse is not replicated as it is.
#[test]
fn calls_with_room_for_all_items_are_replicated_verbatim() {
    with_link(|client, received| {
        let items = filling(160);
        for (key, growth) in [("fixed", "NONSCALING"), ("growing", "EXPANSION 2")] {
            client.ok(&format!("BF.RESERVE {key} 0.00001 170 {growth}"));
            received();
            add(client, &["BF.MADD", key], &items);
            let commands = received();
            assert_eq!(commands[0].len(), 2 + items.len(), "{key}");
            // Exactly filled, with nothing but new items.
            add(client, &["BF.MADD", key], &numbered("last", 10));
            assert_eq!(received()[0].len(), 2 + 10, "{key}");
            assert_eq!(client.ask(&format!("BF.CARD {key}")), ":170");
        }
    });
}

/// What replaces whole filters. A BF.LOAD of a client is the one case in which the file of the
/// replica lacks items until it is rewritten.
#[test]
fn filters_that_are_copied_or_loaded_survive_a_restart() {
    with_link(|client, received| {
        let items = numbered("item", 300);
        let accepted = add(client, &["BF.MADD", "k"], &items);
        assert_eq!(client.ask("COPY k copy"), ":1");
        let dump = client.dump("k");
        assert_eq!(client.restore("restored", &dump), "+OK");
        client.ok("RENAME restored renamed");
        let keys = ["k", "copy", "renamed"];
        let commands = received();
        assert_followed(&commands, &keys.map(|key| (key, accepted.clone())).to_vec());

        let mut loaded = Model::new(100, 0.01, 2, 0.5, FIXED_SEED);
        for item in &items {
            loaded.insert(item);
        }
        let payload = loaded.load_payload();
        assert_eq!(show(&client.run(&[&b"BF.LOAD"[..], &b"loaded"[..], &payload])), "+OK");
        let mut follower = Follower::new(Release::Current);
        follower.receive(&[commands, received()].concat());
        assert_eq!(follower.missing("loaded", &items), 0);
        assert!(follower.restarted().missing("loaded", &items) > 200);
        follower.rewrite();
        for key in [&keys[..], &["loaded"]].concat() {
            assert_eq!(follower.restarted().missing(key, &items), 0, "{key}");
        }
    });
}
