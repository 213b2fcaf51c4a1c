//! Slots: every command is sent to the node that owns its key's, and they move with what is in
//! them.

use bloomline_harness::for_each_server;

use super::equal::{assert_equal, catch_up};
use super::filled::fill;
use super::nodes::{Cluster, PRIMARIES};
use super::traffic::{assert_has_rounds, while_adding};

#[test]
fn a_node_without_the_slot_says_where_it_is() {
    const COMMANDS: [&str; 11] = [
        "BF.RESERVE k 0.01 100",
        "BF.ADD k a",
        "BF.MADD k a b",
        "BF.INSERT k CAPACITY 10 ITEMS a b",
        "BF.EXISTS k a",
        "BF.MEXISTS k a b",
        "BF.CARD k",
        "BF.INFO k",
        "BF.DEBUG k",
        "BF.SCANDUMP k 0",
        "BF.LOADCHUNK k 1 data",
    ];
    for_each_server(|kind| {
        let cluster = Cluster::start(kind, |_, setup| setup);
        let (owner, slot) = cluster.owner("k");
        let moved = format!("-MOVED {slot} 127.0.0.1:{}", cluster.nodes[owner].port);
        let mut elsewhere = cluster.nodes[(owner + 1) % PRIMARIES].resp2();
        let mut replica = cluster.nodes[owner + PRIMARIES].resp2();
        for command in COMMANDS {
            assert_eq!(
                elsewhere.ask(&format!("COMMAND GETKEYS {command}")),
                "*[$1 k]",
                "{command}"
            );
            assert_eq!(elsewhere.ask(command), moved, "{command}");
            assert_eq!(replica.ask(command), moved, "{command}");
        }
        let mut home = cluster.nodes[owner].resp2();
        assert_eq!(home.ask("BF.ADD k a"), ":1");
        catch_up(&mut home, &mut replica);
        // A replica answers for its primary what only reads, once the client has said that it will
        // do.
        replica.ok("READONLY");
        assert_eq!(replica.ask("BF.EXISTS k a"), ":1");
        assert_eq!(replica.ask("BF.CARD k"), ":1");
        assert_eq!(replica.ask("BF.ADD k b"), moved);
    });
}

#[test]
fn filters_of_1_kb_to_100_mb_move_with_their_slot_while_a_client_adds() {
    // Of one slot: what stands in braces decides. The last one is only carried.
    const KEYS: [&str; 5] = ["{k}growing", "{k}kilobyte", "{k}megabyte", "{k}hundred", "{k}still"];
    for_each_server(|kind| {
        // Moving 100 MB stops a node for about a second; it must not be taken for dead.
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
                target.ok(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", cluster.id(from)));
                source.ok(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", cluster.id(to)));
                rounds.pass(2);
                for key in KEYS {
                    source
                        .ok(&format!("MIGRATE 127.0.0.1 {} {key} 0 30000", cluster.nodes[to].port));
                    rounds.pass(2);
                }
                for client in [&mut target, &mut source] {
                    client.ok(&format!("CLUSTER SETSLOT {slot} NODE {}", cluster.id(to)));
                }
                rounds.pass(3);
            },
        );
        assert!(router.followed("ASK") > 0 && router.followed("MOVED") > 0, "it was sent nowhere");
        assert_eq!(source.ask("DBSIZE"), ":0");
        assert_has_rounds(&mut target, &KEYS[..4], rounds);
        assert!(target.call("DUMP {k}still") == still, "it has other bytes");

        let mut replica = cluster.nodes[to + PRIMARIES].resp2();
        catch_up(&mut target, &mut replica);
        assert_equal(&mut target, &mut replica);
    });
}
