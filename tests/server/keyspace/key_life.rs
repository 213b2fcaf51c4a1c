//! Filters as keys: copies, renames, other databases, time to live, type.

use bloomline_harness::{Client, Setup, bulk, matches, numbered};

/// A filter of several layers with so small an error rate that no reply is a false positive.
fn build(client: &mut Client, key: &str) {
    client.ok(&format!("BF.RESERVE {key} 0.000000001 100"));
    client.items("BF.MADD", key, &numbered("item", 500));
    assert_eq!(client.ask(&format!("BF.INFO {key} FILTERS")), "*[:3]");
}

#[test]
fn copy_replaces_only_with_the_option() {
    Setup::new().on_shared_servers(|mut client, _| {
        build(&mut client, "a");
        client.ok("BF.RESERVE b 0.01 7");
        client.ok("SET text value");
        assert_eq!(client.ask("COPY a b"), ":0");
        assert_eq!(client.ask("BF.INFO b CAPACITY"), "*[:7]");
        for key in ["b", "text"] {
            assert_eq!(client.ask(&format!("COPY a {key} REPLACE")), ":1");
            assert_eq!(client.ask(&format!("DUMP {key}")), client.ask("DUMP a"));
        }
        assert_eq!(client.ask("COPY a a DB 1"), ":1");
        client.ok("SELECT 1");
        assert_eq!(client.ask("BF.CARD a"), ":500");
    });
}

#[test]
fn copies_of_untouched_filters_use_no_physical_memory() {
    Setup::new().on_each_server(|mut client, server| {
        client.ok("BF.RESERVE a 0.01 200000000");
        let before = server.resident();
        assert_eq!(client.ask("BF.ADD a item"), ":1");
        assert_eq!(client.ask("COPY a b"), ":1");
        assert_eq!(client.ask("BF.EXISTS b item"), ":1");
        let grown = server.resident().saturating_sub(before);
        assert!(grown < 64 << 20, "{grown} bytes became resident");
    });
}

#[test]
fn rename_move_and_swapdb_keep_the_filter() {
    Setup::new().on_each_server(|mut client, _| {
        build(&mut client, "a");
        let dump = client.ask("DUMP a");
        client.ok("RENAME a b");
        assert_eq!(client.ask("DUMP b"), dump);
        client.ok("BF.RESERVE taken 0.01 7");
        assert_eq!(client.ask("RENAMENX b taken"), ":0");
        client.ok("RENAME b taken");
        assert_eq!(client.ask("DUMP taken"), dump);
        assert_eq!(client.ask("MOVE taken 1"), ":1");
        assert_eq!(client.ask("EXISTS taken"), ":0");
        client.ok("SWAPDB 0 1");
        assert_eq!(client.ask("DUMP taken"), dump);
        assert_eq!(client.ask("BF.ADD taken more"), ":1");
        assert_eq!(client.ask("DBSIZE"), ":1");
    });
}

#[test]
fn the_server_reports_the_type_of_the_key() {
    Setup::new().on_each_server(|mut client, _| {
        build(&mut client, "a");
        client.ok("SET text value");
        client.call("SADD set member");
        assert_eq!(client.ask("TYPE a"), "+MBbloom--");
        assert_eq!(client.ask("OBJECT ENCODING a"), "$3 raw");
        assert_eq!(client.ask("OBJECT REFCOUNT a"), ":1");
        assert!(matches(":<n>", &client.ask("OBJECT IDLETIME a")));
        client.ok("CONFIG SET maxmemory-policy allkeys-lfu");
        assert!(matches(":<n>", &client.ask("OBJECT FREQ a")));
        assert_eq!(client.ask("SCAN 0 TYPE MBbloom-- COUNT 100"), "*[$1 0 *[$1 a]]");
        assert_eq!(client.ask("SCAN 0 TYPE set COUNT 100"), "*[$1 0 *[$3 set]]");
    });
}

#[test]
fn commands_of_other_types_refuse_a_filter() {
    Setup::new().on_shared_servers(|mut client, _| {
        build(&mut client, "a");
        for line in
            ["GET a", "APPEND a x", "SADD a x", "PFADD a x", "HGET a x", "LPUSH a x", "INCR a"]
        {
            let refused = client.ask(line);
            assert!(refused.starts_with("-WRONGTYPE"), "{line}: {refused}");
        }
        // SORT does not support the type.
        assert!(client.ask("SORT a").starts_with("-WRONGTYPE"));
        assert_eq!(client.ask("BF.CARD a"), ":500");
    });
}

#[test]
fn cuckoo_filters_have_a_type_of_their_own() {
    Setup::new().on_shared_servers(|mut client, _| {
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
        client.run(&[&b"RESTORE"[..], b"bloom".as_slice(), b"0", bulk(&dump), b"REPLACE"]);
        assert_eq!(client.ask("TYPE bloom"), "+MBbloomCF");
    });
}
