//! Failover in mid window: what was acknowledged within the window is found.

use bloomline_harness::{Clock, for_newest_servers, until};
use redis::Value;

use crate::cluster::equal::catch_up;
use crate::cluster::nodes::{Cluster, PRIMARIES};
use crate::cluster::traffic::{assert_has_rounds, while_adding};
use crate::timed::{SLOT, WINDOW, assert_equal};

#[test]
fn failovers_in_mid_window_lose_no_acknowledged_item() {
    for_newest_servers(|kind| {
        // One clock for all nodes. They must not consider each other dead when it moves.
        let clock = Clock::new();
        let mut cluster = Cluster::start(kind, |_, setup| {
            setup.line("cluster-node-timeout 100000000").clock(&clock)
        });
        let (owner, _) = cluster.owner("{k}");
        let pair = [owner, owner + PRIMARIES];
        cluster.nodes[owner].resp2().ok("BF.RESERVE {k} 0.0000001 1000 WINDOW 8000 GENERATIONS 8");
        let mut router = cluster.router();
        let run = |args: &[&[u8]]| {
            until("the replica to acknowledge", || {
                let reply = router.run(args);
                // Only items that the replica has acknowledged survive the primary.
                let is_acknowledged = args[0] != b"BF.MADD"
                    || router
                        .run_there(&[b"WAIT", b"1", b"5000"])
                        .is_some_and(|reply| reply == Value::Int(1));
                is_acknowledged.then_some(reply)
            })
        };
        let times = 4;
        let rounds = while_adding(&["{k}"], run, |rounds| {
            for time in 0..times {
                rounds.pass(2);
                clock.advance(SLOT + 100);
                rounds.pass(2);
                let (from, to) = (pair[time % 2], pair[(time + 1) % 2]);
                if time % 2 == 1 {
                    cluster.nodes[from].kill();
                    clock.advance(SLOT / 2);
                    cluster.nodes[to].resp2().ok("CLUSTER FAILOVER TAKEOVER");
                    cluster.wait_for_promotion(to);
                    cluster.nodes[from].revive();
                } else {
                    // The other primaries vote once per shard within the timeout of a node.
                    let how = if time == 0 { "" } else { "TAKEOVER" };
                    cluster.nodes[to].resp2().ok(&format!("CLUSTER FAILOVER {how}"));
                    cluster.wait_for_promotion(to);
                }
                let (mut leader, mut follower) =
                    (cluster.nodes[to].resp2(), cluster.nodes[from].resp2());
                until("the former primary to follow", || {
                    (follower.info("role") == "slave"
                        && follower.info("master_link_status") == "up"
                        && leader.info("connected_slaves") != "0")
                        .then_some(())
                });
            }
            rounds.pass(2);
        });
        let (to, from) = (pair[times % 2], pair[(times + 1) % 2]);
        let (mut leader, mut follower) = (cluster.nodes[to].resp2(), cluster.nodes[from].resp2());
        assert_has_rounds(&mut leader, &["{k}"], rounds);
        catch_up(&mut leader, &mut follower);
        assert_equal(&mut leader, &mut follower, &["{k}"]);
        assert_has_rounds(&mut follower, &["{k}"], rounds);
        clock.advance(WINDOW + SLOT);
        assert_eq!(leader.ask("BF.CARD {k}"), ":0");
        assert_eq!(leader.ask("BF.EXISTS {k} round:0:0"), ":0");
    });
}
