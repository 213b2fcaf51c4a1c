//! Replicas that join and follow while a client adds. `faults::cut_links` cuts their links.

use bloomline_harness::{Client, Server, for_each_server_long, numbered, report_missing};

use super::equal::{OTHER_SETTINGS, assert_equal, catch_up, many_small, setup};
use super::traffic::{assert_has_rounds, while_adding};

/// The keys to which the client adds: a growing filter and one of fixed size.
const KEYS: [&str; 2] = ["growing", "reserved"];

fn make_keys(client: &mut Client) {
    client.ok("BF.RESERVE growing 0.001 10");
    // Larger than a fast client can fill before the deadline of a test.
    client.ok("BF.RESERVE reserved 0.0001 10000000 NONSCALING");
}

/// Runs commands on a connection of its own.
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

#[test]
fn full_filters_and_refused_growth_do_not_end_a_replica() {
    for_each_server_long(|kind| {
        let primary = setup().module_args("bf-max-filter-bytes 64kb").start(kind);
        let mut client = primary.resp2();
        let mut replica = setup().module_args(OTHER_SETTINGS).follows(&primary).start(kind);
        let mut follower = replica.resp2();
        if follower.ask("CONFIG SET propagation-error-behavior panic") != "+OK" {
            report_missing(kind, "propagation-error-behavior");
        }
        catch_up(&mut client, &mut follower);
        client.ok("BF.RESERVE full 0.0001 3 NONSCALING");
        client.ok("BF.RESERVE stuck 0.0001 100 EXPANSION 32768");
        let many = numbered("item", 110);
        for key in ["full", "stuck"] {
            client.items("BF.MADD", key, &many);
            client.call(&format!("BF.ADD {key} one"));
            client.call(&format!("BF.INSERT {key} ITEMS two item:1 three"));
            client.call(&format!("BF.MADD {key} item:1 item:2"));
        }
        let refused = client.ask("BF.ADD stuck four");
        assert!(refused.starts_with("-ERR"), "{refused}");
        for refused in [
            "BF.RESERVE huge 0.01 1000000",
            "BF.INSERT huge CAPACITY 1000000 ITEMS a",
            "BF.INSERT absent NOCREATE ITEMS a",
            "BF.LOADCHUNK full 999999 abc",
            "BF.LOADCHUNK absent 1 abc",
        ] {
            let reply = client.ask(refused);
            assert!(reply.starts_with('-'), "{refused}: {reply}");
        }
        client.ok("SET last 1");
        catch_up(&mut client, &mut follower);
        assert!(replica.is_running());
        assert_equal(&mut client, &mut follower);
    });
}
