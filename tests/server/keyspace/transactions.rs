//! Transactions: replies in order, with errors in their places.

use bloomline_harness::{Setup, matches, numbered};

use crate::inspect::info_field;
use crate::overlapping::{assert_contains, make};

const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";

/// Calls of a transaction, each with its reply. The keys are those that the test makes.
const TRANSACTIONS: &[&[(&str, &str)]] = &[
    &[
        ("BF.ADD k a", ":0"),
        ("BF.ADD k new", ":1"),
        ("BF.ADD full x", "-ERR non scaling filter is full"),
        ("BF.EXISTS k new", ":1"),
        ("BF.CARD text", WRONG_TYPE),
    ],
    &[
        ("BF.BULKEXISTS packed FIXED 1 ab", r"*[:2 $1 \x00]"),
        ("BF.BULKADD packed FIXED 1 ab", r"*[:2 $1 \xc0]"),
        ("BF.BULKADD packed FIXED 2 abc", "-ERR the data has 3 bytes, which is no multiple of 2"),
        ("BF.BULKADD text FIXED 1 ab", WRONG_TYPE),
        ("BF.BULKEXISTS packed FIXED 1 ab COUNT", "*[:2 :2]"),
    ],
    &[
        ("BF.COMPACT k", ":0"),
        ("BF.COMPACT missing", "-ERR not found"),
        ("BF.EXISTS k a", ":1"),
        ("BF.COMPACT roomy", ":<n>"),
        ("BF.COMPACT roomy", ":0"),
    ],
    &[
        ("BF.MERGE d a b", "+OK"),
        ("BF.MERGE d missing", "-ERR source 'missing' not found"),
        ("BF.EXISTS d item:0", ":1"),
        ("BF.MERGE d c", "+OK"),
    ],
    &[
        ("BF.RESERVE ring 0.000000001 6 GENERATIONS 2 NONSCALING", "+OK"),
        ("BF.MADD ring a b c d", "*[:1 :1 :1 -ERR non scaling filter is full]"),
        ("BF.ROTATE ring", "+OK"),
        ("BF.ADD ring d", ":1"),
        ("BF.ROTATE ring", "+OK"),
        ("BF.ROTATE ring", "+OK"),
        ("BF.MEXISTS ring a b c d", "*[:0 :0 :0 :1]"),
        ("BF.CARD ring", ":1"),
        ("BF.ROTATE ring AT x", "-ERR AT needs a Unix time in milliseconds"),
    ],
    &[
        ("CF.RESERVE cuckoo 100", "+OK"),
        ("CF.INSERT cuckoo ITEMS a b", "*[:1 :1]"),
        ("CF.ADD text a", WRONG_TYPE),
        ("CF.DEL cuckoo a", ":1"),
        ("CF.DEL missing a", "-Not found"),
        ("CF.MEXISTS cuckoo a b", "*[:0 :1]"),
    ],
];

#[test]
fn transactions_reply_in_order_with_errors_in_place() {
    Setup::new().on_shared_servers(|mut client, _| {
        make(&mut client, "SEED 7");
        client.ok("BF.RESERVE k 0.0000001 100");
        assert_eq!(client.ask("BF.ADD k a"), ":1");
        client.ok("BF.RESERVE full 0.0000001 2 NONSCALING");
        assert_eq!(client.ask("BF.MADD full a b"), "*[:1 :1]");
        client.ok("BF.RESERVE roomy 0.001 100000");
        client.ok("SET text value");
        for calls in TRANSACTIONS {
            client.ok("MULTI");
            for (line, _) in *calls {
                assert_eq!(client.ask(line), "+QUEUED", "{line}");
            }
            let replies: Vec<&str> = calls.iter().map(|(_, reply)| *reply).collect();
            let (expected, reply) = (format!("*[{}]", replies.join(" ")), client.ask("EXEC"));
            assert!(matches(&expected, &reply), "{reply}\n{expected}");
        }
        assert_contains(&mut client, "d", 0..400);
        client.ok("MULTI");
        assert_eq!(client.ask("BF.ADD k discarded"), "+QUEUED");
        client.ok("DISCARD");
        assert_eq!(client.ask("BF.EXISTS k discarded"), ":0");
    });
}

#[test]
fn a_script_compacts() {
    Setup::new().on_shared_servers(|mut client, _| {
        client.ok("BF.RESERVE k 0.001 100000");
        client.items("BF.MADD", "k", &numbered("item", 100));
        let size = info_field(&mut client, "k", "SIZE");
        let script = "local n = redis.call('BF.COMPACT', KEYS[1]) \
                      return {n, redis.call('BF.COMPACT', KEYS[1])}";
        let reply = client.ask(&format!("EVAL \"{script}\" 1 k"));
        let freed = size - info_field(&mut client, "k", "SIZE");
        assert!(freed > 0);
        assert_eq!(reply, format!("*[:{freed} :0]"));
    });
}
