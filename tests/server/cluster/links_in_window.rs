//! Links that are cut, and primaries that die, while a filter rotates.

use bloomline_harness::{Client, Clock, numbered, until};

use crate::cluster::equal::catch_up;
use crate::timed::{RESERVE, SLOT, Timed, WINDOW, assert_equal, info, setup, time};

/// Adds items in each of some slots.
fn add(client: &mut Client, clock: &Clock, slots: usize) {
    for slot in 0..slots {
        client.items("BF.MADD", "k", &numbered(&format!("slot:{slot}"), 200));
        client.call("BF.ADD k refreshed");
        clock.advance(SLOT);
    }
}

#[test]
fn a_partial_resync_brings_missed_rotations() {
    Timed::on_each_server(&["repl-backlog-size 64mb"], |_, Timed { server, clock }| {
        let (mut client, other) = (server.resp2(), Clock::new());
        let replica = setup(&other).follows(&server).start(&server.kind);
        let mut follower = replica.resp2();
        catch_up(&mut client, &mut follower);
        client.ok(RESERVE);
        for cuts in 1..=3 {
            add(&mut client, &clock, 3);
            // Both run before the replica can return.
            client.ok("MULTI");
            client.call("CLIENT KILL TYPE replica");
            client.call("BF.ADD k inside");
            client.call("EXEC");
            add(&mut client, &clock, 3);
            other.set_ahead(WINDOW * (cuts - 2) * 5);
            until("the replica to continue", || {
                (client.info("sync_partial_ok") == cuts.to_string()).then_some(())
            });
            catch_up(&mut client, &mut follower);
            assert_equal(&mut client, &mut follower, &["k"]);
        }
        assert_eq!(client.info("sync_full"), "1");
    });
}

#[test]
fn a_primary_that_dies_after_a_rotation_loses_nothing() {
    Timed::on_each_server(&[], |_, Timed { mut server, clock }| {
        let (mut client, other) = (server.resp2(), Clock::new());
        let replica = setup(&other).follows(&server).start(&server.kind);
        let mut follower = replica.resp2();
        catch_up(&mut client, &mut follower);
        client.ok(RESERVE);
        client.call("BF.MADD k a b");
        clock.advance(SLOT + 10);
        // The rotation arrives without the addition behind it.
        let now = time(&mut client) * 1000;
        client.ok(&format!("BF.ROTATE k AT {now}"));
        catch_up(&mut client, &mut follower);
        server.kill();
        follower.ok("REPLICAOF NO ONE");
        assert_eq!(info(&mut follower, "NEWEST"), now);
        // The replica's clock is a slot behind that of the newest generation.
        assert_eq!(follower.ask("BF.MEXISTS k a b"), "*[:1 :1]");
        assert_eq!(follower.ask("BF.MADD k a c"), "*[:0 :1]");
        assert_eq!(info(&mut follower, "NEWEST"), now);
        other.advance(2 * SLOT + 100);
        assert_eq!(follower.ask("BF.ADD k d"), ":1");
        assert!(info(&mut follower, "NEWEST") > now);
        assert_eq!(follower.ask("BF.MEXISTS k a b c d"), "*[:1 :1 :1 :1]");
    });
}
