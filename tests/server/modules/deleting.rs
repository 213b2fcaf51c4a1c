//! A module that deletes the key in the callback of an event: the call continues without the key.

use bloomline_harness::{CModule, Client, for_each_server, int, numbered, show};
use redis::Value;

use crate::cluster::equal::{catch_up, setup};
use crate::inspect::{Totals, totals};

/// Calls on a missing key `k`, their replies, and the events that they cause.
const CALLS: [(&str, &str, &[&str]); 9] = [
    ("BF.RESERVE k 0.01 100", "+OK", &["bloom.reserve"]),
    ("BF.RESERVE k 0.01 2000000", "+OK", &["bloom.reserve"]),
    ("BF.RESERVE k 0.01 2000000 LAYOUT redisbloom", "+OK", &["bloom.reserve"]),
    ("BF.ADD k a", ":1", &["bloom.reserve", "bloom.add"]),
    ("BF.MADD k a b a", "*[:1 :1 :0]", &["bloom.reserve", "bloom.add"]),
    ("BF.INSERT k ITEMS a", "*[:1]", &["bloom.reserve", "bloom.add"]),
    ("BF.INSERT k LAYOUT redisbloom ITEMS a b", "*[:1 :1]", &["bloom.reserve", "bloom.add"]),
    ("BF.INSERT k CAPACITY 2000000 ITEMS a b", "*[:1 :1]", &["bloom.reserve", "bloom.add"]),
    ("BF.INSERT k CAPACITY 1 NONSCALING ITEMS a", "*[:1]", &["bloom.reserve", "bloom.add"]),
];

/// Asserts that the key is deleted if one of the call's events is the one on which the module
/// deletes it.
fn assert_deleted(client: &mut Client, line: &str, is_deleted: bool) {
    assert_eq!(client.ask("EXISTS k"), if is_deleted { ":0" } else { ":1" }, "{line}");
    client.call("DEL k");
    assert_nothing_is_left(client);
}

/// Asserts that there is no key, and that all totals are 0.
fn assert_nothing_is_left(client: &mut Client) {
    client.wait_for_frees();
    assert_eq!((client.ask("DBSIZE"), totals(client)), (":0".into(), Totals::default()));
}

fn run_calls(client: &mut Client, event: &str) {
    for (line, reply, events) in CALLS {
        let is_deleted = events.contains(&event);
        assert_eq!(client.ask(line), reply, "{line}");
        assert_deleted(client, line, is_deleted);

        client.ok("MULTI");
        assert_eq!(client.ask(line), "+QUEUED");
        assert_eq!(client.ask("BF.CARD k"), "+QUEUED");
        let Value::Array(replies) = client.call("EXEC") else { panic!("no array") };
        assert_eq!(show(&replies[0]), reply, "{line} in a transaction");
        let is_empty = is_deleted || events == ["bloom.reserve"];
        assert_eq!(int(&replies[1]) == 0, is_empty, "{line} in a transaction");
        assert_deleted(client, line, is_deleted);

        let words: Vec<String> = line.split(' ').map(|word| format!("'{word}'")).collect();
        let script =
            format!("redis.call({}) return redis.call('EXISTS', KEYS[1])", words.join(", "));
        let found = show(&client.run(&["EVAL", &script, "1", "k"]));
        assert_eq!(found, if is_deleted { ":0" } else { ":1" }, "{line} in a script");
        assert_deleted(client, line, is_deleted);
    }
}

/// Additions to an existing filter, some of which make it grow.
fn run_additions(client: &mut Client, event: &str) {
    for (command, items) in [("BF.ADD", 1), ("BF.MADD", 3), ("BF.MADD", 1000)] {
        for layout in ["bloomline", "redisbloom"] {
            client.ok(&format!("BF.RESERVE k 0.01 10 LAYOUT {layout}"));
            // The filter exists unless its creation deletes it. Then the addition creates the
            // default filter, which is deleted as well.
            let reply = client.items(command, "k", &numbered("item", items));
            let (Value::Int(1) | Value::Array(_)) = reply else { panic!("{}", show(&reply)) };
            assert_deleted(client, command, event != "bloom.load");
        }
    }
}

/// Headers and chunks, on a new filter and on an existing one.
fn run_loads(client: &mut Client, event: &str, chunks: &[(i64, Vec<u8>)]) {
    let is_deleted = event == "bloom.load";
    let mut load = |(iterator, data): &(i64, Vec<u8>), expected: &str| {
        let iterator = iterator.to_string();
        let reply = client.run(&[&b"BF.LOADCHUNK"[..], b"k".as_slice(), iterator.as_bytes(), data]);
        assert_eq!(show(&reply), expected, "iterator {iterator}");
    };
    load(&chunks[0], "+OK");
    load(&chunks[1], if is_deleted { "-ERR not found" } else { "+OK" });
    assert_deleted(client, "BF.LOADCHUNK", is_deleted);
    for chunk in chunks {
        client.ok("MULTI");
        if chunk.0 != 1 && event != "bloom.reserve" {
            assert_eq!(client.ask("BF.RESERVE k 0.01 1000"), "+QUEUED");
        }
        let iterator = chunk.0.to_string();
        let queued =
            client.run(&[&b"BF.LOADCHUNK"[..], b"k".as_slice(), iterator.as_bytes(), &chunk.1]);
        assert_eq!(show(&queued), "+QUEUED");
        assert_eq!(client.ask("EXISTS k"), "+QUEUED");
        let replies = client.ask("EXEC");
        let was_made = chunk.0 == 1 || event != "bloom.reserve";
        let expected = if was_made && !is_deleted { ":1]" } else { ":0]" };
        assert!(replies.ends_with(expected), "{replies}");
        client.call("DEL k");
        assert_nothing_is_left(client);
    }
}

/// Header and bits of a filter.
fn chunks(client: &mut Client) -> Vec<(i64, Vec<u8>)> {
    // A chunk without a set bit would change nothing.
    client.ok("BF.RESERVE k 0.01 1000");
    assert_eq!(client.ask("BF.ADD k a"), ":1");
    let chunks = [0, 1].map(|iterator| client.scandump("k", iterator));
    client.call("DEL k");
    chunks.into()
}

#[test]
fn calls_survive_the_deletion_of_their_key_by_a_callback() {
    let deleting = CModule::build("modules/deleting.c", &[]);
    for_each_server(|kind| {
        let chunks = chunks(&mut setup().start(kind).resp2());
        for event in ["bloom.reserve", "bloom.add", "bloom.load"] {
            let line = format!("loadmodule {} {event}", deleting.path().display());
            let server = setup().line(line).start(kind);
            let mut client = server.resp2();
            let replica = setup().follows(&server).start(kind);
            let mut other = replica.resp2();
            catch_up(&mut client, &mut other);
            run_calls(&mut client, event);
            run_additions(&mut client, event);
            run_loads(&mut client, event, &chunks);
            client.assert_answers_ping(event);
            catch_up(&mut client, &mut other);
            assert_nothing_is_left(&mut other);
        }
    });
}
