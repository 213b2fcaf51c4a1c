//! A disk that is full: no file of the server may grow beyond a limit of the system, as writes fail
//! on a disk without room.
//!
//! A limit on files needs no privileges, as a small file system would, and can be taken off while
//! the server runs.

use bloomline_harness::{Limits, Server, Setup, for_each_server, until};

use super::ledger::{Ledger, add_bulk, data_files, make_keys, while_writing};
use super::{repetitions, tell};

/// Bytes of the data set, of which nothing can be compressed away.
const BULK: usize = 8 << 20;

/// Room left in the files of the server, which may already be larger.
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
fn a_save_without_room_leaves_the_last_file_with_the_server_running() {
    for_each_server(|kind| {
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
            assert_eq!(client.ask("EXISTS bulk:0"), ":0", "a file without room has got through");
        }
        let outcome = format!("{} saved before, 0 lost; the server runs", saved.len());
        tell(kind, "disk full while an RDB file is saved", times, &outcome);
    });
}

#[test]
fn an_append_only_file_without_room_refuses_writes_until_there_is_some() {
    for_each_server(|kind| {
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
                // Lookups go on.
                assert!(
                    ["*[:0]", "*[:1]"].contains(&client.ask("BF.MEXISTS growing refused").as_str())
                );
                clear_disk(server);
                progress.pass(20);
            }));
            assert!(is_refused);
            ledger.assert_kept(&mut server.resp2());
            // What was acknowledged stands in the file, although a write to it was cut short in the
            // middle.
            server.kill();
            server.revive();
            ledger.assert_kept(&mut server.resp2());
        }
        let outcome =
            format!("{} acknowledged, 0 lost; writes refused (MISCONF) meanwhile", ledger.len());
        tell(kind, "disk full while the append-only file grows, everysec", times, &outcome);
    });
}

#[test]
fn a_server_that_syncs_always_ends_with_a_message_when_there_is_no_room() {
    for_each_server(|kind| {
        let mut server = Setup::new().line("appendonly yes").line("appendfsync always").start(kind);
        make_keys(&mut server.resp2());
        let (mut ledger, times) = (Ledger::default(), repetitions(1));
        for time in 0..times {
            ledger.extend(while_writing(&mut server, &format!("{time}"), |server, progress| {
                progress.pass(20);
                fill_disk(server, 5000);
                let status = server.wait_for_end();
                // By itself, as it says in its log, and not by a signal.
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
        tell(kind, "disk full while the append-only file grows, always", times, &outcome);
    });
}

#[test]
fn a_rewrite_without_room_leaves_the_append_only_file_as_it_was() {
    for_each_server(|kind| {
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
            // The child inherits the limit, the server gets rid of it: the new file has no room,
            // the old one has.
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
        tell(kind, "disk full while the append-only file is rewritten", times, &outcome);
    });
}
