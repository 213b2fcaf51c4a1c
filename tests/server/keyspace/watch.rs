//! WATCH: a change aborts the transaction of a watching client, and nothing else does.

use bloomline_harness::{Client, Setup, for_each_server};

use crate::inspect::word;

/// Brings the database into the state that [`CALLS`] assume.
pub fn prepare(client: &mut Client) {
    client.ok("FLUSHALL");
    client.ok("BF.RESERVE k 0.0000001 100");
    assert_eq!(client.ask("BF.MADD k a b"), "*[:1 :1]");
    client.ok("BF.RESERVE full 0.0000001 2 NONSCALING");
    assert_eq!(client.ask("BF.MADD full a b"), "*[:1 :1]");
    client.ok("SET text value");
    for key in ["roomy", "compacted"] {
        client.ok(&format!("BF.RESERVE {key} 0.001 100000"));
    }
    assert_ne!(client.ask("BF.COMPACT compacted"), ":0");
    client.ok("BF.RESERVE hand 0.0000001 100 GENERATIONS 2");
    client.ok("CF.RESERVE cuckoo 100 LAYOUT REDISBLOOM");
    assert_eq!(client.ask("CF.INSERT cuckoo ITEMS a b b"), "*[:1 :1 :1]");
    client.ok("CF.RESERVE caged 4 EXPANSION 0 LAYOUT REDISBLOOM");
    client.ok("CF.LOADCHUNK caged 5 \"\\x01\\x01\\x01\\x01\"");
    client.ok("CF.RESERVE sparse 1000");
    client.ok("CF.RESERVE deleted 100 LAYOUT REDISBLOOM");
    assert_eq!(client.ask("CF.ADD deleted a"), ":1");
    assert_eq!(client.ask("CF.DEL deleted a"), ":1");
}

/// Calls whose second argument is the key, and whether they change it.
pub const CALLS: &[(&str, bool)] = &[
    ("BF.ADD k new", true),
    ("BF.ADD missing a", true),
    ("BF.MADD k a new", true),
    ("BF.MADD missing a", true),
    ("BF.BULKADD k LINES \"a\nnew\"", true),
    ("BF.BULKADD missing FIXED 1 a", true),
    ("BF.INSERT k ITEMS new", true),
    ("BF.INSERT k NOCREATE ITEMS a new", true),
    ("BF.INSERT missing CAPACITY 7 ITEMS a", true),
    ("BF.RESERVE missing 0.01 100", true),
    ("BF.COMPACT roomy", true),
    ("BF.ROTATE hand", true),
    ("CF.ADD cuckoo a", true),
    ("CF.ADD missing a", true),
    ("CF.ADDNX cuckoo new", true),
    ("CF.ADDNX missing a", true),
    ("CF.INSERT cuckoo ITEMS a", true),
    ("CF.INSERT missing CAPACITY 7 ITEMS a", true),
    ("CF.INSERTNX cuckoo NOCREATE ITEMS a new", true),
    ("CF.INSERTNX missing ITEMS a a", true),
    ("CF.RESERVE missing 100", true),
    ("CF.DEL cuckoo a", true),
    ("CF.MDEL cuckoo x b b b", true),
    ("CF.BULKADD cuckoo LINES a", true),
    ("CF.BULKADD missing LINES a", true),
    ("CF.BULKDEL cuckoo FIXED 1 xa", true),
    ("CF.COMPACT deleted", true),
    ("CF.COMPACT sparse", true),
    ("CF.LOADCHUNK deleted 2 x", true),
    // Filters that cannot become smaller, or have no generations.
    ("BF.COMPACT k", false),
    ("BF.COMPACT compacted", false),
    ("BF.COMPACT missing", false),
    ("BF.ROTATE hand AT x", false),
    ("BF.ROTATE k", false),
    // Cuckoo filters in RedisBloom's layout, of one table without deletions.
    ("CF.COMPACT cuckoo", false),
    ("CF.COMPACT missing", false),
    // Items that are not there to be deleted.
    ("CF.DEL cuckoo x", false),
    ("CF.MDEL cuckoo x y", false),
    ("CF.DEL missing a", false),
    ("CF.MDEL missing a", false),
    ("CF.BULKDEL cuckoo LINES x", false),
    ("CF.BULKDEL missing LINES a", false),
    // Items that are already present.
    ("CF.ADDNX cuckoo a", false),
    ("CF.INSERTNX cuckoo ITEMS a b a", false),
    ("BF.ADD k a", false),
    ("BF.MADD k a b a", false),
    ("BF.BULKADD k FIXED 1 aba", false),
    ("BF.INSERT k ITEMS a", false),
    ("BF.INSERT k NOCREATE ITEMS a b", false),
    ("BF.ADD full a", false),
    // Items without room.
    ("BF.ADD full x", false),
    ("BF.MADD full x y", false),
    ("BF.MADD full a x", false),
    ("BF.BULKADD full FIXED 1 axa", false),
    ("BF.INSERT full ITEMS x", false),
    ("CF.ADD caged x", false),
    ("CF.ADDNX caged x", false),
    ("CF.INSERT caged ITEMS x y", false),
    ("CF.INSERTNX caged ITEMS x y", false),
    // Filters that are not created.
    ("CF.RESERVE cuckoo 100", false),
    ("CF.RESERVE missing 1", false),
    ("CF.RESERVE missing 100 EXPANSION x", false),
    ("CF.INSERT missing NOCREATE ITEMS a", false),
    ("CF.INSERTNX missing CAPACITY 1 ITEMS a", false),
    ("BF.RESERVE k 0.01 100", false),
    ("BF.RESERVE k 0.01 0", false),
    ("BF.RESERVE missing 0.01 0", false),
    ("BF.RESERVE missing 0.01 100 BOGUS", false),
    ("BF.INSERT missing NOCREATE ITEMS a", false),
    ("BF.INSERT missing CAPACITY x ITEMS a", false),
    ("BF.BULKADD missing LINES \"\n\r\n\"", false),
    ("BF.BULKADD missing LINES \"\"", false),
    // Keys of other types.
    ("BF.RESERVE text 0.01 100", false),
    ("BF.ADD text a", false),
    ("BF.BULKADD text FIXED 1 a", false),
    ("BF.INSERT text ITEMS a", false),
    ("BF.LOADCHUNK text 1 garbage", false),
    ("CF.RESERVE text 100", false),
    ("CF.ADD text a", false),
    ("CF.ADD k a", false),
    ("CF.INSERT text ITEMS a", false),
    ("CF.DEL text a", false),
    ("CF.COMPACT text", false),
    ("CF.LOADCHUNK text 1 garbage", false),
    // Chunks that are refused.
    ("BF.LOADCHUNK missing 1 garbage", false),
    ("BF.LOADCHUNK missing 2 garbage", false),
    ("BF.LOADCHUNK k 1 garbage", false),
    ("BF.LOADCHUNK k 0 x", false),
    ("BF.LOADCHUNK k 1000000 x", false),
    ("BF.LOADCHUNK k x x", false),
    ("CF.LOADCHUNK missing 1 garbage", false),
    ("CF.LOADCHUNK missing 2 garbage", false),
    ("CF.LOADCHUNK cuckoo 1 garbage", false),
    ("CF.LOADCHUNK cuckoo 0 x", false),
    ("CF.LOADCHUNK cuckoo 1000000 x", false),
    ("CF.LOADCHUNK cuckoo x x", false),
    // Reads.
    ("CF.EXISTS cuckoo a", false),
    ("CF.MEXISTS cuckoo a x", false),
    ("CF.COUNT cuckoo b", false),
    ("CF.INFO cuckoo", false),
    ("CF.DEBUG cuckoo", false),
    ("CF.SCANDUMP cuckoo 0", false),
    ("CF.SCANDUMP cuckoo 1", false),
    ("BF.EXISTS k a", false),
    ("BF.EXISTS missing a", false),
    ("BF.MEXISTS k a x", false),
    ("BF.BULKEXISTS k FIXED 1 ax", false),
    ("BF.BULKEXISTS missing FIXED 1 ax", false),
    ("BF.CARD k", false),
    ("BF.INFO k", false),
    ("BF.INFO k SIZE", false),
    ("BF.STATS k", false),
    ("BF.DEBUG k", false),
    ("BF.SCANDUMP k 0", false),
    ("BF.SCANDUMP k 1", false),
];

