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
    assert_eq!(admin.ask("CF.INSERT seen:c ITEMS a b"), "*[:1 :1]");
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

/// The reading calls, the calls that read and write, and those that only write, of a family.
struct Calls {
    category: &'static str,
    reads: &'static [&'static str],
    /// The replies show which items were already present, or how many bytes there were, so these
    /// commands also read.
    adds: &'static [&'static str],
    blind_writes: &'static [&'static str],
}

const BLOOM: Calls = Calls {
    category: "@bloom",
    reads: &[
        "BF.EXISTS seen:1 a",
        "BF.MEXISTS seen:1 a b",
        "BF.BULKEXISTS seen:1 FIXED 1 ab",
        "BF.CARD seen:1",
        "BF.INFO seen:1",
        "BF.STATS seen:1",
        "BF.DEBUG seen:1",
        "BF.SCANDUMP seen:1 0",
    ],
    adds: &[
        "BF.ADD seen:1 c",
        "BF.MADD seen:1 d e",
        "BF.INSERT seen:1 ITEMS f g",
        "BF.BULKADD seen:1 FIXED 1 hi",
        "BF.COMPACT seen:1",
    ],
    blind_writes: &[
        "BF.RESERVE seen:new 0.01 100",
        "BF.LOADCHUNK seen:1 1 x",
        "BF.LOAD seen:1 x",
        "BF.ROTATE seen:1",
    ],
};

const CUCKOO: Calls = Calls {
    category: "@cuckoo",
    reads: &[
        "CF.EXISTS seen:c a",
        "CF.MEXISTS seen:c a b",
        "CF.COUNT seen:c a",
        "CF.INFO seen:c",
        "CF.DEBUG seen:c",
        "CF.SCANDUMP seen:c 0",
    ],
    adds: &[
        "CF.ADD seen:c c",
        "CF.ADDNX seen:c d",
        "CF.INSERT seen:c ITEMS f g",
        "CF.INSERTNX seen:c ITEMS f h",
        "CF.DEL seen:c f",
        "CF.MDEL seen:c g h",
        "CF.COMPACT seen:c",
    ],
    blind_writes: &["CF.RESERVE seen:cnew 100", "CF.LOADCHUNK seen:c 1 x"],
};

const FAMILIES: [Calls; 2] = [BLOOM, CUCKOO];

#[test]
fn a_category_holds_exactly_the_commands_of_its_family() {
    for_each_server(|kind| {
        if !kind.has_acl_categories() {
            // The tests below name single commands.
            return;
        }
        for (ours, others) in [(BLOOM, CUCKOO), (CUCKOO, BLOOM)] {
            let (server, mut client) = with_filters(kind, &format!("+{} ~*", ours.category));
            for lines in [ours.reads, ours.adds, ours.blind_writes] {
                assert_allowed(&mut client, lines);
            }
            for lines in [others.reads, others.adds, others.blind_writes] {
                assert_denied(&mut client, lines);
            }
            assert_denied(&mut client, &["GET seen:1", "DEL seen:1"]);
            let mut client = user(&server, &format!("+@all -{} ~*", ours.category));
            for lines in [ours.reads, ours.adds, ours.blind_writes] {
                assert_denied(&mut client, lines);
            }
            for lines in [others.reads, others.adds, others.blind_writes] {
                assert_allowed(&mut client, lines);
            }
            assert_allowed(&mut client, &["GET text", "DEL text"]);
        }
    });
}

#[test]
fn readers_may_read_and_writers_may_write() {
    for_each_server(|kind| {
        if !kind.has_acl_categories() {
            return;
        }
        for calls in FAMILIES {
            let (server, mut client) = with_filters(kind, "+@read ~*");
            assert_allowed(&mut client, calls.reads);
            assert_denied(&mut client, calls.adds);
            assert_denied(&mut client, calls.blind_writes);
            let mut client = user(&server, "+@write ~*");
            assert_denied(&mut client, calls.reads);
            assert_allowed(&mut client, calls.adds);
            assert_allowed(&mut client, calls.blind_writes);
            let mut client = user(&server, &format!("+{} -@write ~*", calls.category));
            assert_allowed(&mut client, calls.reads);
            assert_denied(&mut client, calls.adds);
        }
    });
}

#[test]
fn fast_commands_are_those_without_growth() {
    for_each_server(|kind| {
        if !kind.has_acl_categories() {
            return;
        }
        let (_server, mut client) = with_filters(kind, "+@fast ~*");
        assert_allowed(&mut client, &["BF.ADD seen:1 c", "BF.EXISTS seen:1 c", "BF.CARD seen:1"]);
        assert_allowed(
            &mut client,
            &["CF.DEL seen:c a", "CF.MDEL seen:c a b", "CF.COUNT seen:c a", "CF.INFO seen:c"],
        );
        assert_denied(
            &mut client,
            &["BF.RESERVE seen:new 0.01 100", "CF.ADD seen:c a", "CF.COMPACT seen:c"],
        );
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
        for calls in FAMILIES {
            assert_allowed(&mut client, calls.reads);
            assert_denied(&mut client, calls.adds);
            assert_denied(&mut client, calls.blind_writes);
        }
        assert_eq!(client.ask("BF.EXISTS seen:1 a"), ":1");
        assert_eq!(client.ask("CF.EXISTS seen:c a"), ":1");
        assert_denied(&mut client, &["BF.EXISTS other a", "BF.CARD other", "CF.COUNT other a"]);
    });
}

