//! Replication links cut again and again, at either end, while clients add.

use crate::cluster::equal::{OTHER_SETTINGS, assert_equal, catch_up, setup};
use crate::cluster::traffic::{assert_has_rounds, while_adding};
use bloomline_harness::{Random, for_each_server, until};

use super::{repetitions, tell};

const KEYS: [&str; 2] = ["growing", "reserved"];

#[test]
fn a_replica_whose_link_is_cut_again_and_again_ends_equal_to_its_primary() {
    for_each_server(|kind| {
        // A backlog so small that some cuts end in a full sync and others do not.
        let primary = setup(kind).line("repl-backlog-size 16kb").start(kind);
        let mut client = primary.resp2();
        client.ok("BF.RESERVE growing 0.001 10");
        client.ok("BF.RESERVE reserved 0.0001 10000000 NONSCALING");
        let replica = setup(kind)
            .module_args(OTHER_SETTINGS)
            .line(format!("replicaof 127.0.0.1 {}", primary.port))
            .start(kind);
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
                        // From the primary's end, from the replica's, and in the middle of coming
                        // back.
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
                    until("the link", || {
                        (follower.info("master_link_status") == "up").then_some(())
                    });
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
        tell(kind, "replication link cut", times, &outcome);
    });
}
