//! TTL: the key expires so many seconds after it was created.

use bloomline_harness::{Client, Setup, Stop, for_each_server, int, until};

/// Milliseconds until the key expires.
fn left(client: &mut Client, key: &str) -> i64 {
    int(&client.call(&format!("PTTL {key}")))
}

#[test]
fn a_created_key_expires_after_its_ttl() {
    Setup::new().on_each_build(|mut client, _| {
        client.ok("BF.RESERVE plain 0.01 100 TTL 1000");
        client.ok("BF.RESERVE window 0.01 100 WINDOW 60 GENERATIONS 8 TTL 1000");
        client.ok("BF.RESERVE foreign 0.01 100 LAYOUT REDISBLOOM TTL 1000");
        assert_eq!(client.ask("BF.INSERT inserted TTL 1000 ITEMS a"), "*[:1]");
        assert_eq!(client.ask("BF.INSERT last LAST GENERATIONS 8 TTL 1000 ITEMS a"), "*[:1]");
        for key in ["plain", "window", "foreign", "inserted", "last"] {
            let left = left(&mut client, key);
            assert!((900_000..=1_000_000).contains(&left), "{key}: {left}");
        }
        // The longest is 285,000 years.
        client.ok("BF.RESERVE long 0.01 100 TTL 9007199254740");
        let left = left(&mut client, "long");
        assert!((9_007_199_254_000_000..=9_007_199_254_740_000).contains(&left), "{left}");
    });
}

#[test]
fn only_the_creation_sets_the_ttl() {
    Setup::new().on_each_server(|mut client, _| {
        client.ok("BF.RESERVE k 0.01 100 TTL 1000");
        assert_eq!(client.ask("BF.RESERVE k 0.01 100 TTL 5"), "-ERR item exists");
        assert_eq!(client.ask("BF.INSERT k TTL 5 ITEMS a"), "*[:1]");
        assert_eq!(client.ask("BF.MADD k a b"), "*[:0 :1]");
        assert!(left(&mut client, "k") > 900_000);
        assert_eq!(client.ask("PERSIST k"), ":1");
        assert_eq!(client.ask("BF.INSERT k TTL 5 ITEMS c"), "*[:1]");
        assert_eq!(left(&mut client, "k"), -1);
        // A key of another type keeps its own.
        client.ok("SET text value EX 1000");
        assert!(client.ask("BF.RESERVE text 0.01 100 TTL 5").starts_with("-WRONGTYPE"));
        assert!(client.ask("BF.INSERT text TTL 5 ITEMS a").starts_with("-WRONGTYPE"));
        assert!(left(&mut client, "text") > 900_000);
    });
}

#[test]
fn the_key_is_gone_in_the_end() {
    Setup::new().on_each_server(|mut client, _| {
        assert_eq!(client.ask("BF.INSERT k LAST GENERATIONS 8 TTL 1 ITEMS a"), "*[:1]");
        until("the key to expire", || (client.ask("EXISTS k") == ":0").then_some(()));
        // The next call creates another filter, with another time to live.
        assert_eq!(client.ask("BF.INSERT k TTL 1000 ITEMS a"), "*[:1]");
        assert!(left(&mut client, "k") > 900_000);
    });
}

#[test]
fn the_ttl_survives_restarts() {
    for_each_server(|kind| {
        for (append, stop) in [("no", Stop::Save), ("yes", Stop::NoSave)] {
            let setup = Setup::new().line(format!("appendonly {append}"));
            let mut server = setup.line("aof-use-rdb-preamble no").start(kind);
            let mut client = server.resp2();
            client.ok("BF.RESERVE k 0.01 100 WINDOW 60 GENERATIONS 8 TTL 1000");
            assert_eq!(client.ask("BF.INSERT l TTL 1000 ITEMS a"), "*[:1]");
            for line in ["MULTI", "BF.INSERT m LAST GENERATIONS 8 TTL 1000 ITEMS a", "EXEC"] {
                client.call(line);
            }
            for _ in 0..2 {
                server.restart(stop);
                let mut client = server.resp2();
                for key in ["k", "l", "m"] {
                    let left = left(&mut client, key);
                    assert!((800_000..=1_000_000).contains(&left), "{key}: {left}");
                }
                assert_eq!(client.ask("BF.EXISTS l a"), ":1");
            }
        }
    });
}
