//! A server above `maxmemory`: what would need memory is refused, and the rest works.

use bloomline_harness::{Setup, matches, numbered};

/// Calls with the flag `denyoom`.
const REFUSED: [&str; 19] = [
    "BF.ADD k c",
    "BF.ADD k a",
    "BF.MADD k c d",
    "BF.INSERT k ITEMS c",
    "BF.BULKADD k FIXED 1 ca",
    "BF.RESERVE new 0.01 100",
    "BF.RESERVE new 0.01 100 LAST GENERATIONS 8",
    "BF.LOADCHUNK k 1 x",
    "BF.MERGE k k",
    "BF.ROTATE hand",
    "BF.ROTATE hand AT 5",
    "BF.ADD hand a",
    "CF.ADD c x",
    "CF.ADDNX c a",
    "CF.INSERT c ITEMS x",
    "CF.INSERTNX c ITEMS x",
    "CF.BULKADD c LINES x",
    "CF.RESERVE new 100",
    "CF.LOADCHUNK c 2 x",
];

/// Calls that need no memory, or make room.
const ALLOWED: [(&str, &str); 16] = [
    ("BF.MEXISTS k a b c", "*[:1 :1 :0]"),
    ("BF.BULKEXISTS k FIXED 1 abc", r"*[:3 $1 \xc0]"),
    ("BF.CARD k", ":2"),
    ("BF.INFO k ITEMS", "*[:2]"),
    ("BF.SCANDUMP k 0", "*[:1 <any>"),
    ("BF.COMPACT roomy", ":<n>"),
    ("BF.EXISTS roomy a", ":1"),
    ("CF.MEXISTS c a x", "*[:1 :0]"),
    ("CF.COUNT c a", ":1"),
    ("CF.SCANDUMP c 0", "*[:1 <any>"),
    ("CF.DEL c a", ":1"),
    ("CF.BULKDEL c LINES b", r"*[:1 $1 \x80]"),
    ("CF.MDEL c item:1 item:2 x", "*[:1 :1 :0]"),
    ("CF.COMPACT c", "+OK"),
    ("CF.DEBUG c", "<any>items:298 deletes:0 <any>"),
    ("DEL k", ":1"),
];

#[test]
fn what_needs_memory_is_refused_and_the_rest_works() {
    Setup::new().on_each_server(|mut client, _| {
        assert_eq!(client.ask("BF.MADD k a b"), "*[:1 :1]");
        client.ok("BF.RESERVE hand 0.01 100 GENERATIONS 2");
        client.ok("BF.RESERVE roomy 0.001 100000");
        assert_eq!(client.ask("BF.ADD roomy a"), ":1");
        client.ok("CF.RESERVE c 64 ERROR 0.00001");
        client.items(
            "CF.INSERT",
            "c",
            &[&[b"ITEMS".to_vec()], &numbered("item", 300)[..]].concat(),
        );
        assert_eq!(client.ask("CF.INSERT c ITEMS a b"), "*[:1 :1]");
        client.ok("CONFIG SET maxmemory 1");
        for line in REFUSED {
            let refused = client.ask(line);
            assert!(refused.starts_with("-OOM"), "{line}: {refused}");
        }
        for (line, expected) in ALLOWED {
            let reply = client.ask(line);
            assert!(matches(expected, &reply), "{line}: {reply}");
        }
        assert_eq!(client.ask("BF.INFO hand FILTERS"), "*[:1]");
        client.ok("CONFIG SET maxmemory 0");
        client.ok("BF.ROTATE hand");
        assert_eq!(client.ask("BF.ADD k a"), ":1");
        assert_eq!(client.ask("CF.ADD c a"), ":1");
    });
}
