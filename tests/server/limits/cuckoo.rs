//! Limits on cuckoo filters: creations and growth that are refused change nothing, and deletions
//! need no memory.

use bloomline_harness::{
    Client, Server, Setup, Stop, for_each_server, matches, numbered, show, until,
};

use crate::filters::Family;
use crate::inspect::{digest, number};

const TOO_LARGE: &str = "-ERR Insufficient memory to create filter";

/// Sets `maxmemory` so that this many bytes are left.
fn leave(client: &mut Client, bytes: u64) {
    let max = client.info_number("used_memory") + bytes;
    client.ok(&format!("CONFIG SET maxmemory {max}"));
}

/// The header of an empty filter with these parameters.
fn header(client: &mut Client, parameters: &str) -> Vec<u8> {
    client.ok(&format!("CF.RESERVE header {parameters}"));
    let (_, header) = client.scandump_of("CF", "header", 0);
    client.ok("FLUSHALL SYNC");
    header
}

/// Asserts that every call that would create a filter of 4 MiB is refused.
fn assert_creation_refused(client: &mut Client, header: &[u8], because: &str) {
    let before = (client.ask("DBSIZE"), number(client, "creations_refused"));
    let expected = format!("{TOO_LARGE}: {because}");
    for reply in [
        client.ask("CF.RESERVE new 4000000"),
        client.ask("CF.INSERT new CAPACITY 4000000 ITEMS a b"),
        client.ask("CF.INSERTNX new CAPACITY 4000000 ITEMS a b"),
        client.loadchunk_of("CF", "new", 1, header),
    ] {
        assert!(matches(&expected, &reply), "{reply}");
    }
    let now = (client.ask("DBSIZE"), number(client, "creations_refused"));
    assert_eq!(now, (before.0, before.1 + 4));
}

#[test]
fn limits_apply_to_every_creation() {
    for_each_server(|kind| {
        let origin = Setup::new().start(kind);
        let header = header(&mut origin.resp2(), "4000000");
        let server = Setup::new().module_args("bf-max-filter-bytes 1mb").start(kind);
        let mut client = server.resp2();
        let because = "it needs <n> bytes, bf-max-filter-bytes allows 1048576";
        assert_creation_refused(&mut client, &header, because);
        client.ok("CF.RESERVE fits 500000");
        let mut client = origin.resp2();
        leave(&mut client, 2 << 20);
        let because = "its new layers need <n> bytes, maxmemory <n> leaves <n>";
        assert_creation_refused(&mut client, &header, because);
        // The setting makes the filters of additions.
        let args = "bf-max-filter-bytes 1mb cf-initial-size 4000000";
        let server = Setup::new().module_args(args).start(kind);
        let mut client = server.resp2();
        for line in ["CF.ADD new a", "CF.ADDNX new a"] {
            assert!(client.ask(line).starts_with(TOO_LARGE), "{line}");
        }
        assert_eq!(client.ask("DBSIZE"), ":0");
    });
}

/// A full filter that must grow: in RedisBloom's layout by a table of 8 MiB, in Bloomline's by one of
/// more than 1 MiB.
fn about_to_grow(client: &mut Client, layout: &str) {
    client.ok("FLUSHALL");
    // Some servers free it in the background.
    until("the filter before to be freed", || (number(client, "cf_bytes") == 0).then_some(()));
    if layout == "redisbloom" {
        let options = "BUCKETSIZE 2 EXPANSION 32768 MAXITERATIONS 1 LAYOUT REDISBLOOM";
        client.ok(&format!("CF.RESERVE k 256 {options}"));
        client.ok(&format!("CF.LOADCHUNK k 257 {}", "~".repeat(256)));
        return;
    }
    client.ok("CF.RESERVE k 400000");
    client.ok("CONFIG SET maxmemory 0");
    for items in numbered("item", 420_000).chunks(50_000) {
        let reply = show(&Family::Cuckoo.add(client, "k", items));
        if reply.contains('-') {
            return;
        }
    }
}

/// Asserts that calls that need another table are refused and change nothing.
fn assert_growth_refused(client: &mut Client) {
    let before = (digest(client, "k"), number(client, "cf_bytes"));
    let refused = number(client, "growths_refused");
    assert_eq!(client.ask("CF.ADD k new"), "-ERR Insufficient memory");
    assert_eq!(client.ask("CF.ADDNX k new"), "-ERR Insufficient memory");
    assert_eq!(client.ask("CF.INSERT k ITEMS new newer"), "*[:-1 :-1]");
    assert_eq!(client.ask("CF.INSERTNX k NOCREATE ITEMS new"), "*[:-1]");
    assert_eq!((digest(client, "k"), number(client, "cf_bytes")), before);
    assert!(number(client, "growths_refused") >= refused + 4);
}

