//! Numbers in arguments: every option takes those of the module's own parser, whose tests are in
//! `src/server/number.rs`, on every server.

use bloomline_harness::Setup;

/// Calls that take a rate, before and after it, and the error.
const WITH_RATE: [(&str, &str, &str); 4] = [
    ("BF.RESERVE k", "100", "-ERR bad error rate"),
    ("BF.INSERT k ERROR", "ITEMS a", "-Bad error rate"),
    ("CF.RESERVE k 100 ERROR", "", "-Bad error rate"),
    ("CF.INSERT k ERROR", "ITEMS a", "-Bad error rate"),
];

/// Calls that take an integer, before and after it.
const WITH_INTEGER: [(&str, &str); 23] = [
    ("BF.RESERVE k 0.01", ""),
    ("BF.RESERVE k 0.01 100 EXPANSION", ""),
    ("BF.RESERVE k 0.01 100 LAYOUT valkey-bloom EXPANSION", ""),
    ("BF.RESERVE k 0.01 100 VALIDATESCALETO", ""),
    ("BF.INSERT k CAPACITY", "ITEMS a"),
    ("BF.INSERT k EXPANSION", "ITEMS a"),
    ("BF.INSERT k LAYOUT valkey-bloom CAPACITY", "ITEMS a"),
    ("BF.INSERT k LAYOUT valkey-bloom EXPANSION", ""),
    ("BF.INSERT k VALIDATESCALETO", "ITEMS a"),
    ("BF.RESERVE k 0.01 100 WINDOW", ""),
    ("BF.RESERVE k 0.01 100 GENERATIONS", ""),
    ("BF.RESERVE k 0.01 100 TTL", ""),
    ("BF.RESERVE k 0.01 100 SEED", ""),
    ("BF.BULKADD k FIXED", "aaaaaaaaaa"),
    ("CF.RESERVE k", ""),
    ("CF.RESERVE k 100 BUCKETSIZE", ""),
    ("CF.RESERVE k 100 MAXITERATIONS", ""),
    ("CF.RESERVE k 100 EXPANSION", ""),
    ("CF.RESERVE k 100 TTL", ""),
    ("CF.RESERVE k 100 SEED", ""),
    ("CF.INSERT k CAPACITY", "ITEMS a"),
    ("CF.INSERTNX k CAPACITY", "ITEMS a"),
    ("CF.BULKADD k FIXED", "aaaaaaaaaa"),
];

/// Calls that take an iterator. LOADCHUNK is replicated verbatim, also to RedisBloom.
const WITH_ITERATOR: [(&str, &str); 4] = [
    ("BF.LOADCHUNK k", "a"),
    ("BF.SCANDUMP filter", ""),
    ("CF.LOADCHUNK k", "a"),
    ("CF.SCANDUMP cuckoo", ""),
];

#[test]
fn all_options_take_the_numbers_of_one_parser() {
    Setup::new().on_each_server(|mut client, _| {
        for (before, after, error) in WITH_RATE {
            let call = |rate: &str| format!("{before} {rate} {after}");
            assert_eq!(client.ask(&call("0x1p-7")), error, "{}", call("0x1p-7"));
            // The second one is written by Java.
            for rate in ["+1E-2", "1.0E-2"] {
                let reply = client.ask(&call(rate));
                let info = match &before[..2] {
                    "BF" => client.ask("BF.STATS k error_rate"),
                    _ => client.ask("CF.INFO k ERROR"),
                };
                assert!(info.ends_with("$4 0.01]"), "{before}: {reply}, {info}");
                assert_eq!(client.ask("DEL k"), ":1");
            }
        }
        for (before, after) in WITH_INTEGER {
            let call = format!("{before} +010 {after}");
            let reply = client.ask(&call);
            assert!(!reply.contains('-'), "{call}: {reply}");
            assert_eq!(client.ask("DEL k"), ":1", "{call}");
        }
        client.ok("BF.RESERVE filter 0.01 100");
        client.ok("CF.RESERVE cuckoo 100");
        // An iterator has one form only.
        let integers = WITH_INTEGER.iter().map(|call| (call, "10.0"));
        for ((before, after), text) in integers.chain(WITH_ITERATOR.iter().map(|it| (it, "+1"))) {
            let call = format!("{before} {text} {after}");
            let reply = client.ask(&call);
            assert!(reply.starts_with('-'), "{call}: {reply}");
        }
        assert_eq!(client.ask("EXISTS k"), ":0");
    });
}
