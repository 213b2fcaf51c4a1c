//! Slots that move in mid window between nodes whose clocks differ by hours.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use bloomline_harness::{
    Client, Clock, Kind, Replica, append_only_file, for_each_server_long, numbered, report_missing,
    show, until,
};

use crate::cluster::atomic_slots::has_atomic_slot_migration;
use crate::cluster::equal::catch_up;
use crate::cluster::nodes::{Cluster, PRIMARIES};
use crate::timed::{SLOT, WINDOW, assert_equal, setup};

const KEYS: [&str; 3] = ["{k}time", "{k}last", "{k}hand"];

/// A cluster in which each node has its own clock.
struct Timed {
    // Stopped before the clocks are gone.
    cluster: Cluster,
    clocks: Vec<Clock>,
}

impl Timed {
    fn start(kind: &Kind, lines: &[&str]) -> Self {
        let clocks: Vec<Clock> = (0..2 * PRIMARIES).map(|_| Clock::new()).collect();
        let cluster = Cluster::start(kind, |node, setup| {
            let setup = setup.line("cluster-node-timeout 100000000").clock(&clocks[node]);
            lines.iter().fold(setup, |setup, line| setup.line(*line))
        });
        Self { cluster, clocks }
    }
}

/// Makes filters that have rotated several times.
fn fill(client: &mut Client, clock: &Clock) {
    client.ok("BF.RESERVE {k}time 0.01 1000 WINDOW 8000 GENERATIONS 8");
    client.ok("BF.RESERVE {k}last 0.0000001 1000 LAST GENERATIONS 8");
    client.ok("BF.RESERVE {k}hand 0.01 1000 GENERATIONS 4");
    for slot in 0..5 {
        for key in KEYS {
            client.items("BF.MADD", key, &numbered(&format!("slot:{slot}"), 300));
        }
        client.ok("BF.ROTATE {k}hand");
        clock.advance(SLOT);
    }
}

#[test]
fn windowed_filters_move_unchanged_by_migrate() {
    for_each_server_long(|kind| {
        let Timed { cluster, clocks } = Timed::start(kind, &[]);
        let (from, slot) = cluster.owner("{k}");
        let to = (from + 1) % PRIMARIES;
        let (mut source, mut target) = (cluster.nodes[from].resp2(), cluster.nodes[to].resp2());
        fill(&mut source, &clocks[from]);
        clocks[to].set_ahead(5 * WINDOW);
        target.ok(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", cluster.id(from)));
        source.ok(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", cluster.id(to)));
        for key in KEYS {
            let question = format!("DEBUG DIGEST-VALUE {key}");
            source.items("BF.MADD", key, &["during"]);
            let before = source.ask(&question);
            source.ok(&format!("MIGRATE 127.0.0.1 {} {key} 0 30000", cluster.nodes[to].port));
            target.ok("ASKING");
            assert!(target.ask(&question) == before, "{key} has changed");
        }
        for client in [&mut target, &mut source] {
            client.ok(&format!("CLUSTER SETSLOT {slot} NODE {}", cluster.id(to)));
        }
        // The target goes on by its own clock, and replicates that.
        assert_eq!(target.ask("BF.EXISTS {k}time during"), ":0");
        assert_eq!(target.ask("BF.MADD {k}time during after"), "*[:1 :1]");
        assert_eq!(target.ask("BF.MEXISTS {k}last during after"), "*[:1 :0]");
        let mut replica = cluster.nodes[to + PRIMARIES].resp2();
        catch_up(&mut target, &mut replica);
        assert_equal(&mut target, &mut replica, &KEYS);
    });
}

#[test]
fn atomic_slot_migration_does_not_rotate_on_the_target() {
    for_each_server_long(|kind| {
        if !has_atomic_slot_migration(kind) {
            return report_missing(kind, "CLUSTER MIGRATESLOTS");
        }
        for ahead in [5 * WINDOW, -5 * WINDOW] {
            // The source pauses its clients for so long. Its clock moves meanwhile.
            let lines = ["cluster-manual-failover-timeout 1000000000"];
            let Timed { cluster, clocks } = Timed::start(kind, &lines);
            let (from, slot) = cluster.owner("{k}");
            let to = (from + 1) % PRIMARIES;
            let (mut source, mut target) = (cluster.nodes[from].resp2(), cluster.nodes[to].resp2());
            let mut link = Replica::attach(&cluster.nodes[from]);
            fill(&mut source, &clocks[from]);
            clocks[to].set_ahead(ahead);
            clocks[to + PRIMARIES].set_ahead(-ahead);
            let migrate =
                format!("CLUSTER MIGRATESLOTS SLOTSRANGE {slot} {slot} NODE {}", cluster.id(to));
            let rounds = AtomicUsize::new(0);
            thread::scope(|scope| {
                let mut adding = cluster.nodes[from].resp2();
                let (rounds, clock) = (&rounds, &clocks[from]);
                // Adds to the source until that redirects, and moves its clock meanwhile.
                scope.spawn(move || {
                    for round in 0.. {
                        for key in KEYS {
                            let items = numbered(&format!("round:{round}"), 20);
                            let reply = show(&adding.items("BF.MADD", key, &items));
                            if reply.starts_with("-MOVED") {
                                return;
                            }
                            assert!(reply.starts_with("*["), "{reply}");
                        }
                        if round % 4 == 0 {
                            clock.advance(SLOT);
                        }
                        rounds.fetch_add(1, Ordering::SeqCst);
                    }
                });
                until("some additions", || (rounds.load(Ordering::SeqCst) > 3).then_some(()));
                source.ok(&migrate);
                until("the migration to succeed", || {
                    let shown = show(&source.call("CLUSTER GETSLOTMIGRATIONS"));
                    assert!(!shown.contains("$6 failed"), "{shown}");
                    shown.contains("$7 success").then_some(())
                });
            });
            // The source's stream, without the deletion after the migration, is what the target
            // must have.
            let fence = (0..)
                .map(|number| format!("fence:{number}"))
                .find(|key| cluster.owner(key).0 == from)
                .expect("a key of the node");
            let stream = link.received_before(&cluster.nodes[from], &fence);
            let commands: Vec<Vec<Vec<u8>>> = stream
                .into_iter()
                .filter(|command| command[0].to_ascii_uppercase().starts_with(b"BF."))
                .collect();
            let rotations = commands.iter().filter(|command| command[0] == b"BF.ROTATE").count();
            assert!(rotations > 10, "{rotations} rotations");
            let model = setup(&clocks[from]).append_file(append_only_file(&commands));
            let model = model.start(kind);
            assert_equal(&mut model.resp2(), &mut target, &KEYS);
            let mut replica = cluster.nodes[to + PRIMARIES].resp2();
            catch_up(&mut target, &mut replica);
            assert_equal(&mut target, &mut replica, &KEYS);
        }
    });
}
