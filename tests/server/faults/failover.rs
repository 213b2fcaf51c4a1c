//! A shard of a cluster that fails over repeatedly under load, by request and by SIGKILL of its
//! primary.

use std::time::{Duration, Instant};

use bloomline_harness::{Client, Server, for_each_server_long, until};
use redis::Value;

use crate::cluster::equal::{assert_equal, catch_up};
use crate::cluster::nodes::{Cluster, PRIMARIES, wait_until_complete};
use crate::cluster::traffic::{assert_has_rounds, while_adding};

use super::{repetitions, report};

/// Shortens the time after which a node is missed: nodes vote for a failover of the same shard once
/// in twice this time, and a replica requests votes again after four times as long. A node that was
/// started again has forgotten it.
pub fn shorten_timeout(node: &Server) {
    node.resp2().ok("CONFIG SET cluster-node-timeout 2000");
}

/// Requests a failover until the replica is the primary: on a machine under load the nodes abandon
/// a failover after five seconds.
pub fn take_over(replica: &mut Client) {
    let mut requested: Option<Instant> = None;
    until("the replica to take over", || {
        if requested.is_none_or(|requested| requested.elapsed() > Duration::from_secs(6)) {
            replica.call("CLUSTER FAILOVER");
            requested = Some(Instant::now());
        }
        (replica.info("role") == "master").then_some(())
    });
}

#[test]
fn repeated_failover_under_load_keeps_acknowledged_items() {
    for_each_server_long(|kind| {
        let mut cluster = Cluster::start(kind, |_, setup| setup);
        // Not earlier, because a replica could take over before it is in step.
        cluster.nodes.iter().for_each(shorten_timeout);
        let (owner, _) = cluster.owner("{k}");
        let pair = [owner, owner + PRIMARIES];
        let mut router = cluster.router();
        let run = |args: &[&[u8]]| {
            until("the replica to acknowledge", || {
                let reply = router.run(args);
                // Only items that the replica has acknowledged survive the primary.
                let is_acknowledged = args[0] != b"BF.MADD"
                    || router
                        .run_there(&[b"WAIT", b"1", b"5000"])
                        .is_some_and(|reply| matches!(reply, Value::Int(1)));
                is_acknowledged.then_some(reply)
            })
        };
        let times = repetitions(3);
        let rounds = while_adding(&["{k}"], run, |rounds| {
            for time in 0..times {
                rounds.pass(3);
                let (from, to) = (pair[time % 2], pair[(time + 1) % 2]);
                if time % 3 == 1 {
                    cluster.nodes[from].kill();
                    cluster.wait_for_promotion(to);
                    cluster.nodes[from].revive();
                    shorten_timeout(&cluster.nodes[from]);
                } else {
                    take_over(&mut cluster.nodes[to].resp2());
                }
                let (mut leader, mut follower) =
                    (cluster.nodes[to].resp2(), cluster.nodes[from].resp2());
                follower.wait_for("role", "slave");
                until("the new replica to be in step", || {
                    (follower.info("master_link_status") == "up"
                        && leader.info("connected_slaves") != "0")
                        .then_some(())
                });
            }
            rounds.pass(2);
        });
        assert!(router.followed("MOVED") > 0, "there was no redirection");
        let (to, from) = (pair[times % 2], pair[(times + 1) % 2]);
        let (mut leader, mut follower) = (cluster.nodes[to].resp2(), cluster.nodes[from].resp2());
        assert_has_rounds(&mut leader, &["{k}"], rounds);
        catch_up(&mut leader, &mut follower);
        // On a machine under load a node may miss others for a moment, and answers nothing then.
        for node in [&mut leader, &mut follower] {
            wait_until_complete(node);
        }
        assert_equal(&mut leader, &mut follower);
        let outcome = format!("{} acknowledged by the replica, 0 lost, both equal", rounds * 10);
        report(kind, "failover in a cluster, every third by SIGKILL", times, &outcome);
    });
}