/// True if `between` aborts the transaction of a client that watches `key`.
pub fn is_aborted(watcher: &mut Client, key: &str, between: impl FnOnce()) -> bool {
    watcher.ok(&format!("WATCH {key}"));
    between();
    watcher.ok("MULTI");
    assert_eq!(watcher.ask("PING"), "+QUEUED");
    match watcher.ask("EXEC").as_str() {
        "_" => true,
        "*[+PONG]" => false,
        other => panic!("EXEC returned {other}"),
    }
}

#[test]
fn only_changes_touch_a_watcher() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let (mut watcher, mut client) = (server.resp2(), server.resp2());
        let mut wrong = String::new();
        for (line, changes) in CALLS {
            prepare(&mut client);
            let mut reply = String::new();
            let touched = is_aborted(&mut watcher, word(line, 1), || reply = client.ask(line));
            if touched != *changes {
                wrong += &format!("\n{line} ({reply}): touched {touched}");
            }
        }
        assert!(wrong.is_empty(), "{wrong}");
    });
}

#[test]
fn loaded_chunks_touch_a_watcher() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let (mut watcher, mut client) = (server.resp2(), server.resp2());
        prepare(&mut client);
        for iterator in [0, 1] {
            let (next, data) = client.scandump("k", iterator);
            let load = || drop(client.loadchunk("missing", next, &data));
            assert!(is_aborted(&mut watcher, "missing", load), "chunk {next}");
        }
    });
}

#[test]
fn other_commands_on_the_key_touch_a_watcher() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let (mut watcher, mut client) = (server.resp2(), server.resp2());
        for (key, line) in [
            ("missing", "COPY full missing"),
            ("k", "COPY full k REPLACE"),
            ("k", "RENAME full k"),
            ("k", "DEL k"),
            ("k", "UNLINK k"),
            ("k", "EXPIRE k 100"),
            ("k", "FLUSHALL ASYNC"),
            ("k", "SWAPDB 0 1"),
        ] {
            prepare(&mut client);
            let mut reply = String::new();
            assert!(is_aborted(&mut watcher, key, || reply = client.ask(line)), "{line}: {reply}");
        }
    });
}

#[test]
fn a_transaction_replies_in_order_with_errors_in_place() {
    Setup::new().on_each_server(|mut client, _| {
        prepare(&mut client);
        client.ok("MULTI");
        for line in
            ["BF.ADD k a", "BF.ADD k new", "BF.ADD full x", "BF.EXISTS k new", "BF.CARD text"]
        {
            assert_eq!(client.ask(line), "+QUEUED");
        }
        assert_eq!(
            client.ask("EXEC"),
            "*[:0 :1 -ERR non scaling filter is full :1 -WRONGTYPE Operation against a key holding the wrong kind of value]"
        );
        client.ok("MULTI");
        assert_eq!(client.ask("BF.ADD k discarded"), "+QUEUED");
        client.ok("DISCARD");
        assert_eq!(client.ask("BF.EXISTS k discarded"), ":0");
    });
}
