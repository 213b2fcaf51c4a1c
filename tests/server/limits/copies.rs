//! COPY and a client's RESTORE make a new filter, so the limits of BF.RESERVE apply to them.

use bloomline_harness::{Client, Server, Setup, Stop, for_each_server, matches, numbered, show};

use crate::filters::Family;
use crate::inspect::{info_field, number, totals};

/// The log line of a refused copy.
const COPY_REFUSED: &str = "COPY of filter 'k' to 'new' refused: ";
/// The log line of a refused payload, without the family. The server's own text precedes it.
const LOAD_REFUSED: &str = " filter: not loaded: ";

/// The refusal by `maxmemory`, and by the memory of the machine if `maxmemory` is not set.
const MAXMEMORY: &str = "its new layers need <n> bytes, maxmemory <n> leaves <n>";
const MACHINE: &str = "its new layers need <n> bytes, the machine's <n> bytes leave <n>";

/// How a filter `k` of about 14 MB is made.
const FILTERS: [&str; 3] = [
    "BF.RESERVE k 0.01 10000000 NONSCALING LAYOUT bloomline",
    "BF.RESERVE k 0.01 10000000 NONSCALING LAYOUT redisbloom",
    "CF.RESERVE k 10000000 EXPANSION 0",
];

/// Makes the filter with two items, and returns its payload.
fn make(client: &mut Client, reserve: &str) -> Vec<u8> {
    client.ok(reserve);
    Family::of(client, "k").add(client, "k", &["a", "b"]);
    client.dump("k")
}

/// Asserts that a filter has the two items, and no other one.
fn assert_has_items(client: &mut Client, key: &str) {
    let found = Family::of(client, key).contains(client, key, &["a", "b", "c"]);
    assert_eq!(show(&found), "*[:1 :1 :0]");
}

/// Runs COPY and RESTORE. Asserts that both are refused, counted and logged, and change nothing.
fn assert_refused(server: &Server, payload: &[u8], because: &str) {
    let mut client = server.resp2();
    let mut state = || {
        let evicted = client.info("evicted_keys");
        let refusals = ["creations_refused", "loads_refused"].map(|name| number(&mut client, name));
        (
            client.ask("DBSIZE"),
            (totals(&mut client), number(&mut client, "cf_bytes")),
            evicted,
            refusals,
        )
    };
    let before = state();
    let logged = server.log().len();
    assert_eq!(server.resp2().ask("COPY k new"), "-ERR module key failed to copy");
    assert_eq!(server.resp2().restore("new", payload), "-ERR Bad data format");
    let now = state();
    assert_eq!((now.0, now.1, now.2), (before.0, before.1, before.2));
    assert_eq!(now.3, before.3.map(|count| count + 1));
    let log = server.log();
    let log = &log[logged..];
    // The module writes at most one line per second of its own. The line about a load is the
    // server's.
    let wanted = format!("<any>{LOAD_REFUSED}{because}<any>");
    assert!(matches(&wanted, log), "{wanted} is not in\n{log}");
    // The existing filter works as before.
    assert_has_items(&mut client, "k");
}

/// Asserts that the log states why a copy was refused.
fn assert_copy_in_log(server: &Server, because: &str) {
    let (log, wanted) = (server.log(), format!("<any>{COPY_REFUSED}{because}<any>"));
    assert!(matches(&wanted, &log), "{wanted} is not in\n{log}");
}

#[test]
fn bf_max_filter_bytes_applies_to_copy_and_restore() {
    for_each_server(|kind| {
        for reserve in FILTERS {
            let mut server = Setup::new().module_args("bf-max-filter-bytes 20mb").start(kind);
            let payload = make(&mut server.resp2(), reserve);
            // The filter exceeds the new limit, but is loaded from the file.
            server.edit_config("bf-max-filter-bytes 20mb", "bf-max-filter-bytes 5mb");
            server.restart(Stop::Save);
            let because = "it needs <n> bytes, bf-max-filter-bytes allows 5242880";
            assert_refused(&server, &payload, because);
            assert_copy_in_log(&server, because);
        }
    });
}

#[test]
fn maxmemory_applies_to_copy_and_restore() {
    for_each_server(|kind| {
        for reserve in FILTERS {
            let server = Setup::new().start(kind);
            let mut client = server.resp2();
            let payload = make(&mut client, reserve);
            let max = client.info_number("used_memory") + (10 << 20);
            client.ok(&format!("CONFIG SET maxmemory {max}"));
            assert_refused(&server, &payload, MAXMEMORY);
            assert_copy_in_log(&server, MAXMEMORY);
            // The server itself is not out of memory.
            client.ok("SET later 1");
            // The limit now allows one more filter, and one more is made.
            client.ok(&format!("CONFIG SET maxmemory {}", max + (10 << 20)));
            assert_eq!(client.ask("COPY k copied"), ":1");
            assert_eq!(client.restore("new", &payload), "-ERR Bad data format");
            assert_eq!(client.ask("DEL copied"), ":1");
            client.wait_for_frees();
            assert_eq!(client.restore("restored", &payload), "+OK");
            assert_has_items(&mut client, "restored");
        }
    });
}

