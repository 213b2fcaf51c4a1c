//! A server killed by SIGKILL while its child process writes the data set to an RDB file, a new
//! append-only file or a replica.

use bloomline_harness::{Client, Server, for_each_server_long, until};

use crate::cluster::equal::{assert_equal, catch_up, many_small, setup};

use super::ledger::{Ledger, make_keys, while_writing};
use super::{repetitions, report};

/// The additional microseconds that a child takes per key, so that it still runs when it is killed.
const SLOW: &str = "rdb-key-save-delay 2000";
/// Keys of the data set, so many that saving takes a while.
const KEYS: usize = 100;

/// Child processes of a server.
fn children(server: &Server) -> Vec<u32> {
    let pid = server.pid();
    let list =
        std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|child| child.parse().ok()).collect()
}

/// Kills the server and its children. A surviving child would replace the server's file.
fn kill_all(server: &mut Server) {
    let children = children(server);
    server.kill();
    kill(&children);
}

fn kill(children: &[u32]) {
    for &child in children {
        // SAFETY: sends a signal to a process that a server of this test has forked.
        unsafe { libc::kill(child as libc::pid_t, libc::SIGKILL) };
    }
}

fn wait_for_child(client: &mut Client, field: &str) {
    until("a child to write", || (client.info(field) == "1").then_some(()));
}

#[test]
fn a_killed_save_keeps_the_last_file() {
    setup().line(SLOW).on_each_server(|mut client, mut server| {
        make_keys(&mut client);
        many_small(&mut client, KEYS);
        let (mut saved, times) = (Ledger::default(), repetitions(2));
        for time in 0..times {
            let more =
                while_writing(&mut server, &format!("{time}"), |_, progress| progress.pass(20));
            saved.extend(more);
            let mut client = server.resp2();
            client.ok("CONFIG SET rdb-key-save-delay 0");
            client.ok("SAVE");
            client.ok("CONFIG SET rdb-key-save-delay 2000");
            let later = while_writing(&mut server, &format!("{time}:later"), |server, progress| {
                let mut client = server.resp2();
                client.call("BGSAVE");
                wait_for_child(&mut client, "rdb_bgsave_in_progress");
                // First kill the child alone, which the server notices, then kill all.
                kill(&children(server));
                client.wait_for("rdb_bgsave_in_progress", "0");
                assert_eq!(client.info("rdb_last_bgsave_status"), "err");
                progress.pass(5);
                client.call("BGSAVE");
                wait_for_child(&mut client, "rdb_bgsave_in_progress");
                progress.pass(5);
                kill_all(server);
            });
            assert!(later.len() > 0, "no item was added during the save");
            server.revive();
            saved.assert_kept(&mut server.resp2());
        }
        let outcome = format!("{} saved, 0 lost", saved.len());
        report(&server.kind, "SIGKILL while an RDB file is saved", times, &outcome);
    });
}

#[test]
fn a_killed_rewrite_loses_nothing() {
    for_each_server_long(|kind| {
        for preamble in ["yes", "no"] {
            let mut server = setup()
                .line("appendonly yes")
                .line("appendfsync always")
                .line(format!("aof-use-rdb-preamble {preamble}"))
                .line(SLOW)
                .start(kind);
            let mut client = server.resp2();
            make_keys(&mut client);
            many_small(&mut client, KEYS);
            let (mut ledger, times) = (Ledger::default(), repetitions(2));
            for time in 0..times {
                ledger.extend(while_writing(&mut server, &time.to_string(), |server, progress| {
                    progress.pass(5);
                    let mut client = server.resp2();
                    client.call("BGREWRITEAOF");
                    wait_for_child(&mut client, "aof_rewrite_in_progress");
                    progress.pass(5);
                    kill_all(server);
                }));
                server.revive();
                ledger.assert_kept(&mut server.resp2());
            }
            let outcome = format!("{} acknowledged, 0 lost", ledger.len());
            let fault =
                format!("SIGKILL while the append-only file is rewritten, RDB preamble {preamble}");
            report(kind, &fault, times, &outcome);
        }
    });
}

#[test]
fn a_killed_full_sync_is_repeated_without_loss() {
    for_each_server_long(|kind| {
        let mut primary =
            setup().line("appendonly yes").line("appendfsync always").line(SLOW).start(kind);
        let mut client = primary.resp2();
        make_keys(&mut client);
        many_small(&mut client, KEYS);
        let (mut ledger, times) = (Ledger::default(), repetitions(2));
        let mut replica = setup().start(kind);
        for time in 0..times {
            ledger.extend(while_writing(&mut primary, &time.to_string(), |primary, progress| {
                progress.pass(5);
                replica.resp2().ok(&format!("REPLICAOF 127.0.0.1 {}", primary.port));
                wait_for_child(&mut primary.resp2(), "rdb_bgsave_in_progress");
                replica.kill();
                replica.revive();
                replica.resp2().ok(&format!("REPLICAOF 127.0.0.1 {}", primary.port));
                wait_for_child(&mut primary.resp2(), "rdb_bgsave_in_progress");
                progress.pass(5);
                kill_all(primary);
            }));
            primary.revive();
            let mut client = primary.resp2();
            ledger.assert_kept(&mut client);
            let mut follower = replica.resp2();
            catch_up(&mut client, &mut follower);
            ledger.assert_kept(&mut follower);
            assert_equal(&mut client, &mut follower);
            // Detached and empty, so that the next round is a full synchronisation.
            follower.ok("REPLICAOF NO ONE");
            follower.ok("FLUSHALL");
        }
        let outcome = format!("{} acknowledged, 0 lost", ledger.len());
        report(kind, "SIGKILL of replica, then primary, in a full sync", times, &outcome);
    });
}
