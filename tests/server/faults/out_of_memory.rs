//! Memory that the system has not got: a server that may take only a little more than it has.
//!
//! Memory below 8 MiB is asked of Redis 6.2 in the only way it has, which ends the server if there is none; so all here is larger.

use crate::cluster::equal::{catch_up, setup};
use crate::harness::{
    Client, Kind, Limits, Server, Setup, Stop, bulk, for_each_server, numbered, show, truncate_dump,
};

use super::{repetitions, tell};

/// What the server may still take: enough for itself, and for no filter of these tests.
const LEFT: u64 = 24 << 20;

/// A reservation of 140 MB, which takes no memory but addresses.
const LARGE: &str = "BF.RESERVE large 0.01 100000000";

fn starve(server: &Server) {
    server.limit(Limits::memory_beyond(server.pid(), LEFT));
}

fn feed(server: &Server) {
    server.limit(Limits::default());
}

/// A filter whose second layer takes 48 MB, one item before it.
fn about_to_grow(client: &mut Client, key: &str) -> Vec<Vec<u8>> {
    client.ok(&format!("BF.RESERVE {key} 0.0001 1000 EXPANSION 20000"));
    let items = numbered(key, 1010);
    let mut inside = Vec::new();
    for item in items {
        if client.ask(&format!("BF.INFO {key} ITEMS")) == "*[:1000]" {
            break;
        }
        client.run(&[b"BF.ADD", key.as_bytes(), &item]);
        inside.push(item);
    }
    inside
}

fn assert_has(client: &mut Client, key: &str, items: &[Vec<u8>]) {
    let found = show(&client.items("BF.MEXISTS", key, items));
    assert_eq!(found.matches(":1").count(), items.len(), "{key} lost items");
}

/// What another server gives for a filter: to this one, which never held it, the memory for it is new.
fn payload_and_header(kind: &Kind) -> (Vec<u8>, Vec<u8>) {
    let server = Setup::new().start(kind);
    let mut client = server.resp2();
    client.ok(LARGE);
    let payload = bulk(&client.call("DUMP large")).to_vec();
    match client.call("BF.SCANDUMP large 0") {
        redis::Value::Array(pair) => (payload, bulk(&pair[1]).to_vec()),
        other => panic!("{}", show(&other)),
    }
}

#[test]
fn a_client_is_refused_with_nothing_changed_until_there_is_memory() {
    for_each_server(|kind| {
        let (payload, header) = payload_and_header(kind);
        let times = repetitions(1);
        for _ in 0..times {
            // A new one each time: an allocator keeps addresses that it once had.
            let mut server = Setup::new().start(kind);
            let mut client = server.resp2();
            let inside = about_to_grow(&mut client, "growing");
            starve(&server);
            for _ in 0..3 {
                let refused = client.ask(LARGE);
                assert!(refused.starts_with("-ERR Insufficient memory"), "{refused}");
                let refused = client.ask("BF.INSERT large CAPACITY 100000000 ITEMS a");
                assert!(refused.starts_with("-ERR Insufficient memory"), "{refused}");
                let refused = show(&client.run(&[b"RESTORE", b"large".as_slice(), b"0", &payload]));
                assert_eq!(refused, "-ERR Bad data format");
                let refused = show(&client.run(&[b"BF.LOADCHUNK", b"large".as_slice(), b"1", &header]));
                assert!(refused.starts_with("-ERR"), "{refused}");
                assert_eq!(client.ask("EXISTS large"), ":0");
                let refused = client.ask("BF.MADD growing new:1 new:2");
                assert!(refused.contains("-ERR problem inserting into filter"), "{refused}");
                assert_eq!(client.ask("BF.INFO growing FILTERS"), "*[:1]");
                assert_eq!(client.ask("BF.INFO growing ITEMS"), "*[:1000]");
                assert_has(&mut client, "growing", &inside);
            }
            feed(&server);
            client.ok(LARGE);
            starve(&server);
            let refused = client.ask("COPY large copy");
            assert!(refused == ":0" || refused.starts_with('-'), "{refused}");
            assert_eq!(client.ask("EXISTS copy"), ":0");
            feed(&server);
            assert_eq!(client.ask("COPY large copy"), ":1");
            assert_eq!(client.ask("BF.MADD growing new:1 new:2"), "*[:1 :1]");
            assert_eq!(client.ask("BF.INFO growing FILTERS"), "*[:2]");
            assert_has(&mut client, "growing", &inside);
            server.restart(Stop::Save);
            assert_has(&mut server.resp2(), "growing", &inside);
        }
        tell(kind, "no memory to create, grow, copy, restore", times, "refused, 0 lost, goes on after");
    });
}

