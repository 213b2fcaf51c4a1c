//! Filters carried to another key or to another server: equal afterwards, and independent.

use bloomline_harness::{Client, Server, Setup, bulk, for_each_server, show};

use super::assert_changes_as_built;
use crate::filters::{assert_observed, build_all, change, large, observe, observe_all};

/// Copies the filter under a key from one server to the same key of another one.
type Carry = fn(from: &mut Client, to: &mut Client, there: &Server, key: &str);

const WAYS: [(&str, Carry); 3] =
    [("DUMP and RESTORE", dump_and_restore), ("chunks", chunks), ("MIGRATE", migrate)];

fn dump_and_restore(from: &mut Client, to: &mut Client, _: &Server, key: &str) {
    let dump = from.call(&format!("DUMP {key}"));
    assert_eq!(
        show(&to.run(&[&b"RESTORE"[..], key.as_bytes(), b"0", bulk(&dump)])),
        "+OK",
        "{key}"
    );
    assert!(to.call(&format!("DUMP {key}")) == dump, "{key} is dumped to other bytes");
}

fn chunks(from: &mut Client, to: &mut Client, _: &Server, key: &str) {
    to.load_chunks(from.family(key), key, &from.chunks(key));
}

fn migrate(from: &mut Client, _: &mut Client, there: &Server, key: &str) {
    from.ok(&format!("MIGRATE 127.0.0.1 {} {key} 0 300000 COPY", there.port));
}

#[test]
fn every_filter_is_carried_between_servers() {
    for_each_server(|kind| {
        let (here, there) =
            (Setup::new().debug().start(kind), Setup::new().debug().on_tcp().start(kind));
        let (mut from, mut to) = (here.resp2(), there.resp2());
        let filters = build_all(&mut from);
        let before = observe_all(&mut from, &filters);
        for (way, carry) in WAYS {
            for filter in &filters {
                carry(&mut from, &mut to, &there, &filter.key);
            }
            assert_observed(&mut to, &filters, &before, way);
            assert_changes_as_built(kind, &mut to, &filters, way);
            to.ok("FLUSHALL");
        }
        // What was carried has not changed.
        assert_observed(&mut from, &filters, &before, "all ways");
        assert_changes_as_built(kind, &mut from, &filters, "all ways");
    });
}

#[test]
fn filters_of_several_chunks_are_carried() {
    for_each_server(|kind| {
        let (here, there) =
            (Setup::new().debug().start(kind), Setup::new().debug().on_tcp().start(kind));
        let (mut from, mut to) = (here.resp2(), there.resp2());
        for filter in large() {
            filter.build(&mut from);
            let before = observe(&mut from, &filter.key);
            for (way, carry) in WAYS {
                carry(&mut from, &mut to, &there, &filter.key);
                assert_eq!(observe(&mut to, &filter.key), before, "{} by {way}", filter.key);
                to.ok("FLUSHALL");
            }
        }
    });
}

#[test]
fn copies_are_equal_and_independent() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        let filters = build_all(&mut client);
        for filter in &filters {
            let before = observe(&mut client, &filter.key);
            assert_eq!(client.ask(&format!("COPY {} copy", filter.key)), ":1");
            assert_eq!(observe(&mut client, "copy"), before, "{}", filter.key);
            change(&mut client, "copy");
            assert_eq!(observe(&mut client, &filter.key), before, "{}", filter.key);
            // The copy stands where the original stood, and changes as that does.
            assert_eq!(client.ask(&format!("COPY {} copy REPLACE", filter.key)), ":1");
            let copy = change(&mut client, "copy");
            assert_eq!(change(&mut client, &filter.key), copy, "{}", filter.key);
            assert_eq!(client.ask("DEL copy"), ":1");
        }
    });
}
