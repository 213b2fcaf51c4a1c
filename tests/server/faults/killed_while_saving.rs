//! A server killed by SIGKILL while a child of it writes the data set: to an RDB file, a new
//! append-only file, a replica.

use crate::cluster::equal::{assert_equal, catch_up, many_small, setup};
use bloomline_harness::{Client, Server, for_each_server, until};

use super::ledger::{Ledger, make_keys, while_writing};
use super::{repetitions, tell};

/// Microseconds a child takes longer for every key, so that it is still at it when it is killed.
const SLOW: &str = "rdb-key-save-delay 2000";
/// Keys of a data set that then takes a while.
const KEYS: usize = 100;

/// Processes that a server has forked.
fn children(server: &Server) -> Vec<u32> {
    let pid = server.pid();
    let list =
        std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|child| child.parse().ok()).collect()
}

/// Kills the server with its children: left alone, one would go on and give its file the name of
/// the server's.
fn kill_all(server: &mut Server) {
    let children = children(server);
    server.kill();
    kill(&children);
}

fn kill(children: &[u32]) {
    for &child in children {
        // SAFETY: a signal to a process that a server of this test has forked.
        unsafe { libc::kill(child as libc::pid_t, libc::SIGKILL) };
    }
}

fn wait_for_child(client: &mut Client, field: &str) {
    until("a child to write", || (client.info(field) == "1").then_some(()));
}

#[test]
fn a_save_that_is_killed_leaves_the_file_of_the_last_one() {
    for_each_server(|kind| {
        let mut server = setup(kind).line(SLOW).start(kind);
        let mut client = server.resp2();
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
                // The child alone, of which the server takes note, then all.
                kill(&children(server));
                until("the server to see it", || {
                    (client.info("rdb_bgsave_in_progress") == "0").then_some(())
                });
                assert_eq!(client.info("rdb_last_bgsave_status"), "err");
                progress.pass(5);
                client.call("BGSAVE");
                wait_for_child(&mut client, "rdb_bgsave_in_progress");
                progress.pass(5);
                kill_all(server);
            });
            assert!(later.len() > 0, "nothing was added meanwhile");
            server.revive();
            saved.assert_kept(&mut server.resp2());
        }
        let outcome = format!("{} saved, 0 lost", saved.len());
        tell(kind, "SIGKILL while an RDB file is saved", times, &outcome);
    });
}

#[test]
fn a_rewrite_that_is_killed_loses_nothing_whichever_kind_of_file_it_writes() {
    for_each_server(|kind| {
        for preamble in ["yes", "no"] {
            let mut server = setup(kind)
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
            tell(kind, &fault, times, &outcome);
        }
    });
}

#[test]
fn a_full_sync_whose_primary_or_replica_is_killed_is_made_again_with_nothing_lost() {
    for_each_server(|kind| {
        let mut primary =
            setup(kind).line("appendonly yes").line("appendfsync always").line(SLOW).start(kind);
        let mut client = primary.resp2();
        make_keys(&mut client);
        many_small(&mut client, KEYS);
        let (mut ledger, times) = (Ledger::default(), repetitions(2));
        let mut replica = setup(kind).start(kind);
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
            // Alone again, so that the next time is a full sync.
            follower.ok("REPLICAOF NO ONE");
            follower.ok("FLUSHALL");
        }
        let outcome = format!("{} acknowledged, 0 lost", ledger.len());
        tell(kind, "SIGKILL of replica, then primary, in a full sync", times, &outcome);
    });
}
