//! Cuckoo filters as keys: time to live, transactions, copies.

use bloomline_harness::{Client, Setup, Stop, bulk, int, until};

/// Milliseconds until the key expires.
fn left(client: &mut Client, key: &str) -> i64 {
    int(&client.call(&format!("PTTL {key}")))
}

#[test]
fn only_the_creation_sets_the_ttl() {
    Setup::new().line("appendonly yes").on_each_server(|mut client, mut server| {
        client.ok("CF.RESERVE k 100 BUCKETSIZE 4 TTL 1000");
        assert_eq!(client.ask("CF.INSERT inserted TTL 1000 ITEMS a"), "*[:1]");
        assert_eq!(client.ask("CF.INSERTNX nx CAPACITY 7 TTL 1000 ITEMS a"), "*[:1]");
        // The name of the option is an item behind ITEMS.
        assert_eq!(client.ask("CF.INSERT forever ITEMS TTL 1000"), "*[:1 :1]");
        assert_eq!(left(&mut client, "forever"), -1);
        assert_eq!(client.ask("CF.RESERVE k 100 TTL 5"), "-ERR item exists");
        assert_eq!(client.ask("CF.INSERT k TTL 5 ITEMS a"), "*[:1]");
        for restart in [true, false] {
            let mut client = server.resp2();
            for key in ["k", "inserted", "nx"] {
                let left = left(&mut client, key);
                assert!((900_000..=1_000_000).contains(&left), "{key}: {left}");
            }
            if restart {
                server.restart(Stop::NoSave);
            }
        }
        let mut client = server.resp2();
        assert_eq!(client.ask("CF.INSERT short TTL 1 ITEMS a"), "*[:1]");
        until("the key to expire", || (client.ask("EXISTS short") == ":0").then_some(()));
        assert_eq!(client.ask("CF.COUNT short a"), ":0");
        assert_eq!(client.ask("CF.DEL short a"), "-Not found");
    });
}

#[test]
fn a_transaction_replies_in_order_with_errors_in_place() {
    Setup::new().on_each_server(|mut client, _| {
        client.ok("SET text value");
        client.ok("MULTI");
        for line in [
            "CF.RESERVE k 100",
            "CF.INSERT k ITEMS a b",
            "CF.ADD text a",
            "CF.DEL k a",
            "CF.DEL missing a",
            "CF.MEXISTS k a b",
        ] {
            assert_eq!(client.ask(line), "+QUEUED");
        }
        assert_eq!(
            client.ask("EXEC"),
            "*[+OK *[:1 :1] -WRONGTYPE Operation against a key holding the wrong kind of value :1 -Not found *[:0 :1]]"
        );
    });
}

#[test]
fn the_key_is_one_of_its_type() {
    Setup::new().on_each_server(|mut client, _| {
        client.ok("CF.RESERVE k 100");
        client.call("BF.ADD bloom a");
        assert_eq!(client.ask("SCAN 0 TYPE MBbloomCF COUNT 100"), "*[$1 0 *[$1 k]]");
        assert_eq!(client.ask("COPY k other DB 1"), ":1");
        assert_eq!(client.ask("RENAME k renamed"), "+OK");
        assert_eq!(client.ask("CF.ADD renamed a"), ":1");
        client.ok("SELECT 1");
        assert_eq!(client.ask("CF.COUNT other a"), ":0");
        // A payload replaces what the key holds.
        let dump = client.call("DUMP other");
        client.ok("SELECT 0");
        client.run(&[b"RESTORE", b"bloom".as_slice(), b"0", bulk(&dump), b"REPLACE"]);
        assert_eq!(client.ask("TYPE bloom"), "+MBbloomCF");
    });
}
