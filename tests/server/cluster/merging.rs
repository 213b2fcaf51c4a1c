//! BF.MERGE in a cluster: all keys must be in one slot, also while that moves.

use bloomline_harness::{Client, for_each_server_long};

use crate::cluster::equal::{assert_equal, catch_up};
use crate::cluster::nodes::{Cluster, PRIMARIES};
use crate::inspect::digest;
use crate::overlapping::{ALL, add, assert_contains};

/// Makes overlapping filters under keys of one slot.
fn make(client: &mut Client) {
    for (key, range) in [("{k}a", 0..200), ("{k}b", 100..300), ("{k}c", 250..ALL)] {
        client.ok(&format!("BF.RESERVE {key} 0.000001 1000 SEED 7"));
        add(client, key, range);
    }
}

#[test]
fn all_keys_must_be_in_one_slot() {
    for_each_server_long(|kind| {
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
    for_each_server_long(|kind| {
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
