//! Atomic slot migration: the source sends the keys as commands of an append-only file.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use bloomline_harness::{
    Client, Clock, Kind, Replica, Setup, append_only_file, for_each_server_long, numbered,
    report_missing, show, until,
};

use super::equal::{assert_equal, catch_up};
use super::filled::fill;
use super::nodes::{Cluster, PRIMARIES};
use super::traffic::{assert_has_rounds, while_adding};
use crate::filters::{assert_observed, build, in_one_slot, observe_all};
use crate::timed::{self, SLOT, WINDOW};

#[test]
fn atomic_slot_migration_under_traffic_loses_nothing() {
    const KEYS: [&str; 3] = ["{k}growing", "{k}megabyte", "{k}hundred"];
    for_each_server_long(|kind| {
        if !has_atomic_slot_migration(kind) {
            return report_missing(kind, "CLUSTER MIGRATESLOTS");
        }
        let (from, to) = (1, 2);
        let cluster = Cluster::start(kind, |node, setup| {
            let setup = setup.line("cluster-node-timeout 30000");
            // The limit is below the incoming filters. It does not apply to a migration, as it does
            // not to a primary.
            if node % PRIMARIES == to {
                setup.module_args("bf-max-filter-bytes 500kb")
            } else {
                setup
            }
        });
        let (owner, slot) = cluster.owner("{k}");
        assert_eq!(owner, from);
        let (mut source, mut target) = (cluster.nodes[from].resp2(), cluster.nodes[to].resp2());
        let migrate =
            format!("CLUSTER MIGRATESLOTS SLOTSRANGE {slot} {slot} NODE {}", cluster.id(to));
        for (key, capacity) in KEYS[1..].iter().zip([850_000, 85_000_000]) {
            fill(&mut |args| source.run(args), key, capacity);
        }
        // No client changes these filters during the migration.
        let carried = in_one_slot();
        build(&mut source, &carried);
        let before = observe_all(&mut source, &carried);
        // This filter has few items, so that nearly all its chunks are zero.
        source.ok("BF.RESERVE {k}sparse 0.001 50000000");
        assert_eq!(source.ask("BF.MADD {k}sparse a b c"), "*[:1 :1 :1]");
        let sparse = source.call("DUMP {k}sparse");

        let mut router = cluster.router();
        let rounds = while_adding(
            &KEYS,
            |args| router.run(args),
            |rounds| {
                rounds.pass(3);
                source.ok(&migrate);
                wait_for_migration(&mut source);
                rounds.pass(3);
            },
        );
        assert!(router.followed("MOVED") > 0, "there was no redirection");
        assert_eq!(source.ask("DBSIZE"), ":0");
        assert_has_rounds(&mut target, &KEYS, rounds);
        assert_observed(&mut target, &carried, &before, "the migration");
        assert!(target.call("DUMP {k}sparse") == sparse, "the sparse filter has other bytes");
        // The target's limit still applies to clients.
        let refused = target.ask("BF.RESERVE {k}new 0.01 10000000");
        assert!(refused.starts_with("-ERR"), "{refused}");

        let mut replica = cluster.nodes[to + PRIMARIES].resp2();
        catch_up(&mut target, &mut replica);
        assert_equal(&mut target, &mut replica);
    });
}

/// True if the server has CLUSTER MIGRATESLOTS.
fn has_atomic_slot_migration(kind: &Kind) -> bool {
    let server = Setup::new().bare().line("cluster-enabled yes").on_tcp().start(kind);
    server.resp2().ask("CLUSTER GETSLOTMIGRATIONS").starts_with('*')
}

fn wait_for_migration(source: &mut Client) {
    until("the migration to succeed", || {
        let shown = show(&source.call("CLUSTER GETSLOTMIGRATIONS"));
        assert!(!shown.contains("$6 failed"), "{shown}");
        shown.contains("$7 success").then_some(())
    });
}

/// The keys of windowed filters.
const WINDOWED: [&str; 3] = ["{k}time", "{k}last", "{k}hand"];

/// A cluster in which each node has its own clock.
struct Timed {
    // Stopped before the clocks are gone.
    cluster: Cluster,
    clocks: Vec<Clock>,
}

impl Timed {
    fn start(kind: &Kind) -> Self {
        let clocks: Vec<Clock> = (0..2 * PRIMARIES).map(|_| Clock::new()).collect();
        let cluster = Cluster::start(kind, |node, setup| {
            // The source pauses its clients for so long. Its clock moves meanwhile.
            let setup = setup.line("cluster-manual-failover-timeout 1000000000");
            setup.line("cluster-node-timeout 100000000").clock(&clocks[node])
        });
        Self { cluster, clocks }
    }
}

/// Makes filters that have rotated several times.
fn slide(client: &mut Client, clock: &Clock) {
    client.ok("BF.RESERVE {k}time 0.01 1000 WINDOW 8000 GENERATIONS 8");
    client.ok("BF.RESERVE {k}last 0.0000001 1000 LAST GENERATIONS 8");
    client.ok("BF.RESERVE {k}hand 0.01 1000 GENERATIONS 4");
    for slot in 0..5 {
        for key in WINDOWED {
            client.items("BF.MADD", key, &numbered(&format!("slot:{slot}"), 300));
        }
        client.ok("BF.ROTATE {k}hand");
        clock.advance(SLOT);
    }
}

#[test]
fn atomic_slot_migration_does_not_rotate_on_the_target() {
    for_each_server_long(|kind| {
        if !has_atomic_slot_migration(kind) {
            return report_missing(kind, "CLUSTER MIGRATESLOTS");
        }
        for ahead in [5 * WINDOW, -5 * WINDOW] {
            let Timed { cluster, clocks } = Timed::start(kind);
            let (from, slot) = cluster.owner("{k}");
            let to = (from + 1) % PRIMARIES;
            let (mut source, mut target) = (cluster.nodes[from].resp2(), cluster.nodes[to].resp2());
            let mut link = Replica::attach(&cluster.nodes[from]);
            slide(&mut source, &clocks[from]);
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
                        for key in WINDOWED {
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
                wait_for_migration(&mut source);
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
            let model = timed::setup(&clocks[from]).append_file(append_only_file(&commands));
            let model = model.start(kind);
            timed::assert_equal(&mut model.resp2(), &mut target, &WINDOWED);
            let mut replica = cluster.nodes[to + PRIMARIES].resp2();
            catch_up(&mut target, &mut replica);
            timed::assert_equal(&mut target, &mut replica, &WINDOWED);
        }
    });
}
