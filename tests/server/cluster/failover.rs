//! A promoted replica has every item that it acknowledged.

use bloomline_harness::{for_each_server_long, int};

use super::equal::{assert_equal, catch_up, setup};
use super::traffic::{assert_has_rounds, while_adding};

#[test]
fn a_promoted_replica_has_every_acknowledged_item() {
    for_each_server_long(|kind| {
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
