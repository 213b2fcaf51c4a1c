//! Replicas that join and follow while a client adds. `faults::cut_links` cuts their links.

use bloomline_harness::{Client, Server, for_each_server_long};

use super::equal::{OTHER_SETTINGS, assert_equal, catch_up, many_small, setup};
use super::traffic::{assert_has_rounds, while_adding};

/// The keys to which the client adds: a growing filter and one of fixed size.
const KEYS: [&str; 2] = ["growing", "reserved"];

fn make_keys(client: &mut Client) {
    client.ok("BF.RESERVE growing 0.001 10");
    // Larger than a fast client can fill before the deadline of a test.
    client.ok("BF.RESERVE reserved 0.0001 10000000 NONSCALING");
}

/// Runs commands on a separate connection.
fn runner(server: &Server) -> impl FnMut(&[&[u8]]) -> redis::Value + Send + use<> {
    let mut client = server.resp2();
    move |args| client.run(args)
}

#[test]
fn a_full_resync_under_traffic_loses_nothing() {
    for_each_server_long(|kind| {
        // Each of the 300 filters is saved with a delay of 4 ms, so that the client adds while the
        // file is written, also on a busy machine.
        let primary = setup().line("rdb-key-save-delay 4000").start(kind);
        let mut client = primary.resp2();
        make_keys(&mut client);
        many_small(&mut client, 300);
        let replica = setup().module_args(OTHER_SETTINGS).start(kind);
        let mut follower = replica.resp2();
        let rounds = while_adding(&KEYS, runner(&primary), |rounds| {
            rounds.pass(3);
            follower.ok(&format!("REPLICAOF 127.0.0.1 {}", primary.port));
            client.wait_for("rdb_bgsave_in_progress", "1");
            rounds.pass(3);
            assert_eq!(
                client.info("rdb_bgsave_in_progress"),
                "1",
                "the save ended before the client had added"
            );
            follower.wait_for("master_link_status", "up");
            rounds.pass(3);
        });
        catch_up(&mut client, &mut follower);
        assert_eq!(client.info("sync_full"), "1");
        assert_has_rounds(&mut follower, &KEYS, rounds);
        assert_equal(&mut client, &mut follower);
    });
}

#[test]
fn chained_replicas_with_other_settings_are_equal() {
    for_each_server_long(|kind| {
        let primary = setup().start(kind);
        let mut client = primary.resp2();
        make_keys(&mut client);
        let chained =
            |above: &Server| setup().module_args(OTHER_SETTINGS).follows(above).start(kind);
        let middle = chained(&primary);
        let mut between = middle.resp2();
        catch_up(&mut client, &mut between);
        let last = chained(&middle);
        let mut follower = last.resp2();
        let rounds = while_adding(&KEYS, runner(&primary), |rounds| {
            follower.wait_for("master_link_status", "up");
            rounds.pass(3);
            assert_eq!(client.ask("CLIENT KILL TYPE replica"), ":1");
            rounds.pass(3);
            between.wait_for("master_link_status", "up");
            rounds.pass(3);
        });
        client.call("BF.INSERT inserted CAPACITY 30 ERROR 0.2 EXPANSION 3 ITEMS a b c");
        catch_up(&mut client, &mut follower);
        assert_has_rounds(&mut follower, &KEYS, rounds);
        assert_equal(&mut client, &mut between);
        assert_equal(&mut client, &mut follower);
    });
}
