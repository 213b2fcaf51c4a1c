//! Atomic slot migration: the source sends the keys as commands of an append-only file.

use bloomline_harness::{Kind, Setup, for_each_server_long, report_missing, show, until};

use super::equal::{assert_equal, catch_up};
use super::filled::fill;
use super::nodes::{Cluster, PRIMARIES};
use super::traffic::{assert_has_rounds, while_adding};
use crate::filters::{assert_observed, build, in_one_slot, observe_all};

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
                until("the migration to succeed", || {
                    let shown = show(&source.call("CLUSTER GETSLOTMIGRATIONS"));
                    assert!(!shown.contains("$6 failed"), "{shown}");
                    shown.contains("$7 success").then_some(())
                });
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
pub fn has_atomic_slot_migration(kind: &Kind) -> bool {
    let server = Setup::new().bare().line("cluster-enabled yes").on_tcp().start(kind);
    server.resp2().ask("CLUSTER GETSLOTMIGRATIONS").starts_with('*')
}
