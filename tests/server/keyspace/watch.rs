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
    // Items that are already present.
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
    // Filters that are not created.
    ("BF.RESERVE k 0.01 100", false),
    ("BF.RESERVE k 0.01 0", false),
    ("BF.RESERVE missing 0.01 0", false),
    ("BF.RESERVE missing 0.01 100 BOGUS", false),
    ("BF.INSERT missing NOCREATE ITEMS a", false),
    ("BF.INSERT missing CAPACITY x ITEMS a", false),
    ("BF.BULKADD missing LINES \"a\n\n\"", false),
    ("BF.BULKADD missing LINES \"\"", false),
    // Keys of other types.
    ("BF.RESERVE text 0.01 100", false),
    ("BF.ADD text a", false),
    ("BF.BULKADD text FIXED 1 a", false),
    ("BF.INSERT text ITEMS a", false),
    ("BF.LOADCHUNK text 1 garbage", false),
    // Chunks that are refused.
    ("BF.LOADCHUNK missing 1 garbage", false),
    ("BF.LOADCHUNK missing 2 garbage", false),
    ("BF.LOADCHUNK k 1 garbage", false),
    ("BF.LOADCHUNK k 0 x", false),
    ("BF.LOADCHUNK k 1000000 x", false),
    ("BF.LOADCHUNK k x x", false),
    // Reads.
    ("BF.EXISTS k a", false),
    ("BF.EXISTS missing a", false),
    ("BF.MEXISTS k a x", false),
    ("BF.BULKEXISTS k FIXED 1 ax", false),
    ("BF.BULKEXISTS missing FIXED 1 ax", false),
    ("BF.CARD k", false),
    ("BF.INFO k", false),
    ("BF.INFO k SIZE", false),
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
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
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
