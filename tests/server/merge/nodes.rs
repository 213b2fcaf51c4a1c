//! Keys of a merge: slots of a cluster, access rules, COMMAND GETKEYS.

use bloomline_harness::{Client, Server, Setup, for_each_server};

use super::fixture::{ALL, add, assert_contains};
use crate::cluster::equal::{assert_equal, catch_up};
use crate::cluster::nodes::{Cluster, PRIMARIES};
use crate::inspect::digest;

/// Makes overlapping filters under keys of one slot.
fn make(client: &mut Client) {
    for (key, range) in [("{k}a", 0..200), ("{k}b", 100..300), ("{k}c", 250..ALL)] {
        client.ok(&format!("BF.RESERVE {key} 0.000001 1000 SEED 7"));
        add(client, key, range);
    }
}

#[test]
fn all_keys_must_be_in_one_slot() {
    for_each_server(|kind| {
        let cluster = Cluster::start(kind, |_, setup| setup);
        let (owner, slot) = cluster.owner("{k}");
        let mut home = cluster.nodes[owner].resp2();
        let mut elsewhere = cluster.nodes[(owner + 1) % PRIMARIES].resp2();
        make(&mut home);
        let crossing = "-CROSSSLOT Keys in request don't hash to the same slot";
        for line in
            ["BF.MERGE {k}a other", "BF.MERGE other {k}a", "BF.MERGE {k}a {k}b {k}c other {k}a"]
        {
            assert_eq!(home.ask(line), crossing, "{line}");
            assert_eq!(elsewhere.ask(line), crossing, "{line}");
        }
        let moved = format!("-MOVED {slot} 127.0.0.1:{}", cluster.nodes[owner].port);
        assert_eq!(elsewhere.ask("BF.MERGE {k}d {k}a {k}b"), moved);
        home.ok("BF.MERGE {k}d {k}a {k}b");
        home.ok("BF.MERGE {k}a {k}d {k}c");
        assert_contains(&mut home, "{k}a", 0..ALL);
        let mut replica = cluster.nodes[owner + PRIMARIES].resp2();
        catch_up(&mut home, &mut replica);
        assert_equal(&mut home, &mut replica);
    });
}

#[test]
fn merges_follow_a_slot_that_moves() {
    for_each_server(|kind| {
        let cluster = Cluster::start(kind, |_, setup| setup);
        let (from, slot) = cluster.owner("{k}");
        let to = (from + 1) % PRIMARIES;
        let (mut source, mut target) = (cluster.nodes[from].resp2(), cluster.nodes[to].resp2());
        make(&mut source);
        source.ok("BF.MERGE {k}d {k}a {k}b");
        let before = digest(&mut source, "{k}d");
        target.ok(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", cluster.id(from)));
        source.ok(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", cluster.id(to)));
        let migrate =
            |key: &str| format!("MIGRATE 127.0.0.1 {} {key} 0 30000", cluster.nodes[to].port);
        source.ok(&migrate("{k}d"));
        assert_eq!(digest(&mut target, "{k}d"), before);
        // Some keys are here and some there: the client must try again.
        let reply = source.ask("BF.MERGE {k}d {k}c");
        // Redis 6.2 redirects, and the other node would ask to try again.
        let expected = if kind.is_before_7() { "-ASK " } else { "-TRYAGAIN " };
        assert!(reply.starts_with(expected), "{reply}");
        assert_eq!(digest(&mut target, "{k}d"), before);
        for key in ["{k}a", "{k}b", "{k}c"] {
            source.ok(&migrate(key));
        }
        let reply = source.ask("BF.MERGE {k}d {k}c");
        assert!(reply.starts_with(&format!("-ASK {slot} ")), "{reply}");
        target.ok("ASKING");
        target.ok("BF.MERGE {k}d {k}c");
        for client in [&mut target, &mut source] {
            client.ok(&format!("CLUSTER SETSLOT {slot} NODE {}", cluster.id(to)));
        }
        assert_contains(&mut target, "{k}d", 0..ALL);
        target.ok("BF.MERGE {k}e {k}a {k}d");
        let mut replica = cluster.nodes[to + PRIMARIES].resp2();
        catch_up(&mut target, &mut replica);
        assert_equal(&mut target, &mut replica);
    });
}

#[test]
fn every_argument_is_a_key() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        for (line, keys) in [
            ("BF.MERGE d a", "*[$1 d $1 a]"),
            ("BF.MERGE d a b c", "*[$1 d $1 a $1 b $1 c]"),
            ("BF.MERGE d d d", "*[$1 d $1 d $1 d]"),
        ] {
            assert_eq!(client.ask(&format!("COMMAND GETKEYS {line}")), keys, "{line}");
        }
        if !kind.is_before_7() {
            let flags = client.ask("COMMAND GETKEYSANDFLAGS BF.MERGE d a b").to_lowercase();
            let key = |name: &str| flags.split(&format!("$1 {name} ")).nth(1).map(str::to_owned);
            let destination = key("d").expect("the destination");
            let destination = destination.split("$1 ").next().expect("flags");
            assert!(destination.contains("rw") && destination.contains("insert"), "{flags}");
            for source in ["a", "b"] {
                let source = key(source).expect("a source");
                let source = source.split("$1 ").next().expect("flags");
                assert!(source.contains("ro") && source.contains("access"), "{flags}");
            }
        }
    });
}

/// A connection of a new user with these rules.
fn user(server: &Server, rules: &str) -> Client {
    let mut admin = server.resp2();
    admin.ok("ACL SETUSER someone reset");
    admin.ok(&format!("ACL SETUSER someone on >secret {rules}"));
    let mut client = server.resp2();
    client.ok("AUTH someone secret");
    client
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
        // The reply shows whether a source can be joined, so the destination is read as well.
        let mut client = user(&server, "+bf.merge %W~to:* %R~from:*");
        assert_permissions(&mut client, &[], &["BF.MERGE to:1 from:1"]);
        let mut client = user(&server, "+bf.merge %RW~to:* %W~from:*");
        assert_permissions(&mut client, &[], &["BF.MERGE to:1 from:1"]);
    });
}
