//! Calls that end at a refused item: a filter that is full, or that may not grow.

use bloomline_harness::{Client, Kind, Server, Setup, for_each_server, show};
use redis::Value;

use crate::inspect::{digest, number, totals};
use crate::packed::{FORMS, Form, answers, exists, plain, send};

const FULL: &str = "-ERR non scaling filter is full";
const NO_ROOM: &str = "-ERR problem inserting into filter";

/// Items of eight bytes.
fn items(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|at| format!("item{at:04}")).collect()
}

/// Options of equal filters in each layout. `SEED` makes two filters of our own layout equal.
const LAYOUTS: [&str; 2] = ["SEED 7", "LAYOUT redisbloom"];

/// Asserts that two filters are equal.
fn assert_equal(client: &mut Client, one: &str, other: &str, what: &str) {
    assert_eq!(digest(client, one), digest(client, other), "{what}");
    let [first, second] = [one, other].map(|key| client.ask(&format!("BF.DEBUG {key}")));
    assert_eq!(first, second, "{what}");
}

/// The error reply to a call with COUNT of which `done` items of `all` were processed.
fn refused_count(why: &str, form: Form, done: usize, all: usize, new: usize) -> String {
    let unit = if form == Form::Lines { "line" } else { "item" };
    let number = done + 1;
    format!("{why}: {unit} {number} of {all} was refused, {new} of the {done} before it were new")
}

/// A reply with its number of items, its number of ones if it has a bitmap, and its error.
fn counted(reply: &Value) -> (usize, usize, Option<String>) {
    let (bits, error) = answers(reply);
    (bits.len(), bits.iter().filter(|bit| **bit).count(), error)
}

#[test]
fn a_full_filter_ends_the_call() {
    Setup::new().debug().on_each_server(|mut client, _| {
        for (options, form) in LAYOUTS.iter().flat_map(|options| FORMS.map(|form| (options, form)))
        {
            let what = format!("{options}, {form:?}");
            // Around the end of a group of 64 items, with room for all of the call, some, none.
            for (capacity, sent) in [(100, 100), (100, 101), (64, 128), (63, 70), (65, 500), (1, 2)]
            {
                for key in ["plain", "packed", "counted"] {
                    client
                        .ok(&format!("BF.RESERVE {key} 0.000001 {capacity} NONSCALING {options}"));
                }
                let room = capacity.min(sent);
                let error = (sent > capacity).then(|| FULL.to_owned());
                client.items("BF.MADD", "plain", &items(0..sent));
                let reply = send(&mut client, "BF.BULKADD", "packed", form, &items(0..sent), &[]);
                assert_eq!(counted(&reply), (room, room, error), "{what}: {sent} to {capacity}");
                let reply =
                    send(&mut client, "BF.BULKADD", "counted", form, &items(0..sent), &["COUNT"]);
                let expected = if sent > capacity {
                    refused_count(FULL, form, room, sent, room)
                } else {
                    format!("*[:{room} :{room}]")
                };
                assert_eq!(show(&reply), expected, "{what}");
                assert_equal(&mut client, "packed", "plain", &what);
                assert_equal(&mut client, "counted", "plain", &what);
                client.ok("FLUSHALL");
            }
        }
    });
}

#[test]
fn refused_line_has_its_number_among_empty_lines() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        client.ok("BF.RESERVE k 0.000001 2 NONSCALING");
        let data = "\na\n\r\nb\n\na\n\nc\n\nd\n";
        let reply = client.run(&["BF.BULKADD", "k", "LINES", data]);
        assert_eq!(show(&reply), format!("*[:7 $1 P {FULL}]"));
        let reply = client.run(&["BF.BULKADD", "k", "COUNT", "LINES", data]);
        assert_eq!(show(&reply), refused_count(FULL, Form::Lines, 7, 10, 0));
        // As the documentation says: from number processed + 1 on.
        let rest: String = data.split_inclusive('\n').skip(7).collect();
        let reply = client.run(&["BF.BULKADD", "k", "LINES", &rest]);
        assert_eq!(show(&reply), format!("*[:0 $0  {FULL}]"));
    });
}

#[test]
fn items_of_a_full_filter_are_found_up_to_the_first_new_one() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        for (options, form) in LAYOUTS.iter().flat_map(|options| FORMS.map(|form| (options, form)))
        {
            client.ok(&format!("BF.RESERVE k 0.000001 10 NONSCALING {options}"));
            plain(&mut client, "BF.MADD", "k", &items(0..10));
            let before = digest(&mut client, "k");
            let mut sent = items(3..10);
            sent.extend(items(20..21));
            // It is present, but comes after the refused one.
            sent.extend(items(0..1));
            let reply = send(&mut client, "BF.BULKADD", "k", form, &sent, &[]);
            assert_eq!(show(&reply), format!(r"*[:7 $1 \x00 {FULL}]"), "{options} {form:?}");
            let reply = send(&mut client, "BF.BULKADD", "k", form, &sent, &["COUNT"]);
            assert_eq!(show(&reply), refused_count(FULL, form, 7, 9, 0), "{options}");
            // Nothing was processed.
            let reply = send(&mut client, "BF.BULKADD", "k", form, &items(20..22), &[]);
            assert_eq!(show(&reply), format!("*[:0 $0  {FULL}]"));
            // No item is refused.
            let reply = send(&mut client, "BF.BULKADD", "k", form, &items(0..10), &[]);
            assert_eq!(answers(&reply), (vec![false; 10], None));
            assert_eq!(digest(&mut client, "k"), before);
            client.ok("FLUSHALL");
        }
    });
}

