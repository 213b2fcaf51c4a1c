//! Limits on creation and growth: a filter that is too large is refused, nothing changes, and the
//! refusal is counted.

use std::time::Instant;

use bloomline_harness::{Client, Setup, for_each_server, matches, numbered, show};

use super::leave;
use crate::inspect::{digest, number, totals};

const TOO_LARGE: &str = "-ERR Insufficient memory to create filter: ";
const NO_ROOM: &str = "-ERR problem inserting into filter";

#[test]
fn refusals_state_the_needed_bytes_beyond_32_bits() {
    Setup::new().module_args("bf-max-filter-bytes 1gb").on_each_server(|mut client, _| {
        for (line, least) in [
            ("BF.RESERVE k 0.0001 10000000000", 25_000_000_000),
            ("BF.RESERVE k 0.01 1099511627776", 1_000_000_000_000_u64),
            ("BF.INSERT k CAPACITY 10000000000 ERROR 0.0001 ITEMS a", 25_000_000_000),
        ] {
            let refused = client.ask(line);
            let bytes = refused.strip_prefix(&format!("{TOO_LARGE}it needs "));
            let bytes = bytes.and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok());
            assert!(bytes.is_some_and(|bytes| bytes >= least), "{line}: {refused}");
            client.assert_answers_ping(line);
        }
        assert_eq!(client.ask("DBSIZE"), ":0");
    });
}

#[test]
fn refused_giants_neither_block_writes_nor_evict() {
    for_each_server(|kind| {
        for policy in ["noeviction", "allkeys-lru", "volatile-ttl"] {
            let server = Setup::new().line(format!("maxmemory-policy {policy}")).start(kind);
            let mut client = server.resp2();
            leave(&mut client, 100 << 20);
            for key in numbered("key", 1000) {
                client.run(&[b"SET".as_slice(), &key, b"value"]);
            }
            for giant in [
                "BF.RESERVE k 1e-9 1073741824",
                "BF.RESERVE k 0.01 1099511627776",
                "BF.INSERT k ERROR 1e-9 CAPACITY 1073741824 ITEMS a",
            ] {
                let refused = client.ask(giant);
                assert!(refused.starts_with(TOO_LARGE), "{policy} {giant}: {refused}");
                client.ok("SET later 1");
                assert_eq!(client.ask("BF.ADD small a"), ":1");
                client.call("DEL small later");
            }
            assert_eq!(client.ask("DBSIZE"), ":1000");
            assert_eq!(client.info("evicted_keys").trim(), "0");
        }
    });
}

/// A full filter whose next layer would hold 32,768 times as many items as its first.
fn about_to_grow(client: &mut Client) {
    client.ok("BF.RESERVE k 0.0000001 100 EXPANSION 32768");
    for item in numbered("item", 100) {
        assert_eq!(show(&client.items("BF.ADD", "k", &[item])), ":1");
    }
}

/// Asserts that calls that need another layer are refused. Only for present items is the answer a
/// number.
fn assert_growth_refused(client: &mut Client) {
    let before = (digest(client, "k"), totals(client), number(client, "growths_refused"));
    assert_eq!(client.ask("BF.ADD k new"), NO_ROOM);
    assert_eq!(client.ask("BF.MADD k new item:0 newer"), format!("*[{NO_ROOM} :0 {NO_ROOM}]"));
    assert_eq!(client.ask("BF.INSERT k NOCREATE ITEMS new"), format!("*[{NO_ROOM}]"));
    assert_eq!((digest(client, "k"), totals(client)), (before.0, before.1));
    assert!(number(client, "growths_refused") >= before.2 + 3);
    assert_eq!(client.ask("BF.MEXISTS k item:0 item:99 new"), "*[:1 :1 :0]");
}

#[test]
fn bf_max_filter_bytes_applies_to_growth() {
    Setup::new().debug().module_args("bf-max-filter-bytes 1mb").on_each_server(|mut client, server| {
        about_to_grow(&mut client);
        assert_growth_refused(&mut client);
        let log = server.log();
        let line =
            "growth of filter 'k' refused: it needs <n> bytes, bf-max-filter-bytes allows 1048576";
        assert!(matches(&format!("<any>{line}<any>"), &log), "{log}");
    });
}

#[test]
fn maxmemory_applies_to_growth() {
    Setup::new().debug().on_each_server(|mut client, _| {
        about_to_grow(&mut client);
        // The next layer needs 15 MB.
        leave(&mut client, 4 << 20);
        assert_growth_refused(&mut client);
        client.ok("CONFIG SET maxmemory-policy allkeys-lru");
        assert_growth_refused(&mut client);
        // Without the limit it grows where it stopped.
        client.ok("CONFIG SET maxmemory 0");
        assert_eq!(client.ask("BF.ADD k new"), ":1");
        assert_eq!(client.ask("BF.INFO k FILTERS"), "*[:2]");
    });
}

#[test]
fn refused_growth_keeps_the_items_added_before_it() {
    Setup::new().module_args("bf-max-filter-bytes 1mb").on_each_server(|mut client, _| {
        client.ok("BF.RESERVE k 0.0000001 100 EXPANSION 32768");
        let reply = show(&client.items("BF.MADD", "k", &numbered("item", 103)));
        let expected = format!("*[{}{}]", ":1 ".repeat(100), [NO_ROOM; 3].join(" "));
        assert_eq!(reply, expected);
        assert_eq!(client.ask("BF.CARD k"), ":100");
    });
}

#[test]
fn out_of_memory_refuses_writes_and_answers_reads() {
    Setup::new().on_each_server(|mut client, _| {
        assert_eq!(client.ask("BF.MADD k a b"), "*[:1 :1]");
        client.ok("CONFIG SET maxmemory 1");
        for line in [
            "BF.ADD k c",
            "BF.ADD k a",
            "BF.MADD k c d",
            "BF.INSERT k ITEMS c",
            "BF.BULKADD k FIXED 1 ca",
            "BF.RESERVE new 0.01 100",
            "BF.LOADCHUNK k 1 x",
        ] {
            let refused = client.ask(line);
            assert!(refused.starts_with("-OOM"), "{line}: {refused}");
        }
        assert_eq!(client.ask("BF.MEXISTS k a b c"), "*[:1 :1 :0]");
        assert_eq!(client.ask("BF.BULKEXISTS k FIXED 1 abc"), "*[:3 $1 \\xc0]");
        assert_eq!(client.ask("BF.CARD k"), ":2");
        assert_eq!(client.ask("BF.INFO k ITEMS"), "*[:2]");
        assert!(client.ask("BF.SCANDUMP k 0").starts_with("*[:1 "));
        assert_eq!(client.ask("DEL k"), ":1");
        client.ok("CONFIG SET maxmemory 0");
        assert_eq!(client.ask("BF.ADD k a"), ":1");
    });
}

#[test]
fn many_refusals_are_counted_and_do_not_fill_the_log() {
    const REFUSALS: u64 = 1000;
    Setup::new().module_args("bf-max-filter-bytes 1mb").on_each_server(|mut client, server| {
        let start = Instant::now();
        for _ in 0..REFUSALS {
            client.send(&["BF.RESERVE", "k", "0.01", "1000000"]);
        }
        for _ in 0..REFUSALS {
            assert!(show(&client.receive("BF.RESERVE")).starts_with(TOO_LARGE));
        }
        assert_eq!(number(&mut client, "creations_refused"), REFUSALS);
        let lines = server.log().matches("creation of filter 'k' refused").count() as u64;
        assert!((1..=2 + start.elapsed().as_secs()).contains(&lines), "{lines} lines");
    });
}