#[test]
fn a_server_that_has_no_memory_for_its_file_says_so_to_start_when_there_is_some() {
    for_each_server(|kind| {
        for persistence in ["appendonly no", "appendonly yes"] {
            let setup =
                Setup::new().line(persistence).line("aof-use-rdb-preamble no").line("appendfsync always");
            let mut server = setup.start(kind);
            let mut client = server.resp2();
            // Address space of the server itself, threads and all, and no room for the filter.
            let itself = Limits::memory_beyond(server.pid(), LEFT);
            let items = numbered("item", 100);
            client.ok("BF.RESERVE large 0.01 100000000");
            client.items("BF.MADD", "large", &items);
            if persistence == "appendonly no" {
                client.ok("SAVE");
            }
            let times = repetitions(2);
            for _ in 0..times {
                server.kill();
                let refusal = server.try_revive(itself).expect_err("no memory");
                // By itself; before Redis 8.0 with 0, the code of a check of the file that finds nothing wrong.
                assert!(refusal.status.code().is_some(), "{}\n{}", refusal.status, refusal.log);
                let log = &refusal.log;
                assert!(log.contains("memory"), "no word about it in\n{log}");
                server.revive();
                assert_has(&mut server.resp2(), "large", &items);
            }
            let fault = format!("no memory to load at the start, {persistence}");
            tell(kind, &fault, times, "refused with a message, 0 lost after");
        }
    });
}

#[test]
fn a_replica_without_memory_for_what_its_primary_creates_ends_with_a_message() {
    for_each_server(|kind| {
        let times = repetitions(1);
        for _ in 0..times {
            // New servers each time: one that has loaded and freed filters has room for another without asking the system.
            let primary = setup(kind).start(kind);
            let mut client = primary.resp2();
            let mut replica = setup(kind).line(format!("replicaof 127.0.0.1 {}", primary.port)).start(kind);
            catch_up(&mut client, &mut replica.resp2());
            starve(&replica);
            client.ok("BF.RESERVE large 0.01 100000000");
            client.call("BF.ADD large a");
            let status = replica.wait_for_end();
            assert_eq!(status.code(), Some(1), "{status}\n{}", replica.log());
            assert!(replica.log().contains("that a primary or a file has created"), "{}", replica.log());
            replica.revive();
            let mut follower = replica.resp2();
            catch_up(&mut client, &mut follower);
            assert_eq!(follower.ask("BF.MEXISTS large a"), "*[:1]");
        }
        tell(kind, "no memory on a replica", times, "it ends with a message, 0 lost after");
    });
}

#[test]
fn damaged_payloads_are_refused_without_memory_as_with_it() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        client.ok("BF.RESERVE k 0.01 20000000");
        client.call("BF.ADD k a");
        let dump = bulk(&client.call("DUMP k")).to_vec();
        client.call("DEL k");
        starve(&server);
        for length in [dump.len() - 20, 80, 60, 30] {
            let cut = truncate_dump(&dump, length);
            let refused = show(&client.run(&[b"RESTORE", b"k".as_slice(), b"0", &cut]));
            assert_eq!(refused, "-ERR Bad data format", "cut to {length}");
        }
        client.assert_answers_ping("payloads");
    });
}
