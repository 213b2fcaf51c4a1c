//! Append-only files and RDB files that are loaded after the clock has moved.

use bloomline_harness::{Client, Clock, Replica, Stop, append_only_file, numbered, show};

use crate::cluster::equal;
use crate::timed::{APPEND_ONLY, RESERVE, SLOT, Timed, WINDOW, digest, setup, stat};

const PREAMBLE: [&str; 2] = ["appendonly yes", "aof-use-rdb-preamble yes"];

/// Adds items in each of twelve slots, so that some generations are dropped.
fn fill(client: &mut Client, clock: &Clock) {
    client.ok(RESERVE);
    for slot in 0..12 {
        client.items("BF.MADD", "k", &numbered(&format!("slot:{slot}"), 150));
        client.call("BF.ADD k refreshed");
        clock.advance(SLOT);
    }
}

fn restart_keeps_the_ring(lines: &[&str], stop: Stop, rewrites: bool) {
    Timed::on_each_server(lines, |mut client, Timed { mut server, clock }| {
        fill(&mut client, &clock);
        if rewrites {
            client.rewrite_append_only_file();
            assert_eq!(client.ask("BF.ADD k after:rewrite"), ":1");
        }
        let before = digest(&mut client);
        // Loading rotates nothing, whatever the clock says.
        for seconds in [0, SLOT, -10 * WINDOW, 20 * WINDOW] {
            clock.advance(seconds);
            server.restart(stop);
            assert_eq!(digest(&mut server.resp2()), before, "after {seconds} s");
        }
        let mut client = server.resp2();
        assert_eq!(client.ask("BF.MEXISTS k slot:11:0 refreshed"), "*[:0 :0]");
        assert_eq!(client.ask("BF.CARD k"), ":0");
        assert_eq!(client.ask("BF.ADD k refreshed"), ":1");
        assert_eq!(stat(&mut client, "layers"), 1);
        let after = digest(&mut client);
        server.restart(stop);
        assert_eq!(digest(&mut server.resp2()), after);
    });
}

#[test]
fn an_append_only_file_is_replayed_without_rotating() {
    restart_keeps_the_ring(&APPEND_ONLY, Stop::NoSave, false);
}

#[test]
fn an_aof_rewritten_as_commands_keeps_the_ring() {
    restart_keeps_the_ring(&APPEND_ONLY, Stop::NoSave, true);
}

#[test]
fn an_aof_rewritten_as_rdb_keeps_the_ring() {
    restart_keeps_the_ring(&PREAMBLE, Stop::NoSave, true);
}

#[test]
fn an_rdb_file_keeps_the_ring() {
    restart_keeps_the_ring(&[], Stop::Save, false);
}

#[test]
fn every_prefix_of_an_append_only_file_is_a_state_of_the_primary() {
    Timed::on_each_server(&[], |mut client, Timed { server, clock }| {
        let mut replica = Replica::attach(&server);
        let mut commands: Vec<Vec<Vec<u8>>> = Vec::new();
        // The digest after so many commands of the file.
        let mut states = Vec::new();
        for (index, line) in [
            RESERVE,
            "BF.MADD k a b c",
            "BF.ADD k d",
            "BF.MADD k a e",
            "BF.ADD k a",
            "BF.INSERT k ITEMS f a g",
            "BF.ADD k h",
        ]
        .iter()
        .enumerate()
        {
            client.call(line);
            commands.extend(replica.received(&server));
            states.push((commands.len(), digest(&mut client)));
            clock.advance(if index == 5 { 3 * WINDOW } else { SLOT });
        }
        assert!(commands.iter().any(|command| command[0] == b"EXEC"), "no transaction");
        let later = Clock::new();
        later.set_ahead(100 * WINDOW);
        for length in states[0].0..=commands.len() {
            // A file that ends within a transaction: the server leaves out its commands.
            let file = append_only_file(&commands[..length]);
            let loaded = setup(&later).append_file(file).start(&server.kind);
            let mut client = loaded.resp2();
            let state = states.iter().rfind(|(end, _)| *end <= length).expect("a state");
            assert_eq!(digest(&mut client), state.1, "{length} commands");
            assert_eq!(client.ask("BF.ADD k more"), ":1");
        }
    });
}

#[test]
fn a_time_to_live_goes_on_while_the_server_is_down() {
    Timed::on_each_server(&APPEND_ONLY, |mut client, Timed { mut server, clock }| {
        client.ok("BF.RESERVE short 0.01 100 WINDOW 8000 GENERATIONS 8 TTL 8000");
        client.ok("BF.RESERVE long 0.01 100 WINDOW 8000 GENERATIONS 8 TTL 80000");
        clock.advance(9000);
        server.restart(Stop::NoSave);
        let mut client = server.resp2();
        assert_eq!(client.ask("EXISTS short"), ":0");
        assert_eq!(client.ask("EXISTS long"), ":1");
        clock.advance(80_000);
        assert_eq!(client.ask("BF.CARD long"), ":0");
        assert_eq!(client.ask("EXISTS long"), ":0");
    });
}

#[test]
fn a_clock_that_was_ahead_once_leaves_a_filter_that_forgets() {
    Timed::on_each_server(&APPEND_ONLY, |mut client, Timed { mut server, clock }| {
        let follower = setup(&clock).follows(&server).start(&server.kind);
        let mut replica = follower.resp2();
        client.ok(RESERVE);
        client.ok("BF.RESERVE full 0.0000001 1000 WINDOW 8000 GENERATIONS 8 NONSCALING");
        client.call("BF.ADD k right");
        clock.advance(500 * WINDOW);
        client.items("BF.MADD", "k", &numbered("ahead", 10));
        client.items("BF.MADD", "full", &numbered("ahead", 10));
        clock.advance(-500 * WINDOW);
        for slot in 0..30u32 {
            for key in ["k", "full"] {
                let items = numbered(&format!("slot:{slot}"), 100);
                let replies = show(&client.items("BF.MADD", key, &items));
                assert!(!replies.contains("ERR"), "{key}, slot {slot}: {replies}");
                if let Some(gone) = slot.checked_sub(11) {
                    let question = format!("BF.EXISTS {key} slot:{gone}:7");
                    assert_eq!(client.ask(&question), ":0", "slot {slot}");
                }
                for kept in slot.max(7) - 7..=slot {
                    let question = format!("BF.EXISTS {key} slot:{kept}:7");
                    assert_eq!(client.ask(&question), ":1", "slot {slot}");
                }
            }
            assert!(stat(&mut client, "layers") <= 9, "slot {slot}");
            clock.advance(SLOT);
        }
        assert_eq!(client.ask("BF.MEXISTS k right ahead:0"), "*[:0 :0]");
        let log = server.log();
        assert!(log.contains("ms behind the opening of the newest generation"), "{log}");
        // Replicas and files have the same, and go on.
        let before = digest(&mut client);
        equal::catch_up(&mut client, &mut replica);
        assert_eq!(digest(&mut replica), before);
        for stop in [Stop::NoSave, Stop::Save] {
            server.restart(stop);
            assert_eq!(digest(&mut server.resp2()), before);
        }
        let mut client = server.resp2();
        for gone in ["slot:18:7", "slot:10:7"] {
            assert_eq!(client.ask(&format!("BF.EXISTS k {gone}")), ":0");
        }
        assert_eq!(client.ask("BF.EXISTS k slot:29:7"), ":1");
        assert_eq!(client.ask("BF.ROTATE k AT 0"), "+OK");
        assert_eq!(client.ask("BF.EXISTS k slot:29:7"), ":1");
    });
}
