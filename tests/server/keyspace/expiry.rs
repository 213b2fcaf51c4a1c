//! Time to live: that of a key survives changes, and the option TTL sets it at the creation.

use bloomline_harness::{Client, Setup, Stop, int, until};

use crate::overlapping::{KINDS, make};

/// Milliseconds until the key expires.
fn left(client: &mut Client, key: &str) -> i64 {
    int(&client.call(&format!("PTTL {key}")))
}

/// Asserts that these keys expire after a little less than 1,000 seconds.
fn assert_1000_seconds(client: &mut Client, keys: &[&str]) {
    for key in keys {
        let left = left(client, key);
        assert!((800_000..=1_000_000).contains(&left), "{key}: {left}");
    }
}

/// How a filter `k` is made, and a call that changes it.
const CHANGES: [(&str, &str); 12] = [
    ("BF.RESERVE k 0.01 100", "BF.ADD k a"),
    // It grows.
    ("BF.RESERVE k 0.01 2", "BF.MADD k a b c d e"),
    ("BF.RESERVE k 0.01 2", "BF.BULKADD k FIXED 1 abcde"),
    ("BF.RESERVE k 0.01 100", "BF.INSERT k TTL 5 ITEMS a"),
    ("BF.RESERVE k 0.01 100 LAST", "BF.INSERT k LAST TTL 5 ITEMS a"),
    ("BF.RESERVE k 0.001 100000", "BF.COMPACT k"),
    ("BF.RESERVE k 0.01 100 GENERATIONS 2", "BF.ROTATE k"),
    ("CF.RESERVE k 100", "CF.ADD k a"),
    ("CF.RESERVE k 8", "CF.INSERT k TTL 5 ITEMS a b c d e f g h i j k l"),
    ("CF.RESERVE k 100", "CF.BULKADD k LINES a"),
    ("CF.INSERT k ITEMS a", "CF.DEL k a"),
    ("CF.RESERVE k 100000", "CF.COMPACT k"),
];

#[test]
fn changes_keep_the_time_to_live() {
    Setup::new().on_shared_servers(|mut client, _| {
        for (line, change) in CHANGES {
            client.call(line);
            assert_eq!(client.ask("EXPIRE k 1000"), ":1");
            let reply = client.ask(change);
            assert!(!reply.contains('-') && reply != ":0", "{change}: {reply}");
            assert_1000_seconds(&mut client, &["k"]);
            // Nor do they bring it back.
            assert_eq!(client.ask("PERSIST k"), ":1");
            client.call(change);
            assert_eq!(left(&mut client, "k"), -1, "{change}");
            client.ok("FLUSHALL");
        }
        for options in KINDS {
            make(&mut client, options);
            assert_eq!(client.ask("EXPIRE a 1000"), ":1");
            assert_eq!(client.ask("EXPIRE b 500"), ":1");
            client.ok("BF.MERGE a b c");
            assert_1000_seconds(&mut client, &["a"]);
            client.ok("BF.MERGE d b c");
            assert_eq!(left(&mut client, "d"), -1, "{options}");
        }
    });
}

#[test]
fn expired_filters_are_missing_ones() {
    Setup::new().on_shared_servers(|mut client, _| {
        for key in ["k", "packed"] {
            assert_eq!(client.ask(&format!("BF.ADD {key} 0001")), ":1");
            // A time in the past deletes the key at once.
            assert_eq!(client.ask(&format!("PEXPIREAT {key} 1")), ":1");
            assert_eq!(client.ask(&format!("EXISTS {key}")), ":0");
        }
        assert_eq!(client.ask("BF.CARD k"), ":0");
        // The key of a lookup is not created.
        assert_eq!(client.ask("BF.BULKEXISTS packed LINES 0001"), r"*[:1 $1 \x00]");
        assert_eq!(client.ask("BF.BULKADD packed LINES 0001"), r"*[:1 $1 \x80]");
        assert_eq!(left(&mut client, "packed"), -1);
        assert_eq!(client.ask("BF.INSERT k LAST GENERATIONS 8 TTL 1 ITEMS a"), "*[:1]");
        assert_eq!(client.ask("CF.INSERT cuckoo TTL 1 ITEMS a"), "*[:1]");
        until("the keys to expire", || (client.ask("EXISTS k cuckoo") == ":0").then_some(()));
        assert_eq!(client.ask("CF.COUNT cuckoo a"), ":0");
        assert_eq!(client.ask("CF.DEL cuckoo a"), "-Not found");
        // The next call creates another filter, with another time to live.
        assert_eq!(client.ask("BF.INSERT k TTL 1000 ITEMS a"), "*[:1]");
        assert_1000_seconds(&mut client, &["k"]);
    });
}

