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

/// Spellings of what is no integer on any server.
const NO_INTEGERS: [&str; 10] =
    ["+10", "010", "00", "-0", "1e2", "10.0", "0x10", r#"" 10""#, r#""10 ""#, r#""10\x00""#];

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
fn integers_have_one_form_on_every_server() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        for text in NO_INTEGERS {
            for call in [
                format!("BF.RESERVE k 0.01 {text}"),
                format!("BF.RESERVE k 0.01 100 EXPANSION {text}"),
                format!("BF.INSERT k CAPACITY {text} ITEMS a"),
                format!("BF.INSERT k EXPANSION {text} ITEMS a"),
                format!("BF.RESERVE k 0.01 100 WINDOW {text}"),
                format!("BF.RESERVE k 0.01 100 GENERATIONS {text}"),
                format!("BF.RESERVE k 0.01 100 TTL {text}"),
                format!("BF.RESERVE k 0.01 100 SEED {text}"),
                format!("BF.BULKADD k FIXED {text} aaaaaaaaaa"),
                format!("BF.LOADCHUNK k {text} a"),
                format!("CF.RESERVE k {text}"),
                format!("CF.RESERVE k 100 BUCKETSIZE {text}"),
                format!("CF.INSERT k CAPACITY {text} ITEMS a"),
                format!("CF.LOADCHUNK k {text} a"),
            ] {
                let reply = client.ask(&call);
                assert!(reply.starts_with('-'), "{call}: {reply}");
            }
        }
        assert_eq!(client.ask("EXISTS k"), ":0");
    });
}