#[test]
fn copies_may_take_half_of_maxmemory_with_eviction() {
    for_each_server(|kind| {
        for reserve in FILTERS {
            let server = Setup::new().line("maxmemory-policy allkeys-lru").start(kind);
            let mut client = server.resp2();
            let payload = make(&mut client, reserve);
            for key in numbered("key", 1000) {
                client.run(&[b"SET".as_slice(), &key, b"value"]);
            }
            // This is more than the server uses, and less than twice the filter.
            client.ok("CONFIG SET maxmemory 20mb");
            assert_refused(&server, &payload, MAXMEMORY);
            assert_copy_in_log(&server, MAXMEMORY);
            client.ok("CONFIG SET maxmemory 60mb");
            assert_eq!(client.ask("COPY k copied"), ":1");
            assert_eq!(client.restore("restored", &payload), "+OK");
            assert_eq!(client.info("evicted_keys"), "0");
        }
    });
}

/// The three numbers in the reply to a refused BF.RESERVE: bytes of the layers, `maxmemory`, bytes
/// left.
fn numbers_of_refusal(client: &mut Client, line: &str) -> [u64; 3] {
    let reply = client.ask(line);
    assert!(
        matches(&format!("-ERR Insufficient memory to create filter: {MAXMEMORY}"), &reply),
        "{reply}"
    );
    let numbers = reply.split(' ').filter_map(|word| word.parse().ok()).collect::<Vec<u64>>();
    numbers.try_into().expect("three numbers")
}

#[test]
fn volatile_policies_count_only_keys_that_expire() {
    for_each_server(|kind| {
        for policy in ["volatile-lru", "volatile-ttl", "volatile-random"] {
            let server = Setup::new().line(format!("maxmemory-policy {policy}")).start(kind);
            let mut client = server.resp2();
            let payload = make(&mut client, FILTERS[1]);
            assert_eq!(client.ask("COPY k other"), ":1");
            let layer = info_field(&mut client, "k", "SIZE");
            let max = client.info_number("used_memory") + layer / 2;
            client.ok(&format!("CONFIG SET maxmemory {max}"));
            // No key expires, so that none can be evicted.
            let line = "BF.RESERVE new 0.01 10000000 NONSCALING LAYOUT redisbloom";
            let [new, limit, left] = numbers_of_refusal(&mut client, line);
            assert!(new <= layer && new + 256 > layer, "{new} of {layer} bytes");
            assert_eq!(limit, max);
            assert!(left < layer / 4 * 3 && left > layer / 4, "{left} left beside {layer}");
            assert_refused(&server, &payload, MAXMEMORY);
            // Two of a hundred keys in all databases expire, which counts as 2 % of the memory.
            for key in ["k", "other"] {
                assert_eq!(client.ask(&format!("EXPIRE {key} 1000")), ":1");
            }
            client.ok("SELECT 1");
            for key in numbered("key", 98) {
                client.run(&[b"SET".as_slice(), &key, b"value"]);
            }
            assert_refused(&server, &payload, MAXMEMORY);
            client.ok("FLUSHDB");
            client.ok("SELECT 0");
            assert_eq!(client.ask("COPY k new"), ":1");
        }
    });
}

/// The memory of the machine in bytes, as the module reports it.
fn machine(client: &mut Client) -> u64 {
    // The reply states the bytes that the filter needs, then those of the machine.
    let reply = client.ask("BF.RESERVE machine 0.01 1099511627776");
    let mut numbers =
        reply.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let bytes = numbers.nth(1).and_then(|bytes| bytes.parse().ok());
    bytes.unwrap_or_else(|| panic!("no memory of the machine in {reply}"))
}

#[test]
fn without_maxmemory_the_memory_of_the_machine_is_the_limit() {
    Setup::new().on_each_server(|mut client, server| {
        let machine = machine(&mut client);
        // Two filters fit, three do not, although the system has addresses for all of them.
        client.ok("BF.RESERVE probe 0.01 1000000000 NONSCALING");
        let bytes = info_field(&mut client, "probe", "SIZE");
        assert_eq!(client.ask("DEL probe"), ":1");
        client.wait_for_frees();
        let capacity = (1_000_000_000.0 * 0.45 * machine as f64 / bytes as f64) as u64;
        client.ok(&format!("BF.RESERVE k 0.01 {capacity} NONSCALING"));
        assert_eq!(client.ask("BF.MADD k a b"), "*[:1 :1]");
        let payload = client.dump("k");
        client.ok(&format!("BF.RESERVE second 0.01 {capacity} NONSCALING"));
        let third = client.ask(&format!("BF.RESERVE third 0.01 {capacity} NONSCALING"));
        let expected = format!("-ERR Insufficient memory to create filter: {MACHINE}");
        assert!(matches(&expected, &third), "{third}");
        assert_refused(&server, &payload, MACHINE);
        client.ok("SET later 1");
        assert_eq!(client.ask("DEL second"), ":1");
        client.wait_for_frees();
        assert_eq!(client.ask("COPY k new"), ":1");
        assert_has_items(&mut client, "new");
        assert!(server.resident() < 256 << 20, "{} bytes are resident", server.resident());
    });
}
