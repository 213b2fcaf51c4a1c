//! Replication links that are cut repeatedly at either end, while clients add.

use bloomline_harness::{Random, for_each_server_long};

use crate::cluster::equal::{OTHER_SETTINGS, assert_equal, catch_up, setup};
use crate::cluster::traffic::{assert_has_rounds, while_adding};

use super::{repetitions, report};

const KEYS: [&str; 2] = ["growing", "reserved"];

#[test]
fn a_replica_with_cut_links_ends_equal_to_its_primary() {
    for_each_server_long(|kind| {
        // The backlog is so small that some cuts cause a full synchronisation and others do not.
        let primary = setup().line("repl-backlog-size 16kb").start(kind);
        let mut client = primary.resp2();
        client.ok("BF.RESERVE growing 0.001 10");
        client.ok("BF.RESERVE reserved 0.0001 10000000 NONSCALING");
        let replica = setup().module_args(OTHER_SETTINGS).follows(&primary).start(kind);
        let mut follower = replica.resp2();
        catch_up(&mut client, &mut follower);

        let (mut random, times) = (Random(3), repetitions(6));
        let mut adding = primary.resp2();
        let rounds = while_adding(
            &KEYS,
            |args| adding.run(args),
            |rounds| {
                for time in 0..times {
                    rounds.pass(1 + random.next() as usize % 4);
                    match time % 3 {
                        // Cut by the primary, by the replica, and while the link is being restored.
                        0 => {
                            client.call("CLIENT KILL TYPE replica");
                        }
                        1 => {
                            follower.call("CLIENT KILL TYPE master");
                        }
                        _ => {
                            for _ in 0..3 {
                                client.call("CLIENT KILL TYPE replica");
                                rounds.pass(1);
                            }
                        }
                    }
                    follower.wait_for("master_link_status", "up");
                }
                rounds.pass(1);
            },
        );
        catch_up(&mut client, &mut follower);
        assert_has_rounds(&mut follower, &KEYS, rounds);
        assert_equal(&mut client, &mut follower);
        let (full, partial) = (client.info("sync_full"), client.info("sync_partial_ok"));
        let outcome =
            format!("{} added, 0 lost, equal; {full} full syncs, {partial} partial", rounds * 20);
        report(kind, "replication link cut", times, &outcome);
    });
}
