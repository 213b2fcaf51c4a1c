//! Slots: nodes redirect commands to the owner of the slot, and filters move with their slot.

use bloomline_harness::for_each_server_long;

use super::equal::{assert_equal, catch_up};
use super::filled::fill;
use super::nodes::{Cluster, PRIMARIES};
use super::traffic::{assert_has_rounds, while_adding};

#[test]
fn nodes_without_the_slot_redirect_every_command() {
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
    for_each_server_long(|kind| {
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
        // A replica answers reading commands for its primary after the client has sent READONLY.
        replica.ok("READONLY");
        assert_eq!(replica.ask("BF.EXISTS k a"), ":1");
        assert_eq!(replica.ask("BF.CARD k"), ":1");
        assert_eq!(replica.ask("BF.ADD k b"), moved);
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