/// A server whose filters may take a megabyte, with two filters of 100 items whose next layer takes
/// more.
fn about_to_grow(kind: &Kind, options: &str) -> Server {
    let server = Setup::new().debug().module_args("bf-max-filter-bytes 1mb").start(kind);
    let mut client = server.resp2();
    for key in ["plain", "packed"] {
        client.ok(&format!("BF.RESERVE {key} 0.0000001 100 EXPANSION 32768 {options}"));
    }
    server
}

#[test]
fn refused_growth_ends_the_call() {
    for_each_server(|kind| {
        for (options, form) in LAYOUTS.iter().flat_map(|options| FORMS.map(|form| (options, form)))
        {
            let server = about_to_grow(kind, options);
            let mut client = server.resp2();
            // Two items are repeated, and others are present after the refused one: in its group of
            // 64 items, and later.
            let mut sent = items(0..50);
            sent.extend(items(10..12));
            sent.extend(items(50..101));
            sent.extend(items(0..10));
            sent.extend(items(101..300));
            sent.extend(items(0..10));
            let reply = send(&mut client, "BF.BULKADD", "packed", form, &sent, &[]);
            let expected = (102, 100, Some(NO_ROOM.to_owned()));
            assert_eq!(counted(&reply), expected, "{options} {form:?}");
            plain(&mut client, "BF.MADD", "plain", &sent[..102]);
            assert_equal(&mut client, "packed", "plain", options);
            let found = exists(&mut client, "packed", form, &items(0..100));
            assert!(found.iter().all(|found| *found));
            let reply = send(&mut client, "BF.BULKADD", "packed", form, &sent[102..], &["COUNT"]);
            assert_eq!(show(&reply), refused_count(NO_ROOM, form, 0, sent.len() - 102, 0));
            assert_equal(&mut client, "packed", "plain", options);
            let log = server.log();
            let line = "growth of filter 'packed' refused: it needs <n> bytes, \
                        bf-max-filter-bytes allows 1048576";
            assert!(bloomline_harness::matches(&format!("<any>{line}<any>"), &log), "{log}");
        }
    });
}

#[test]
fn numbers_of_info_count_as_for_madd() {
    for_each_server(|kind| {
        let server = about_to_grow(kind, "SEED 7");
        let mut client = server.resp2();
        plain(&mut client, "BF.MADD", "plain", &items(0..100));
        let before = totals(&mut client);
        let one = before.items;
        let reply = send(&mut client, "BF.BULKADD", "packed", Form::Lines, &items(0..100), &[]);
        assert_eq!(counted(&reply), (100, 100, None));
        let after = totals(&mut client);
        assert_eq!((after.items, after.layers), (2 * one, before.layers));
        assert_eq!((after.bytes, after.capacity), (before.bytes, before.capacity));
        // A refused growth is counted per item that was refused: a packed call has one at most.
        assert_eq!(number(&mut client, "growths_refused"), 0);
        send(&mut client, "BF.BULKADD", "packed", Form::Lines, &items(100..110), &[]);
        assert_eq!(number(&mut client, "growths_refused"), 1);
        client.call("BF.MADD plain new");
        assert_eq!(number(&mut client, "growths_refused"), 2);
        // A call that needs no growth is not counted.
        send(&mut client, "BF.BULKADD", "packed", Form::Lines, &items(0..100), &[]);
        assert_eq!(number(&mut client, "growths_refused"), 2);
        assert_eq!(totals(&mut client), after);
    });
}

#[test]
fn maxmemory_ends_the_call_and_room_continues_it() {
    Setup::new().debug().on_each_server(|mut client, _| {
        for key in ["plain", "packed"] {
            client.ok(&format!("BF.RESERVE {key} 0.0000001 100 EXPANSION 32768 SEED 7"));
        }
        // The next layer needs 15 MB.
        let max = client.info_number("used_memory") + (4 << 20);
        client.ok(&format!("CONFIG SET maxmemory {max}"));
        let reply = send(&mut client, "BF.BULKADD", "packed", Form::Fixed, &items(0..300), &[]);
        let expected = (100, 100, Some(NO_ROOM.to_owned()));
        assert_eq!(counted(&reply), expected);
        client.ok("CONFIG SET maxmemory 0");
        // As the documentation says: from number processed + 1 on.
        let reply = send(&mut client, "BF.BULKADD", "packed", Form::Fixed, &items(100..300), &[]);
        assert_eq!(counted(&reply), (200, 200, None));
        plain(&mut client, "BF.MADD", "plain", &items(0..300));
        assert_equal(&mut client, "packed", "plain", "after the limit");
    });
}
