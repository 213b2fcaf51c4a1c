//! Recorded filters enter by every entry point, and leave by every entry point unchanged.

use bloomline_harness::{Client, Server, Setup, Stop, for_each_server, numbered, show, until};

use super::seen::{
    assert_all_recorded, assert_recorded, debug, digits, dumped, restore, restore_all, value_of,
};
use bloomline_reference::fixture::fixtures;

#[test]
fn restored_filters_equal_the_recorded_ones() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        let fixtures = fixtures();
        restore_all(&mut client, &fixtures);
        assert_all_recorded(&mut client, &fixtures);
    });
}

#[test]
fn payloads_of_older_releases_load_or_fail_as_recorded() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        let mut seen = 0;
        for fixture in fixtures() {
            for (version, dump, reply, lines) in fixture.reencoded() {
                let key = format!("{}:{version}", fixture.name);
                let answer = restore(&mut client, &key, &dump);
                assert_eq!(
                    answer.starts_with('+'),
                    reply == "OK",
                    "{key}: {answer}, recorded {reply}"
                );
                if let Some(lines) = lines {
                    assert_eq!(debug(&mut client, &key), lines, "{key}");
                    // DUMP writes the current version, which loads again.
                    let again = [dumped(&mut client, &key), vec![0; 10]].concat();
                    assert_eq!(restore(&mut client, &format!("{key}:again"), &again), "+OK");
                    assert_eq!(debug(&mut client, &format!("{key}:again")), lines, "{key}");
                }
                seen += 1;
            }
        }
        assert_eq!(seen, 12);
        client.assert_answers_ping("all payloads");
    });
}

fn restarted(lines: &[&str], stop: Stop, before: impl Fn(&mut Client) + Sync) {
    for_each_server(|kind| {
        let fixtures = fixtures();
        let mut server = Server::start(kind, lines);
        let mut client = server.resp2();
        restore_all(&mut client, &fixtures);
        before(&mut client);
        for _ in 0..2 {
            server.restart(stop);
            assert_all_recorded(&mut server.resp2(), &fixtures);
        }
    });
}

fn rewrite(client: &mut Client) {
    client.call("BGREWRITEAOF");
    until("the append-only file to be rewritten", || {
        let is_done = client.info("aof_rewrite_in_progress") == "0"
            && client.info("aof_rewrite_scheduled") == "0";
        is_done.then_some(())
    });
}

#[test]
fn an_rdb_file_keeps_every_bit() {
    restarted(&[], Stop::Save, |_| ());
}

#[test]
fn an_aof_rewritten_as_rdb_keeps_every_bit() {
    restarted(&["appendonly yes", "aof-use-rdb-preamble yes"], Stop::NoSave, rewrite);
}

#[test]
fn an_aof_rewritten_as_commands_keeps_every_bit() {
    restarted(&["appendonly yes", "aof-use-rdb-preamble no"], Stop::NoSave, rewrite);
}

#[test]
fn a_full_synchronisation_keeps_every_bit() {
    for_each_server(|kind| {
        let fixtures = fixtures();
        let primary = Setup::new().on_tcp().start(kind);
        let mut client = primary.resp2();
        restore_all(&mut client, &fixtures);
        let replica =
            Setup::new().line(format!("replicaof 127.0.0.1 {}", primary.port)).start(kind);
        let mut reader = replica.resp2();
        until("the replica to be in step", || {
            let is_up = reader.info("master_link_status") == "up";
            (is_up && client.ask("WAIT 1 2000") == ":1").then_some(())
        });
        assert_all_recorded(&mut reader, &fixtures);
    });
}

#[test]
fn recorded_chunks_load_and_are_dumped_unchanged() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        let mut seen = 0;
        for fixture in fixtures() {
            let Some(chunks) = fixture.chunks() else { continue };
            for (iterator, data) in &chunks {
                let reply = client.run(&[
                    b"BF.LOADCHUNK",
                    b"loaded".as_slice(),
                    iterator.to_string().as_bytes(),
                    data,
                ]);
                assert_eq!(show(&reply), "+OK", "{}", fixture.name);
            }
            assert_recorded(&mut client, "loaded", &fixture);
            let mut at = 0;
            for (iterator, data) in &chunks {
                let (next, dumped) = client.scandump("loaded", at);
                at = next;
                assert_eq!((at, &dumped), (*iterator, data), "{}", fixture.name);
            }
            assert_eq!(client.ask(&format!("BF.SCANDUMP loaded {at}")), "*[:0 $0 ]");
            client.ok("FLUSHALL");
            seen += 1;
        }
        assert!(seen >= 5, "{seen}");
    });
}

#[test]
fn restored_filters_grow_like_native_ones() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        let more = numbered("more", 3_000);
        for fixture in fixtures() {
            let Some(create) = fixture.create() else { continue };
            if fixture.info()[4].is_none() {
                continue;
            }
            let words = [
                &["BF.RESERVE", "native"],
                &create[2..].iter().map(String::as_str).collect::<Vec<_>>()[..],
            ]
            .concat();
            let words = [&words[..], &["LAYOUT", "redisbloom"]].concat();
            assert_eq!(show(&client.run(&words)), "+OK");
            let mut replies = String::new();
            for group in fixture.items().chunks(100) {
                replies += &digits(&client.items("BF.MADD", "native", group));
            }
            assert_eq!(replies, fixture.replies());
            assert_recorded(&mut client, "native", &fixture);
            restore(&mut client, "restored", &fixture.dump());
            let native = digits(&client.items("BF.MADD", "native", &more));
            assert_eq!(digits(&client.items("BF.MADD", "restored", &more)), native);
            assert!(
                dumped(&mut client, "restored") == dumped(&mut client, "native"),
                "{}",
                fixture.name
            );
            assert!(dumped(&mut client, "restored") != value_of(&fixture.dump()));
            client.ok("FLUSHALL");
        }
    });
}
