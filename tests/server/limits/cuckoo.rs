//! Limits on cuckoo filters: creations and growth that are refused change nothing, and deletions
//! need no memory.

use bloomline_harness::{Client, Setup, matches, numbered, show, until};

use super::leave;
use crate::filters::Family;
use crate::inspect::{digest, number};

/// A full filter that must grow: in RedisBloom's layout by a table of 8 MiB, in Bloomline's by one
/// of more than 1 MiB.
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
    // With this seed the items of the tests are no false positives.
    client.ok("CF.RESERVE k 400000 SEED 7");
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

#[test]
fn one_call_of_copies_makes_few_tables() {
    Setup::new().on_each_server(|mut client, _| {
        // Each table has room for four copies of an item. A search comes before each: it fails
        // after all iterations. Beyond cf-max-expansions a call has 2^20 of them.
        for (iterations, tables) in [(20, 512), (2_048, 512), (65_535, 32)] {
            client.ok(&format!("CF.RESERVE k 4 MAXITERATIONS {iterations} LAYOUT REDISBLOOM"));
            let refused = number(&mut client, "growths_refused");
            let copies = "a ".repeat(3000);
            let reply = client.ask(&format!("CF.INSERT k ITEMS {copies}"));
            let (stored, left) = (reply.matches(":1").count(), reply.matches(":-1").count());
            assert_eq!(stored + left, 3000);
            let debug = client.ask("CF.DEBUG k");
            assert!(debug.contains(&format!("filters:{tables} ")), "{debug}");
            assert_eq!(number(&mut client, "growths_refused") - refused, left as u64);
            assert_eq!(client.ask("CF.ADD k b"), "-Maximum expansions reached");
            client.call("DEL k");
        }
    });
}

#[test]
fn a_limit_of_tables_ends_growth_and_nothing_else() {
    Setup::new().module_args("cf-max-expansions 2").on_each_server(|mut client, _| {
        client.ok("CF.RESERVE k 100 SEED 7");
        let items = numbered("item", 10_000);
        let is_refused = |item: &Vec<u8>, client: &mut Client| {
            show(&client.run(&[&b"CF.ADD"[..], b"k", item])) == "-Maximum expansions reached"
        };
        let end = items.iter().position(|item| is_refused(item, &mut client)).expect("an end");
        // The first table, and a second one of as many windows that was doubled four times.
        assert!(end > 1_600, "{end} items");
        for items in items[..end].chunks(1000) {
            let reply = show(&client.items("CF.MDEL", "k", items));
            assert!(!reply.contains(":0"), "{reply}");
        }
        assert_eq!(client.ask("CF.ADD k a"), ":1");
    });
}
