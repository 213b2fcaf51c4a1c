//! A promoted replica has every item that it acknowledged.

use bloomline_harness::{Kind, for_each_server, int};
use redis::Value;

use super::equal::{assert_equal, catch_up, setup};
use super::nodes::{Cluster, PRIMARIES};
use super::traffic::{assert_has_rounds, while_adding};

#[test]
fn a_promoted_replica_has_every_acknowledged_item() {
    for_each_server(|kind| {
        let mut primary = setup().start(kind);
        let mut client = primary.resp2();
        let replica = setup()
            .module_args("bf-error-rate 0.1 bf-initial-size 17")
            .follows(&primary)
            .start(kind);
        let mut follower = replica.resp2();
        // The error rate is so small that no item of this test is a false positive, whatever the
        // seed is.
        client.ok("BF.RESERVE growing 0.000000001 10");
        catch_up(&mut client, &mut follower);

        let mut adding = primary.resp2();
        let run = |args: &[&[u8]]| {
            let reply = adding.run(args);
            if args[0] == b"BF.MADD" {
                assert_eq!(
                    int(&adding.call("WAIT 1 30000")),
                    1,
                    "the replica acknowledged nothing"
                );
            }
            reply
        };
        let rounds = while_adding(&["growing"], run, |rounds| rounds.pass(20));
        // The replica has not acknowledged these: it may have them or not.
        client.call("BF.MADD growing unacknowledged:1 unacknowledged:2");
        primary.kill();

        follower.ok("REPLICAOF NO ONE");
        assert_has_rounds(&mut follower, &["growing"], rounds);
        // The replica continues with the same filter, and creates new ones with its own settings.
        assert_eq!(follower.ask("BF.ADD growing later"), ":1");
        assert_eq!(follower.ask("BF.ADD small new"), ":1");
        assert_eq!(follower.ask("BF.INFO small CAPACITY"), "*[:17]");

        // The former primary returns without its data and follows the new one.
        primary.revive();
        let mut former = primary.resp2();
        former.ok(&format!("REPLICAOF 127.0.0.1 {}", replica.port));
        catch_up(&mut follower, &mut former);
        assert_eq!(follower.ask("BF.ADD growing last"), ":1");
        catch_up(&mut follower, &mut former);
        assert_equal(&mut follower, &mut former);
    });
}

/// A cluster whose nodes soon notice that one is dead, and the index of the primary of a key.
fn cluster(kind: &Kind) -> (Cluster, usize) {
    let cluster = Cluster::start(kind, |_, setup| setup.line("cluster-node-timeout 3000"));
    let (owner, _) = cluster.owner("{k}");
    (cluster, owner)
}

#[test]
fn a_requested_failover_in_a_cluster_loses_nothing() {
    for_each_server(|kind| {
        let (cluster, owner) = cluster(kind);
        let mut router = cluster.router();
        let rounds = while_adding(
            &["{k}"],
            |args| router.run(args),
            |rounds| {
                rounds.pass(10);
                cluster.nodes[owner + PRIMARIES].resp2().ok("CLUSTER FAILOVER");
                cluster.wait_for_promotion(owner + PRIMARIES);
                rounds.pass(10);
            },
        );
        let mut leader = cluster.nodes[owner + PRIMARIES].resp2();
        let mut follower = cluster.nodes[owner].resp2();
        catch_up(&mut leader, &mut follower);
        assert_has_rounds(&mut leader, &["{k}"], rounds);
        assert_equal(&mut leader, &mut follower);
        assert!(router.followed("MOVED") > 0);
    });
}

#[test]
fn a_failover_after_a_crash_keeps_every_acknowledged_item() {
    for_each_server(|kind| {
        let (mut cluster, owner) = cluster(kind);
        let mut router = cluster.router();
        let promoted = cluster.nodes[owner + PRIMARIES].port;
        let run = |args: &[&[u8]]| loop {
            let reply = router.run(args);
            // The promoted replica has no replica of its own that could acknowledge.
            let is_acknowledged = args[0] != b"BF.MADD"
                || router.current_node() == promoted
                || router
                    .run_there(&[b"WAIT", b"1", b"5000"])
                    .is_some_and(|reply| reply == Value::Int(1));
            if is_acknowledged {
                return reply;
            }
        };
        let rounds = while_adding(&["{k}"], run, |rounds| {
            rounds.pass(10);
            cluster.nodes[owner].kill();
            cluster.wait_for_promotion(owner + PRIMARIES);
            rounds.pass(10);
        });
        assert_has_rounds(&mut cluster.nodes[owner + PRIMARIES].resp2(), &["{k}"], rounds);

        cluster.nodes[owner].revive();
        let (mut leader, mut follower) =
            (cluster.nodes[owner + PRIMARIES].resp2(), cluster.nodes[owner].resp2());
        follower.wait_for("role", "slave");
        catch_up(&mut leader, &mut follower);
        assert_equal(&mut leader, &mut follower);
    });
}
