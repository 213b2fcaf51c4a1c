//! What each command replies if there is no filter of its family under the key.

use bloomline_harness::{Setup, matches};

const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
const NOT_FOUND: &str = "-ERR not found";

/// Calls with a key KEY, the reply if it is missing, and the reply if it holds something else.
const CALLS: &[(&str, &str, &str)] = &[
    ("BF.RESERVE KEY 0.01 100", "+OK", WRONG_TYPE),
    ("BF.ADD KEY a", ":1", WRONG_TYPE),
    ("BF.MADD KEY a b", "*[:1 :1]", WRONG_TYPE),
    ("BF.INSERT KEY ITEMS a", "*[:1]", WRONG_TYPE),
    ("BF.INSERT KEY WINDOW 60 TTL 5 ITEMS a", "*[:1]", WRONG_TYPE),
    ("BF.INSERT KEY NOCREATE ITEMS a", NOT_FOUND, WRONG_TYPE),
    ("BF.BULKADD KEY FIXED 1 a", r"*[:1 $1 \x80]", WRONG_TYPE),
    ("BF.BULKADD KEY LINES a COUNT", "*[:1 :1]", WRONG_TYPE),
    ("BF.ROTATE KEY", NOT_FOUND, WRONG_TYPE),
    ("BF.ROTATE KEY AT 5", NOT_FOUND, WRONG_TYPE),
    ("BF.COMPACT KEY", NOT_FOUND, WRONG_TYPE),
    ("BF.EXISTS KEY a", ":0", ":0"),
    ("BF.MEXISTS KEY a b", "*[:0 :0]", "*[:0 :0]"),
    ("BF.BULKEXISTS KEY FIXED 1 aaaaaaaaa", r"*[:9 $2 \x00\x00]", r"*[:9 $2 \x00\x00]"),
    ("BF.BULKEXISTS KEY LINES a COUNT", "*[:1 :0]", "*[:1 :0]"),
    ("BF.CARD KEY", ":0", WRONG_TYPE),
    ("BF.INFO KEY", NOT_FOUND, WRONG_TYPE),
    ("BF.INFO KEY CAPACITY", NOT_FOUND, WRONG_TYPE),
    // The key is checked before the field, the iterator of a dump, and the data.
    ("BF.INFO KEY bogus", NOT_FOUND, WRONG_TYPE),
    ("BF.STATS KEY", NOT_FOUND, WRONG_TYPE),
    ("BF.STATS KEY bogus", NOT_FOUND, WRONG_TYPE),
    ("BF.DEBUG KEY", NOT_FOUND, WRONG_TYPE),
    ("BF.SCANDUMP KEY 0", NOT_FOUND, WRONG_TYPE),
    ("BF.SCANDUMP KEY x", NOT_FOUND, WRONG_TYPE),
    ("BF.LOADCHUNK KEY 1 data", "-ERR received bad data", WRONG_TYPE),
    ("BF.LOADCHUNK KEY 2 data", NOT_FOUND, WRONG_TYPE),
    ("BF.LOADCHUNK KEY -1 data", NOT_FOUND, WRONG_TYPE),
    // The iterator of a load, and the capacity of an insertion, are checked before the key.
    (
        "BF.LOADCHUNK KEY x data",
        "-ERR Second argument must be numeric",
        "-ERR Second argument must be numeric",
    ),
    ("BF.INSERT KEY CAPACITY 0 ITEMS a", "-Bad capacity", "-Bad capacity"),
    ("CF.RESERVE KEY 100", "+OK", WRONG_TYPE),
    ("CF.ADD KEY a", ":1", WRONG_TYPE),
    ("CF.ADDNX KEY a", ":1", WRONG_TYPE),
    ("CF.INSERT KEY ITEMS a", "*[:1]", WRONG_TYPE),
    ("CF.INSERT KEY NOCREATE ITEMS a", NOT_FOUND, WRONG_TYPE),
    ("CF.INSERTNX KEY ITEMS a a", "*[:1 :0]", WRONG_TYPE),
    ("CF.INSERTNX KEY NOCREATE ITEMS a", NOT_FOUND, WRONG_TYPE),
    ("CF.BULKADD KEY LINES a", r"*[:1 $1 \x80]", WRONG_TYPE),
    ("CF.DEL KEY a", "-Not found", "-Not found"),
    ("CF.MDEL KEY a b", "-Not found", "-Not found"),
    ("CF.BULKDEL KEY LINES a", "-Not found", "-Not found"),
    ("CF.COMPACT KEY", "-Cuckoo filter was not found", "-Cuckoo filter was not found"),
    ("CF.EXISTS KEY a", ":0", ":0"),
    ("CF.MEXISTS KEY a b", "*[:0 :0]", "*[:0 :0]"),
    ("CF.BULKEXISTS KEY LINES a", r"*[:1 $1 \x00]", r"*[:1 $1 \x00]"),
    ("CF.COUNT KEY a", ":0", ":0"),
    ("CF.INFO KEY", NOT_FOUND, WRONG_TYPE),
    ("CF.DEBUG KEY", NOT_FOUND, WRONG_TYPE),
    ("CF.SCANDUMP KEY 0", NOT_FOUND, WRONG_TYPE),
    ("CF.SCANDUMP KEY x", "-Invalid position", "-Invalid position"),
    ("CF.LOADCHUNK KEY 1 x", "-Invalid header", WRONG_TYPE),
    ("CF.LOADCHUNK KEY 2 x", NOT_FOUND, WRONG_TYPE),
    ("CF.LOADCHUNK KEY -1 x", NOT_FOUND, WRONG_TYPE),
];

#[test]
fn missing_keys_and_other_types_have_their_replies() {
    Setup::new().debug().on_each_server(|mut client, _| {
        client.ok("SET text value");
        assert_eq!(client.ask("RPUSH list x"), ":1");
        assert_eq!(client.ask("BF.ADD bloom a"), ":1");
        assert_eq!(client.ask("CF.ADD cuckoo a"), ":1");
        let before = client.ask("DEBUG DIGEST");
        let mut wrong = String::new();
        for (call, missing, other) in CALLS {
            let family = if call.starts_with("BF") { "cuckoo" } else { "bloom" };
            for (key, expected) in
                [("missing", missing), ("text", other), ("list", other), (family, other)]
            {
                let line = call.replace("KEY", key);
                let reply = client.ask(&line);
                if !matches(expected, &reply) {
                    wrong += &format!("\n{line}\n  expected {expected}\n  got      {reply}");
                }
                let is_created = ["+OK", ":1", "*[:1"].iter().any(|new| missing.starts_with(new))
                    && !call.contains("EXISTS");
                let deleted = client.ask("DEL missing");
                assert_eq!(deleted == ":1", is_created && key == "missing", "{line}");
            }
        }
        assert!(wrong.is_empty(), "{wrong}");
        assert_eq!(client.ask("DEBUG DIGEST"), before);
    });
}
