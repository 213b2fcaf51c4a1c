//! Limits on creations: every call that would create a filter that is too large is refused, changes
//! nothing, and is counted.

use bloomline_harness::{Client, Setup, matches, show};

use crate::inspect::{number, totals};

/// Calls that create a filter of more than 20 MB; a window begins with one generation.
const CREATIONS: [&str; 11] = [
    "BF.RESERVE new 0.01 20000000",
    "BF.RESERVE new 0.01 200000000 WINDOW 60",
    "BF.RESERVE new 0.01 200000000 LAST",
    "BF.RESERVE new 0.01 100000000 GENERATIONS 3",
    "BF.RESERVE new 0.01 200000000 WINDOW 60 TTL 60",
    "BF.INSERT new CAPACITY 20000000 ERROR 0.01 ITEMS a b",
    "BF.INSERT new CAPACITY 200000000 WINDOW 60 ITEMS a",
    "BF.INSERT new CAPACITY 200000000 LAST ITEMS a",
    "CF.RESERVE new 20000000",
    "CF.INSERT new CAPACITY 20000000 ITEMS a b",
    "CF.INSERTNX new CAPACITY 20000000 ITEMS a b",
];

/// Calls that create a filter which may exceed the machine's memory, and the least bytes of it.
const GIANTS: [(&str, u64); 3] = [
    ("BF.RESERVE new 0.0001 10000000000", 25_000_000_000),
    ("BF.RESERVE new 0.01 1099511627776", 1_000_000_000_000),
    ("BF.INSERT new CAPACITY 10000000000 ERROR 0.0001 ITEMS a", 25_000_000_000),
];

/// The first number in a refusal: the bytes that are needed.
fn needed(refusal: &str) -> u64 {
    refusal.split(' ').find_map(|word| word.parse().ok()).expect("a number of bytes")
}

/// A limit, calls that fit it, one call that fits no longer, and the reason of refusals.
struct Limit {
    args: &'static str,
    policy: &'static str,
    /// `maxmemory`, or how much it is above the memory in use.
    maxmemory: fn(u64) -> u64,
    fits: &'static [&'static str],
    refused: &'static str,
    because: &'static str,
}

const BYTES: &str = "it needs <n> bytes, bf-max-filter-bytes allows 1048576";
const MAXMEMORY: &str = "its new layers need <n> bytes, maxmemory <n> leaves <n>";

const LIMITS: [Limit; 4] = [
    Limit {
        args: "bf-max-filter-bytes 1mb",
        policy: "noeviction",
        maxmemory: |_| 0,
        fits: &["BF.RESERVE fits 0.01 600000", "CF.RESERVE fits:c 500000"],
        refused: "BF.RESERVE again 0.01 1000000",
        because: BYTES,
    },
    // Filters of 7 MB: one fits, a second one does not. Small layers are left to the server's own
    // rule.
    Limit {
        args: "",
        policy: "noeviction",
        maxmemory: |used| used + (10 << 20),
        fits: &["BF.RESERVE fits 0.01 5000000", "BF.RESERVE small 0.01 100000"],
        refused: "BF.RESERVE again 0.01 5000000",
        because: MAXMEMORY,
    },
    // Free memory counts whole with eviction too; what can be evicted counts up to half.
    Limit {
        args: "",
        policy: "allkeys-lru",
        maxmemory: |used| used + (18 << 20),
        fits: &["BF.RESERVE fits 0.01 10000000"],
        refused: "BF.RESERVE again 0.01 10000000",
        because: MAXMEMORY,
    },
    // One key has a TTL.
    Limit {
        args: "",
        policy: "volatile-lru",
        maxmemory: |used| used + (18 << 20),
        fits: &["SET key value EX 1000", "BF.RESERVE fits 0.01 10000000"],
        refused: "BF.RESERVE again 0.01 10000000",
        because: MAXMEMORY,
    },
];

