//! Numbers in arguments: every option takes those of the module's own parser, on every server.

use bloomline_harness::Setup;

/// Spellings of rates, and the rate that a filter gets; none if it is not a number.
const RATES: [(&str, Option<&str>); 9] = [
    (".01", Some("0.01")),
    ("+1E-2", Some("0.01")),
    ("0x1p-7", None),
    ("0x1", None),
    (r#"" 0.01""#, None),
    (r#""0.01\x00""#, None),
    ("1e-400", None),
    ("nan", None),
    (r#""""#, None),
];

/// Calls that take a rate, before and after it, and the error.
const WITH_RATE: [(&str, &str, &str); 4] = [
    ("BF.RESERVE k", "100", "-ERR bad error rate"),
    ("BF.INSERT k ERROR", "ITEMS a", "-Bad error rate"),
    ("CF.RESERVE k 100 ERROR", "", "-Bad error rate"),
    ("CF.INSERT k ERROR", "ITEMS a", "-Bad error rate"),
];

/// Spellings of 10.
const TENS: [&str; 3] = ["10", "+010", "00000000000000000000000000000000010"];

/// Spellings of what is no integer on any server.
const NO_INTEGERS: [&str; 6] = ["1e2", "10.0", "0x10", r#"" 10""#, r#""10\x00""#, r#""""#];

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
fn all_options_take_the_same_rates() {
    Setup::new().on_each_server(|mut client, _| {
        for (before, after, error) in WITH_RATE {
            for (text, rate) in RATES {
                let call = format!("{before} {text} {after}");
                let reply = client.ask(&call);
                let Some(rate) = rate else {
                    assert_eq!(reply, error, "{call}");
                    continue;
                };
                let info = match &call[..2] {
                    "BF" => client.ask("BF.STATS k error_rate"),
                    _ => client.ask("CF.INFO k ERROR"),
                };
                let shown = format!("${} {rate}]", rate.len());
                assert!(info.ends_with(&shown), "{call}: {reply}, {info}");
                assert_eq!(client.ask("DEL k"), ":1");
            }
        }
    });
}

#[test]
fn all_options_take_the_same_integers() {
    Setup::new().on_each_server(|mut client, _| {
        for (before, after) in WITH_INTEGER {
            for text in TENS {
                let call = format!("{before} {text} {after}");
                let reply = client.ask(&call);
                assert!(!reply.contains('-'), "{call}: {reply}");
                assert_eq!(client.ask("DEL k"), ":1", "{call}");
            }
        }
        client.ok("BF.RESERVE filter 0.01 100");
        client.ok("CF.RESERVE cuckoo 100");
        let calls = WITH_INTEGER.iter().flat_map(|call| NO_INTEGERS.map(|text| (call, text)));
        // An iterator has one form only.
        let forms = NO_INTEGERS.iter().chain(&TENS[1..]);
        let iterators =
            WITH_ITERATOR.iter().flat_map(|call| forms.clone().map(move |it| (call, *it)));
        for ((before, after), text) in calls.chain(iterators) {
            let call = format!("{before} {text} {after}");
            let reply = client.ask(&call);
            assert!(reply.starts_with('-'), "{call}: {reply}");
        }
        assert_eq!(client.ask("EXISTS k"), ":0");
    });
}