#[test]
fn a_write_pattern_allows_only_blind_writes() {
    for_each_server(|kind| {
        if kind.is_before_7() {
            return;
        }
        let (_server, mut client) = with_filters(kind, "+@all %W~seen:*");
        for calls in FAMILIES {
            assert_denied(&mut client, calls.reads);
            assert_denied(&mut client, calls.adds);
            assert_allowed(&mut client, calls.blind_writes);
        }
        assert_denied(&mut client, &["BF.RESERVE new 0.01 100", "CF.RESERVE new 100"]);
        // Both permissions together allow all commands.
        let (_server, mut client) = with_filters(kind, "+@all %RW~seen:*");
        for calls in FAMILIES {
            for lines in [calls.reads, calls.adds, calls.blind_writes] {
                assert_allowed(&mut client, lines);
            }
        }
    });
}

#[test]
fn keys_outside_the_pattern_are_denied_even_to_creations() {
    for_each_server(|kind| {
        let (server, mut client) = with_filters(kind, "+@all ~seen:*");
        let lines = |calls: &Calls| [calls.reads, calls.adds, calls.blind_writes].concat();
        for line in FAMILIES.iter().flat_map(lines) {
            assert_allowed(&mut client, &[line]);
        }
        for line in FAMILIES.iter().flat_map(lines) {
            assert_denied(&mut client, &[&line.replace("seen:", "other:")]);
        }
        assert_eq!(server.resp2().ask("KEYS other:*"), "*[]");
        // Scripts are denied as well.
        for command in ["BF.ADD", "CF.ADD"] {
            let reply =
                client.ask(&format!("EVAL \"return redis.call('{command}', 'other', 'x')\" 0"));
            assert!(reply.starts_with('-'), "{reply}");
        }
        assert_eq!(server.resp2().ask("BF.CARD other"), ":2");
    });
}

#[test]
fn single_commands_can_be_allowed_on_every_server() {
    for_each_server(|kind| {
        // A permission that is taken back is that of one command as well.
        let rules = "+bf.exists +bf.add +bf.rotate +bf.compact -bf.rotate -bf.compact ~*";
        let (_server, mut client) = with_filters(kind, rules);
        assert_allowed(
            &mut client,
            &["BF.EXISTS seen:1 a", "BF.ADD seen:1 c", "bf.exists seen:1 a"],
        );
        assert_denied(
            &mut client,
            &["BF.MADD seen:1 a", "BF.CARD seen:1", "BF.ROTATE seen:1", "BF.COMPACT seen:1"],
        );
    });
}

/// Asserts which of these calls the user may make.
fn assert_permissions(client: &mut Client, allowed: &[&str], denied: &[&str]) {
    for line in allowed {
        assert_eq!(client.ask(line), "+OK", "{line}");
    }
    for line in denied {
        let reply = client.ask(line);
        assert!(reply.starts_with("-NOPERM"), "{line}: {reply}");
    }
}

#[test]
fn sources_are_read_and_the_destination_is_read_and_written() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut admin = server.resp2();
        for key in ["to:1", "from:1", "from:2", "other"] {
            admin.ok(&format!("BF.RESERVE {key} 0.000001 1000 SEED 7"));
        }
        let mut client = user(&server, "+bf.merge ~to:* ~from:*");
        assert_permissions(
            &mut client,
            &["BF.MERGE to:1 from:1 from:2", "BF.MERGE to:new from:1", "BF.MERGE from:1 to:1"],
            &["BF.MERGE other from:1", "BF.MERGE to:1 other", "BF.MERGE to:1 from:1 other from:2"],
        );
        let mut client = user(&server, "+@all -bf.merge ~*");
        assert_permissions(&mut client, &[], &["BF.MERGE to:1 from:1"]);
        if kind.is_before_7() {
            return;
        }
        let mut client = user(&server, "+bf.merge %RW~to:* %R~from:*");
        assert_permissions(
            &mut client,
            &["BF.MERGE to:1 from:1 from:2", "BF.MERGE to:2 from:1 to:1"],
            &["BF.MERGE from:1 to:1", "BF.MERGE from:new from:1", "BF.MERGE to:1 other"],
        );
        // The reply shows whether a source can be merged, so the destination is read as well.
        let mut client = user(&server, "+bf.merge %W~to:* %R~from:*");
        assert_permissions(&mut client, &[], &["BF.MERGE to:1 from:1"]);
        let mut client = user(&server, "+bf.merge %RW~to:* %W~from:*");
        assert_permissions(&mut client, &[], &["BF.MERGE to:1 from:1"]);
    });
}
