//! Numbers in arguments: what is one, on every server.

use bloomline_harness::{Setup, for_each_server, matches};

/// Spellings of rates, and the rate that a filter gets; none if it is not a number.
const RATES: [(&str, Option<&str>); 30] = [
    ("0.01", Some("0.01")),
    ("+0.01", Some("0.01")),
    (".01", Some("0.01")),
    ("1e-2", Some("0.01")),
    ("1E-2", Some("0.01")),
    ("10.e-3", Some("0.01")),
    ("0.0100000000000000000000000000000000000000000000000000000000000000", Some("0.01")),
    ("0x1p-7", Some("0.0078125")),
    ("0X1P-7", Some("0.0078125")),
    ("+0x1p-7", Some("0.0078125")),
    ("0x.8p-3", Some("0.0625")),
    ("0x0.01", Some("0.00390625")),
    ("0xap-9", Some("0.01953125")),
    ("0x1.47ae147ae147bp-7", Some("0.01")),
    ("0x1.47ae147ae147b0000000000000001p-7", Some("0.01")),
    (r#"" 0.01""#, None),
    (r#""0.01 ""#, None),
    (r#""0.01\x00""#, None),
    ("0,01", None),
    ("1e-400", None),
    ("1e400", None),
    ("0x1p-1080", None),
    ("0x1p1024", None),
    ("0x", None),
    ("0x1p", None),
    ("0x.p1", None),
    ("1e", None),
    ("nan", None),
    ("0b1", None),
    (r#""""#, None),
];

/// Spellings of 10.
const TENS: [&str; 5] = ["10", "+10", "010", "+010", "00000000000000000000000000000000010"];

/// Spellings of what is no integer on any server.
const NO_INTEGERS: [&str; 10] =
    ["1e2", "10.0", "0x10", r#"" 10""#, r#""10 ""#, r#""10\x00""#, "+", "-", "+-1", r#""""#];

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
fn rates_are_the_same_numbers_on_every_server() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        for (text, rate) in RATES {
            for (create, refusal) in [
                (format!("BF.RESERVE k {text} 100"), "-ERR bad error rate"),
                (format!("BF.INSERT k ERROR {text} ITEMS a"), "-Bad error rate"),
                (format!("CF.RESERVE k 100 ERROR {text}"), "-Bad error rate"),
                (format!("CF.INSERT k ERROR {text} ITEMS a"), "-Bad error rate"),
            ] {
                let reply = client.ask(&create);
                match rate {
                    Some(rate) => {
                        let info = format!("{}.INFO k ERROR", &create[..2]);
                        let expected = format!("*[${} {rate}]", rate.len());
                        assert_eq!(client.ask(&info), expected, "{create}: {reply}");
                    }
                    None => {
                        assert!(matches(&format!("{refusal}<any>"), &reply), "{create}: {reply}")
                    }
                }
                client.call("DEL k");
            }
        }
        for text in ["inf", "-inf", "Infinity", "0x0", "0x1", "-0x1p-7", "-0", "0e-999"] {
            let reply = client.ask(&format!("BF.RESERVE k {text} 100"));
            assert_eq!(
                reply, "-ERR error rate must be in the range (0.000000, 1.000000)",
                "{text}"
            );
        }
    });
}

#[test]
fn integers_are_the_same_on_every_server() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        for (before, after) in WITH_INTEGER {
            for text in TENS {
                let call = format!("{before} {text} {after}");
                let reply = client.ask(&call);
                assert!(!reply.contains("-"), "{call}: {reply}");
                assert_eq!(client.ask("DEL k"), ":1", "{call}");
            }
            for text in NO_INTEGERS {
                let call = format!("{before} {text} {after}");
                let reply = client.ask(&call);
                assert!(reply.starts_with('-'), "{call}: {reply}");
            }
        }
        assert_eq!(client.ask("EXISTS k"), ":0");
    });
}

#[test]
fn iterators_have_one_form_on_every_server() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        client.ok("BF.RESERVE filter 0.01 100");
        client.ok("CF.RESERVE cuckoo 100");
        for (before, after) in WITH_ITERATOR {
            for text in TENS.iter().skip(1).chain(&NO_INTEGERS) {
                let call = format!("{before} {text} {after}");
                let reply = client.ask(&call);
                assert!(reply.starts_with('-'), "{call}: {reply}");
            }
        }
        assert_eq!(client.ask("EXISTS k"), ":0");
    });
}