/// The headers of a filter of each family, made without limits.
fn headers(client: &mut Client) -> [(&'static str, Vec<u8>); 2] {
    client.ok("BF.RESERVE bloom 0.01 20000000");
    client.ok("CF.RESERVE cuckoo 20000000");
    let headers = [("BF", "bloom"), ("CF", "cuckoo")]
        .map(|(family, key)| (family, client.scandump_of(family, key, 0).1));
    client.ok("FLUSHALL SYNC");
    headers
}

#[test]
fn limits_apply_to_every_creation() {
    Setup::new().on_each_server(|mut origin, server| {
        let headers = headers(&mut origin);
        for limit in LIMITS {
            let setup = Setup::new().line(format!("maxmemory-policy {}", limit.policy));
            let server = setup.module_args(limit.args).start(&server.kind);
            let mut client = server.resp2();
            let max = (limit.maxmemory)(client.info_number("used_memory"));
            client.ok(&format!("CONFIG SET maxmemory {max}"));
            client.ok("SET key:kept value");
            let before = (client.ask("DBSIZE"), totals(&mut client));
            let expected = format!("-ERR Insufficient memory to create filter: {}", limit.because);
            for line in CREATIONS {
                let reply = client.ask(line);
                assert!(matches(&expected, &reply), "{line}: {reply}");
            }
            for (line, least) in GIANTS {
                let reply = client.ask(line);
                let is_refused = reply.starts_with("-ERR Insufficient memory to create filter: ");
                assert!(is_refused && needed(&reply) >= least, "{line}: {reply}");
            }
            for (family, header) in &headers {
                let reply = client.loadchunk_of(family, "new", 1, header);
                assert!(matches(&expected, &reply), "{family}: {reply}");
            }
            // The server itself is not out of memory.
            client.ok("SET key:kept other");
            assert_eq!((client.ask("DBSIZE"), totals(&mut client)), before);
            assert_eq!(client.info("evicted_keys").trim(), "0");
            let refused = (CREATIONS.len() + GIANTS.len() + headers.len()) as u64;
            assert_eq!(number(&mut client, "creations_refused"), refused);
            let line = format!("<any>creation of filter 'new' refused: {}<any>", limit.because);
            assert!(matches(&line, &server.log()), "{}", server.log());
            limit.fits.iter().for_each(|line| client.ok(line));
            let reply = client.ask(limit.refused);
            assert!(matches(&expected, &reply), "{}: {reply}", limit.refused);
            assert_eq!(client.ask("BF.ADD fits a"), ":1");
        }
    });
}

#[test]
fn limits_apply_to_filters_that_an_addition_creates() {
    let args = "bf-max-filter-bytes 1mb bf-initial-size 1000000 cf-initial-size 4000000";
    Setup::new().module_args(args).on_each_server(|mut client, _| {
        let lines = [
            "BF.ADD new a",
            "BF.MADD new a b",
            "BF.BULKADD new FIXED 1 ab",
            "BF.BULKADD new COUNT LINES a",
            "CF.ADD new a",
            "CF.ADDNX new a",
        ];
        for line in lines {
            let reply = client.ask(line);
            let expected = format!("-ERR Insufficient memory to create filter: {BYTES}");
            assert!(matches(&expected, &reply), "{line}: {reply}");
        }
        // No item creates no filter.
        assert_eq!(client.ask(r#"BF.BULKADD new COUNT LINES """#), "*[:0 :0]");
        assert_eq!(client.ask("DBSIZE"), ":0");
        assert_eq!(number(&mut client, "creations_refused"), lines.len() as u64);
    });
}

#[test]
fn many_refusals_are_counted_and_do_not_fill_the_log() {
    const REFUSALS: usize = 1000;
    Setup::new().module_args("bf-max-filter-bytes 1mb").on_each_server(|mut client, server| {
        for _ in 0..REFUSALS {
            client.send(&["BF.RESERVE", "k", "0.01", "1000000"]);
        }
        for _ in 0..REFUSALS {
            let reply = show(&client.receive("BF.RESERVE"));
            assert!(reply.starts_with("-ERR Insufficient memory to create filter: "), "{reply}");
        }
        assert_eq!(number(&mut client, "creations_refused"), REFUSALS as u64);
        // There is at most one line per second.
        let lines = server.log().matches("creation of filter 'k' refused").count();
        assert!((1..REFUSALS / 10).contains(&lines), "{lines} lines");
    });
}