#[test]
fn growth_beyond_a_limit_is_refused() {
    Setup::new().debug().module_args("bf-max-filter-bytes 1mb").on_each_server(
        |mut client, server| {
            for layout in ["bloomline", "redisbloom"] {
                about_to_grow(&mut client, layout);
                assert_growth_refused(&mut client);
            }
            let (log, line) = (server.log(), "growth of filter 'k' refused: it needs <n> bytes");
            assert!(matches(&format!("<any>{line}<any>"), &log), "{log}");
            // Clients of RESP3 get a false.
            if !server.kind.is_before_7() {
                assert_eq!(server.resp3().ask("CF.INSERT k ITEMS new"), "*[#f]");
                assert_eq!(server.resp3().ask("CF.INSERTNX k ITEMS new"), "*[:-1]");
            }
            let server = Setup::new().debug().start(&server.kind);
            let mut client = server.resp2();
            about_to_grow(&mut client, "redisbloom");
            leave(&mut client, 4 << 20);
            assert_growth_refused(&mut client);
            // Without the limit it grows where it stopped.
            client.ok("CONFIG SET maxmemory 0");
            assert_eq!(client.ask("CF.ADD k new"), ":1");
            assert!(client.ask("CF.DEBUG k").contains("filters:2"));
        },
    );
}

#[test]
fn out_of_memory_refuses_additions_and_allows_deletions() {
    Setup::new().on_each_server(|mut client, _| {
        client.ok("CF.RESERVE k 64 ERROR 0.00001");
        Family::Cuckoo.add(&mut client, "k", &numbered("item", 300));
        client.ok("CONFIG SET maxmemory 1");
        for line in [
            "CF.ADD k a",
            "CF.ADDNX k item:1",
            "CF.INSERT k ITEMS a",
            "CF.INSERTNX k ITEMS a",
            "CF.RESERVE new 100",
            "CF.LOADCHUNK k 2 x",
        ] {
            let refused = client.ask(line);
            assert!(refused.starts_with("-OOM"), "{line}: {refused}");
        }
        assert_eq!(client.ask("CF.MEXISTS k item:1 a"), "*[:1 :0]");
        assert_eq!(client.ask("CF.COUNT k item:1"), ":1");
        assert!(client.ask("CF.SCANDUMP k 0").starts_with("*[:1 "));
        // What makes room is allowed.
        assert_eq!(client.ask("CF.DEL k item:1"), ":1");
        let reply = show(&client.items("CF.MDEL", "k", &numbered("item", 290)[2..]));
        assert!(!reply.contains(":0"), "{reply}");
        client.ok("CF.COMPACT k");
        let debug = client.ask("CF.DEBUG k");
        assert!(debug.contains("items:11 deletes:0 filters:1"), "{debug}");
        client.ok("CONFIG SET maxmemory 0");
        assert_eq!(client.ask("CF.ADD k a"), ":1");
    });
}

/// Runs COPY and RESTORE, which are refused.
fn assert_copies_refused(server: &Server, payload: &[u8], because: &str) {
    let mut client = server.resp2();
    assert_eq!(client.ask("COPY k new"), "-ERR module key failed to copy");
    let reply = client.restore("new", payload);
    assert_eq!(reply, "-ERR Bad data format");
    assert_eq!(client.ask("EXISTS new"), ":0");
    assert_eq!(number(&mut client, "creations_refused"), 1);
    assert_eq!(number(&mut client, "loads_refused"), 1);
    let log = server.log();
    for line in ["COPY of filter 'k' to 'new' refused", "cuckoo filter: not loaded"] {
        assert!(matches(&format!("<any>{line}: {because}<any>"), &log), "{line}: {log}");
    }
}

#[test]
fn limits_apply_to_copies_and_not_to_files() {
    Setup::new().module_args("bf-max-filter-bytes 8mb").on_each_server(|mut client, mut server| {
        client.ok("CF.RESERVE k 4000000");
        assert_eq!(client.ask("CF.ADD k a"), ":1");
        let payload = client.dump("k");
        server.edit_config("bf-max-filter-bytes 8mb", "bf-max-filter-bytes 1mb");
        server.restart(Stop::Save);
        assert_copies_refused(
            &server,
            &payload,
            "it needs <n> bytes, bf-max-filter-bytes allows 1048576",
        );
        assert_eq!(server.resp2().ask("CF.MEXISTS k a b"), "*[:1 :0]");
    });
}
