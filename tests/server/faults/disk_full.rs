//! A full disk: a limit of the system on file sizes makes writes fail as on a disk without room.
//!
//! Unlike a small file system, a limit needs no privileges and can be lifted while the server runs.

use bloomline_harness::{Limits, Server, Setup, for_each_server_long, until};

use super::ledger::{Ledger, add_bulk, data_files, make_keys, while_writing};
use super::{repetitions, report};

/// Bytes of the data set, which cannot be compressed.
const BULK: usize = 8 << 20;

/// Limits the files of the server to their current size plus `room` bytes.
fn fill_disk(server: &Server, room: u64) {
    let largest = data_files(server)
        .iter()
        .map(|file| file.metadata().map_or(0, |data| data.len()))
        .max()
        .unwrap_or(0);
    server.limit(Limits::files_of(largest + room));
}

fn clear_disk(server: &Server) {
    server.limit(Limits::default());
}

#[test]
fn a_failed_save_keeps_the_last_file_and_the_server() {
    for_each_server_long(|kind| {
        let mut server = Setup::new().start(kind);
        make_keys(&mut server.resp2());
        let (mut saved, times) = (Ledger::default(), repetitions(1));
        for time in 0..times {
            saved.extend(while_writing(&mut server, &format!("{time}"), |_, progress| {
                progress.pass(20)
            }));
            let mut client = server.resp2();
            client.ok("SAVE");
            add_bulk(&mut client, BULK);
            server.limit(Limits::files_of(3 << 20));
            let refused = client.ask("SAVE");
            assert!(refused.starts_with("-ERR"), "{refused}");
            client.call("BGSAVE");
            client.wait_for_saves();
            assert_eq!(client.info("rdb_last_bgsave_status"), "err");
            let more = while_writing(&mut server, &format!("{time}:full"), |_, progress| {
                progress.pass(20)
            });
            saved.assert_kept(&mut server.resp2());
            more.assert_kept(&mut server.resp2());
            server.kill();
            server.revive();
            let mut client = server.resp2();
            saved.assert_kept(&mut client);
            assert_eq!(client.ask("EXISTS bulk:0"), ":0", "a failed save replaced the file");
        }
        let outcome = format!("{} saved before, 0 lost; the server runs", saved.len());
        report(kind, "disk full while an RDB file is saved", times, &outcome);
    });
}

#[test]
fn a_full_disk_refuses_writes_until_there_is_room() {
    for_each_server_long(|kind| {
        let mut server =
            Setup::new().line("appendonly yes").line("appendfsync everysec").start(kind);
        make_keys(&mut server.resp2());
        let (mut ledger, times) = (Ledger::default(), repetitions(1));
        for time in 0..times {
            let mut is_refused = false;
            ledger.extend(while_writing(&mut server, &format!("{time}"), |server, progress| {
                progress.pass(20);
                fill_disk(server, 5000);
                let mut client = server.resp2();
                until("writes to be refused", || {
                    let reply = client.ask("BF.ADD growing refused");
                    is_refused = reply.starts_with("-MISCONF");
                    is_refused.then_some(())
                });
                // Lookups are still answered.
                assert!(
                    ["*[:0]", "*[:1]"].contains(&client.ask("BF.MEXISTS growing refused").as_str())
                );
                clear_disk(server);
                progress.pass(20);
            }));
            assert!(is_refused);
            ledger.assert_kept(&mut server.resp2());
            // The acknowledged items are in the file, although one write to it was cut short. While
            // an earlier write is synchronized, the server postpones the next for two seconds.
            server.resp2().wait_for("aof_buffer_length", "0");
            server.kill();
            server.revive();
            ledger.assert_kept(&mut server.resp2());
        }
        let outcome =
            format!("{} acknowledged, 0 lost; writes refused (MISCONF) meanwhile", ledger.len());
        report(kind, "disk full while the append-only file grows, everysec", times, &outcome);
    });
}

#[test]
fn appendfsync_always_ends_with_a_message_on_a_full_disk() {
    for_each_server_long(|kind| {
        let mut server = Setup::new().line("appendonly yes").line("appendfsync always").start(kind);
        make_keys(&mut server.resp2());
        let (mut ledger, times) = (Ledger::default(), repetitions(1));
        for time in 0..times {
            ledger.extend(while_writing(&mut server, &format!("{time}"), |server, progress| {
                progress.pass(20);
                fill_disk(server, 5000);
                let status = server.wait_for_end();
                // The server ended by itself, as its log states, and not by a signal.
                assert_eq!(status.code(), Some(1), "{status}: {}", server.log());
            }));
            assert!(
                server.log().contains("Can't recover from AOF write error"),
                "{}",
                server.log()
            );
            server.revive();
            ledger.assert_kept(&mut server.resp2());
        }
        let outcome =
            format!("{} acknowledged, 0 lost; the server ends with a message", ledger.len());
        report(kind, "disk full while the append-only file grows, always", times, &outcome);
    });
}

#[test]
fn a_failed_rewrite_keeps_the_append_only_file() {
    for_each_server_long(|kind| {
        let mut server = Setup::new()
            .line("appendonly yes")
            .line("appendfsync always")
            .line("aof-use-rdb-preamble no")
            .line("auto-aof-rewrite-percentage 0")
            .start(kind);
        make_keys(&mut server.resp2());
        let (mut ledger, times) = (Ledger::default(), repetitions(1));
        for time in 0..times {
            let mut client = server.resp2();
            client.call("DEL bulk:0 bulk:1 bulk:2 bulk:3 bulk:4 bulk:5 bulk:6 bulk:7");
            add_bulk(&mut client, BULK);
            ledger.extend(while_writing(&mut server, &format!("{time}"), |_, progress| {
                progress.pass(20)
            }));
            // The child inherits the limit, then the server's own limit is lifted: only the new
            // file has no room.
            server.limit(Limits::files_of(1 << 20));
            let started = client.ask("BGREWRITEAOF");
            assert!(started.contains("started"), "{started}");
            clear_disk(&server);
            client.wait_for_saves();
            assert_eq!(client.info("aof_last_bgrewrite_status"), "err");
            ledger.extend(while_writing(&mut server, &format!("{time}:b"), |_, progress| {
                progress.pass(20)
            }));
            server.kill();
            server.revive();
            ledger.assert_kept(&mut server.resp2());
        }
        let outcome = format!("{} acknowledged, 0 lost; the server runs", ledger.len());
        report(kind, "disk full while the append-only file is rewritten", times, &outcome);
    });
}
