//! Slots: filters move with their slot, and the keys of a merge must be in one.

use bloomline_harness::{Client, for_each_server_long, until};

use super::equal::{assert_equal, catch_up};
use super::filled::fill;
use super::nodes::{Cluster, PRIMARIES};
use super::traffic::{assert_has_rounds, while_adding};
use crate::overlapping::{ALL, PARTS, add, assert_contains};

/// Valkey since 8.0 refuses it if the replicas of the node do not acknowledge it within seconds.
fn set_slot(client: &mut Client, arguments: &str) {
    until("the slot to be set", || {
        let reply = client.ask(&format!("CLUSTER SETSLOT {arguments}"));
        assert!(reply == "+OK" || reply.starts_with("-NOREPLICAS"), "{arguments}: {reply}");
        (reply == "+OK").then_some(())
    });
}

#[test]
fn filters_of_1_kb_to_100_mb_move_with_their_slot() {
    // All keys have one slot, because only the part in braces is hashed. The last key is only
    // moved.
    const KEYS: [&str; 5] = ["{k}growing", "{k}kilobyte", "{k}megabyte", "{k}hundred", "{k}still"];
    for_each_server_long(|kind| {
        // Moving 100 MB blocks a node for about a second, in which the others must not consider it
        // dead.
        let cluster = Cluster::start(kind, |_, setup| setup.line("cluster-node-timeout 30000"));
        let (from, slot) = cluster.owner("{k}");
        let to = (from + 1) % PRIMARIES;
        let (mut source, mut target) = (cluster.nodes[from].resp2(), cluster.nodes[to].resp2());
        for (key, capacity) in KEYS[1..].iter().zip([800, 850_000, 85_000_000, 850_000]) {
            fill(&mut |args| source.run(args), key, capacity);
        }
        let still = source.call("DUMP {k}still");

        let mut router = cluster.router();
        let rounds = while_adding(
            &KEYS[..4],
            |args| router.run(args),
            |rounds| {
                rounds.pass(3);
                set_slot(&mut target, &format!("{slot} IMPORTING {}", cluster.id(from)));
                set_slot(&mut source, &format!("{slot} MIGRATING {}", cluster.id(to)));
                rounds.pass(2);
                for key in KEYS {
                    source.ok(&format!(
                        "MIGRATE 127.0.0.1 {} {key} 0 300000",
                        cluster.nodes[to].port
                    ));
                    rounds.pass(2);
                }
                for client in [&mut target, &mut source] {
                    set_slot(client, &format!("{slot} NODE {}", cluster.id(to)));
                }
                rounds.pass(3);
            },
        );
        assert!(
            router.followed("ASK") > 0 && router.followed("MOVED") > 0,
            "there was no redirection"
        );
        assert_eq!(source.ask("DBSIZE"), ":0");
        assert_has_rounds(&mut target, &KEYS[..4], rounds);
        assert!(target.call("DUMP {k}still") == still, "the filter has other bytes");

        let mut replica = cluster.nodes[to + PRIMARIES].resp2();
        catch_up(&mut target, &mut replica);
        assert_equal(&mut target, &mut replica);
    });
}

#[test]
fn keys_of_a_merge_must_be_in_one_slot() {
    for_each_server_long(|kind| {
        let cluster = Cluster::start(kind, |_, setup| setup);
        let (owner, slot) = cluster.owner("{k}");
        let mut home = cluster.nodes[owner].resp2();
        let mut elsewhere = cluster.nodes[(owner + 1) % PRIMARIES].resp2();
        for (key, range) in PARTS {
            let key = format!("{{k}}{key}");
            home.ok(&format!("BF.RESERVE {key} 0.000001 1000 SEED 7"));
            add(&mut home, &key, range);
        }
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
