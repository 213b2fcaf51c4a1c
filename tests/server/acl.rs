//! Access control lists: categories, key patterns for reading and writing, single commands.

use bloomline_harness::{Client, Kind, Server, Setup, for_each_server};

/// A connection of a new user with these rules.
fn user(server: &Server, rules: &str) -> Client {
    let mut admin = server.resp2();
    admin.ok("ACL SETUSER someone reset");
    admin.ok(&format!("ACL SETUSER someone on >secret {rules}"));
    let mut client = server.resp2();
    client.ok("AUTH someone secret");
    client
}

/// Two filters, and a connection of a user with these rules.
fn with_filters(kind: &Kind, rules: &str) -> (Server, Client) {
    let server = Setup::new().start(kind);
    let mut admin = server.resp2();
    for key in ["seen:1", "other"] {
        assert_eq!(admin.ask(&format!("BF.MADD {key} a b")), "*[:1 :1]");
    }
    let client = user(&server, rules);
    (server, client)
}

fn assert_allowed(client: &mut Client, lines: &[&str]) {
    for line in lines {
        let reply = client.ask(line);
        assert!(!reply.starts_with("-NOPERM"), "{line}: {reply}");
    }
}

fn assert_denied(client: &mut Client, lines: &[&str]) {
    for line in lines {
        let reply = client.ask(line);
        assert!(reply.starts_with("-NOPERM"), "{line}: {reply}");
    }
}

const READS: [&str; 7] = [
    "BF.EXISTS seen:1 a",
    "BF.MEXISTS seen:1 a b",
    "BF.BULKEXISTS seen:1 FIXED 1 ab",
    "BF.CARD seen:1",
    "BF.INFO seen:1",
    "BF.DEBUG seen:1",
    "BF.SCANDUMP seen:1 0",
];
/// The replies show which items were already present, so these commands also read.
const ADDS: [&str; 4] = [
    "BF.ADD seen:1 c",
    "BF.MADD seen:1 d e",
    "BF.INSERT seen:1 ITEMS f g",
    "BF.BULKADD seen:1 FIXED 1 hi",
];
const BLIND_WRITES: [&str; 3] =
    ["BF.RESERVE seen:new 0.01 100", "BF.LOADCHUNK seen:1 1 x", "BF.ROTATE seen:1"];

#[test]
fn the_category_holds_exactly_our_commands() {
    for_each_server(|kind| {
        if !kind.has_acl_categories() {
            // The tests below name single commands.
            return;
        }
        let (server, mut client) = with_filters(kind, "+@bloom ~*");
        for lines in [&READS[..], &ADDS, &BLIND_WRITES] {
            assert_allowed(&mut client, lines);
        }
        assert_denied(&mut client, &["GET seen:1", "DEL seen:1"]);
        let mut client = user(&server, "+@all -@bloom ~*");
        for lines in [&READS[..], &ADDS, &BLIND_WRITES] {
            assert_denied(&mut client, lines);
        }
        assert_allowed(&mut client, &["GET text", "DEL text"]);
    });
}

#[test]
fn readers_may_read_and_writers_may_write() {
    for_each_server(|kind| {
        if !kind.has_acl_categories() {
            return;
        }
        let (server, mut client) = with_filters(kind, "+@read ~*");
        assert_allowed(&mut client, &READS);
        assert_denied(&mut client, &ADDS);
        assert_denied(&mut client, &BLIND_WRITES);
        let mut client = user(&server, "+@write ~*");
        assert_denied(&mut client, &READS);
        assert_allowed(&mut client, &ADDS);
        assert_allowed(&mut client, &BLIND_WRITES);
        let mut client = user(&server, "+@bloom -@write ~*");
        assert_allowed(&mut client, &READS);
        assert_denied(&mut client, &ADDS);
    });
}

#[test]
fn a_read_pattern_allows_reading_commands() {
    for_each_server(|kind| {
        if kind.is_before_7() {
            // Redis 6.2 has only patterns for reading and writing together.
            return;
        }
        let (_server, mut client) = with_filters(kind, "+@all %R~seen:*");
        assert_allowed(&mut client, &READS);
        assert_eq!(client.ask("BF.EXISTS seen:1 a"), ":1");
        assert_denied(&mut client, &ADDS);
        assert_denied(&mut client, &BLIND_WRITES);
        assert_denied(&mut client, &["BF.EXISTS other a", "BF.CARD other"]);
    });
}