#[test]
fn only_the_creation_sets_the_ttl() {
    Setup::new().on_shared_servers(|mut client, _| {
        client.ok("BF.RESERVE plain 0.01 100 TTL 1000");
        client.ok("BF.RESERVE window 0.01 100 WINDOW 60 GENERATIONS 8 TTL 1000");
        client.ok("BF.RESERVE foreign 0.01 100 LAYOUT REDISBLOOM TTL 1000");
        client.ok("CF.RESERVE cuckoo 100 BUCKETSIZE 4 TTL 1000");
        for line in [
            "BF.INSERT inserted TTL 1000 ITEMS a",
            "BF.INSERT last LAST GENERATIONS 8 TTL 1000 ITEMS a",
            "CF.INSERT cuckoo:inserted TTL 1000 ITEMS a",
            "CF.INSERTNX cuckoo:nx CAPACITY 7 TTL 1000 ITEMS a",
        ] {
            assert_eq!(client.ask(line), "*[:1]", "{line}");
        }
        assert_eq!(client.ask("BF.RESERVE plain 0.01 100 TTL 5"), "-ERR item exists");
        assert_eq!(client.ask("CF.RESERVE cuckoo 100 TTL 5"), "-ERR item exists");
        // A key of another type keeps its own.
        client.ok("SET text value EX 1000");
        assert!(client.ask("BF.RESERVE text 0.01 100 TTL 5").starts_with("-WRONGTYPE"));
        assert!(client.ask("BF.INSERT text TTL 5 ITEMS a").starts_with("-WRONGTYPE"));
        let keys = ["plain", "window", "foreign", "inserted", "last", "text"];
        assert_1000_seconds(&mut client, &keys);
        assert_1000_seconds(&mut client, &["cuckoo", "cuckoo:inserted", "cuckoo:nx"]);
        // The name of the option is an item behind ITEMS.
        assert_eq!(client.ask("CF.INSERT forever ITEMS TTL 1000"), "*[:1 :1]");
        assert_eq!(left(&mut client, "forever"), -1);
        // The longest is 285,000 years.
        client.ok("BF.RESERVE long 0.01 100 TTL 9007199254740");
        let left = left(&mut client, "long");
        assert!((9_007_199_254_000_000..=9_007_199_254_740_000).contains(&left), "{left}");
    });
}

#[test]
fn the_ttl_survives_restarts() {
    for (setup, stop) in [(Setup::new(), Stop::Save), (Setup::new().append_only(), Stop::NoSave)] {
        setup.on_each_server(|mut client, mut server| {
            client.ok("BF.RESERVE k 0.01 100 WINDOW 60 GENERATIONS 8 TTL 1000");
            assert_eq!(client.ask("BF.INSERT l TTL 1000 ITEMS a"), "*[:1]");
            for line in ["MULTI", "BF.INSERT m LAST GENERATIONS 8 TTL 1000 ITEMS a", "EXEC"] {
                client.call(line);
            }
            assert_eq!(client.ask("CF.INSERTNX n CAPACITY 7 TTL 1000 ITEMS a"), "*[:1]");
            for _ in 0..2 {
                server.restart(stop);
                let mut client = server.resp2();
                assert_1000_seconds(&mut client, &["k", "l", "m", "n"]);
                assert_eq!(client.ask("BF.EXISTS l a"), ":1");
            }
        });
    }
}
