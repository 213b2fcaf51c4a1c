//! The growth of cuckoo filters: our own layout at a limit of memory, and the limit of tables.

use bloomline_harness::{Client, Setup, numbered, show};

use crate::filters::Family;
use crate::inspect::{digest, number};

#[test]
fn growth_of_our_layout_beyond_a_limit_is_refused() {
    Setup::new().debug().module_args("bf-max-filter-bytes 1mb").on_each_server(|mut client, _| {
        // With this seed the items of the test are no false positives.
        client.ok("CF.RESERVE k 400000 SEED 7");
        let items = numbered("item", 420_000);
        let mut calls = items.chunks(50_000);
        let is_full = |items| show(&Family::Cuckoo.add(&mut client, "k", items)).contains('-');
        assert!(calls.any(is_full));
        let before = (digest(&mut client, "k"), number(&mut client, "cf_bytes"));
        let refused = number(&mut client, "growths_refused");
        assert_eq!(client.ask("CF.ADD k new"), "-ERR Insufficient memory");
        assert_eq!(client.ask("CF.ADDNX k new"), "-ERR Insufficient memory");
        assert_eq!(client.ask("CF.INSERT k ITEMS new newer"), "*[:-1 :-1]");
        assert_eq!(client.ask("CF.INSERTNX k NOCREATE ITEMS new"), "*[:-1]");
        assert_eq!((digest(&mut client, "k"), number(&mut client, "cf_bytes")), before);
        assert_eq!(number(&mut client, "growths_refused"), refused + 5);
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