#[test]
fn a_write_pattern_allows_only_blind_writes() {
    for_each_server(|kind| {
        if kind.is_before_7() {
            return;
        }
        let (_server, mut client) = with_filters(kind, "+@all %W~seen:*");
        assert_denied(&mut client, &READS);
        assert_denied(&mut client, &ADDS);
        assert_allowed(&mut client, &BLIND_WRITES);
        assert_denied(&mut client, &["BF.RESERVE new 0.01 100"]);
        // Both permissions together allow all commands.
        let (_server, mut client) = with_filters(kind, "+@all %RW~seen:*");
        for lines in [&READS[..], &ADDS, &BLIND_WRITES] {
            assert_allowed(&mut client, lines);
        }
    });
}

#[test]
fn keys_outside_the_pattern_are_denied_even_to_creations() {
    for_each_server(|kind| {
        let (server, mut client) = with_filters(kind, "+@all ~seen:*");
        for lines in [&READS[..], &ADDS, &BLIND_WRITES] {
            assert_allowed(&mut client, lines);
        }
        let elsewhere = |line: &&str| line.replace("seen:", "other:");
        for line in READS.iter().chain(&ADDS).chain(&BLIND_WRITES).map(elsewhere) {
            assert_denied(&mut client, &[&line]);
        }
        assert_eq!(server.resp2().ask("KEYS other:*"), "*[]");
        // Scripts are denied as well.
        let reply = client.ask(r#"EVAL "return redis.call('BF.ADD', 'other', 'x')" 0"#);
        assert!(reply.starts_with('-'), "{reply}");
        assert_eq!(server.resp2().ask("BF.CARD other"), ":2");
    });
}

#[test]
fn single_commands_can_be_allowed_on_every_server() {
    for_each_server(|kind| {
        let (_server, mut client) = with_filters(kind, "+bf.exists +bf.add ~*");
        assert_allowed(
            &mut client,
            &["BF.EXISTS seen:1 a", "BF.ADD seen:1 c", "bf.exists seen:1 a"],
        );
        assert_denied(
            &mut client,
            &["BF.MADD seen:1 a", "BF.CARD seen:1", "BF.RESERVE seen:1 0.01 100"],
        );
    });
}

#[test]
fn rotation_can_be_forbidden_to_writers() {
    for_each_server(|kind| {
        let (_server, mut client) = with_filters(kind, "+@write +bf.rotate +bf.add -bf.rotate ~*");
        assert_denied(&mut client, &["BF.ROTATE seen:1", "BF.ROTATE seen:1 AT 5"]);
        assert_allowed(&mut client, &["BF.ADD seen:1 c"]);
    });
}

#[test]
fn compaction_needs_both_permissions_for_the_key() {
    for_each_server(|kind| {
        if kind.is_before_7() {
            return;
        }
        for rules in ["+@all %R~*", "+@all %W~*"] {
            let (_server, mut client) = with_filters(kind, rules);
            assert_denied(&mut client, &["BF.COMPACT seen:1"]);
        }
        let (_server, mut client) = with_filters(kind, "+@all %RW~seen:*");
        assert_allowed(&mut client, &["BF.COMPACT seen:1"]);
        assert_denied(&mut client, &["BF.COMPACT other"]);
    });
}

#[test]
fn compaction_is_a_write_and_can_be_forbidden() {
    for_each_server(|kind| {
        let (_server, mut client) = with_filters(kind, "+@all -bf.compact ~*");
        assert_denied(&mut client, &["BF.COMPACT seen:1"]);
        let (server, mut client) = with_filters(kind, "+bf.compact ~seen:*");
        assert_allowed(&mut client, &["BF.COMPACT seen:1", "BF.COMPACT seen:missing"]);
        assert_denied(&mut client, &["BF.COMPACT other", "BF.CARD seen:1"]);
        if kind.has_acl_categories() {
            let mut client = user(&server, "+@write ~*");
            assert_allowed(&mut client, &["BF.COMPACT seen:1"]);
            let mut client = user(&server, "+@read ~*");
            assert_denied(&mut client, &["BF.COMPACT seen:1"]);
        }
    });
}
