//! Files that are truncated or have a flipped bit: the server loads what it can, or ends by itself
//! with a message.

use std::fs;
use std::path::{Path, PathBuf};

use bloomline_harness::{
    Client, Kind, Limits, Random, Server, Stop, for_each_server_long, numbered, show,
};
use redis::Value;

use super::ledger::{data_files, make_keys, value_bytes};
use super::{repetitions, report};

const KEYS: [&str; 3] = ["growing", "reserved", "foreign"];

/// A server that has written everything it acknowledges.
const APPENDING: [&str; 3] = ["appendonly yes", "appendfsync always", "aof-use-rdb-preamble no"];

/// How the starts ended.
#[derive(Default)]
struct Outcomes {
    started: usize,
    refused: usize,
    stuck: usize,
}

impl Outcomes {
    /// Starts the server on the file; returns whether it runs. It must either work or have logged
    /// the reason.
    fn start(&mut self, server: &mut Server, what: &str) -> bool {
        match server.try_revive(Limits::default()) {
            Ok(()) => {
                assert_works(&mut server.resp2(), what);
                self.started += 1;
                true
            }
            Err(refusal) => {
                // The server ended by itself. Before 8.0 it ends with the exit code of its check of
                // the file, which finds no error.
                assert!(
                    refusal.status.code().is_some() || refusal.is_stuck,
                    "{what}: {}\n{}",
                    refusal.status,
                    refusal.log
                );
                assert!(
                    states_reason(&refusal.log),
                    "{what}: it ended without a message\n{}",
                    refusal.log
                );
                self.refused += 1;
                self.stuck += usize::from(refusal.is_stuck);
                false
            }
        }
    }

    fn report(&self, kind: &Kind, fault: &str, times: usize) {
        let outcome = format!(
            "{} loaded, {} refused with a message, {} of them killed in the server's check of the file",
            self.started, self.refused, self.stuck
        );
        report(kind, fault, times, &outcome);
    }
}

/// True if the log states what was wrong with a file.
fn states_reason(log: &str) -> bool {
    [
        "not loaded:",
        "Bad file format",
        "Internal error in RDB",
        "Short read",
        "Unknown command",
        "unknown command",
        "Unrecoverable",
        "Wrong RDB checksum",
        "contains module data",
        "out of memory",
        "no memory",
    ]
    .iter()
    .any(|words| log.contains(words))
}

/// Asserts that every key is either missing or a filter that works.
fn assert_works(client: &mut Client, what: &str) {
    client.assert_answers_ping(what);
    for key in KEYS {
        if client.ask(&format!("EXISTS {key}")) == ":0" {
            continue;
        }
        for line in ["BF.INFO", "BF.DEBUG", "BF.CARD", "DUMP"] {
            let reply = client.ask(&format!("{line} {key}"));
            assert!(!reply.starts_with('-'), "{what}: {line} {key} returned {reply}");
        }
        let items = numbered("later", 300);
        client.items("BF.MADD", key, &items);
        client.items("BF.MEXISTS", key, &items);
    }
    client.assert_answers_ping(what);
}

/// A server that was killed, the file with its data, and the bytes of each value.
fn killed_with_file(kind: &Kind, lines: &[&str]) -> (Server, PathBuf, Vec<Vec<u8>>) {
    let mut server = Server::start(kind, lines);
    let mut client = server.resp2();
    make_keys(&mut client);
    for key in KEYS {
        client.items("BF.MADD", key, &numbered("item", 200));
    }
    let values = KEYS.map(|key| value_bytes(&mut client, key)).into();
    if !lines.contains(&"appendonly yes") {
        client.ok("SAVE");
    }
    server.kill();
    let file = data_files(&server).into_iter().rfind(|path| {
        !lines.contains(&"appendonly yes") || path.extension().is_some_and(|e| e == "aof")
    });
    (server, file.expect("a file"), values)
}

fn flip(bytes: &[u8], at: usize, random: &mut Random) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    damaged[at] ^= 1 << (random.next() % 8);
    damaged
}

/// Starts the server on a file with these bytes.
fn try_bytes(
    outcomes: &mut Outcomes,
    server: &mut Server,
    file: &Path,
    bytes: &[u8],
    what: &str,
) -> bool {
    fs::write(file, bytes).expect("the file");
    let runs = outcomes.start(server, what);
    server.kill();
    runs
}

#[test]
fn a_truncated_rdb_file_is_refused_with_a_message() {
    for_each_server_long(|kind| {
        let (mut server, file, values) = killed_with_file(kind, &[]);
        let whole = fs::read(&file).expect("the file");
        let value = whole.windows(values[0].len()).position(|window| window == values[0]);
        let (mut outcomes, mut random, times) = (Outcomes::default(), Random(4), repetitions(5));
        for time in 0..times {
            // First cut after the module's name of 9 bytes and before a number, where the server's
            // own check may not end.
            let length = match time {
                0 => value.expect("the value") + 9,
                _ => 1 + random.next() as usize % (whole.len() - 1),
            };
            let what = format!("cut to {length} of {}", whole.len());
            let runs = try_bytes(&mut outcomes, &mut server, &file, &whole[..length], &what);
            // Some servers do not notice that only the checksum is missing.
            assert!(!runs || length + 9 >= whole.len(), "{what}: loaded");
        }
        assert!(try_bytes(&mut outcomes, &mut server, &file, &whole, "the whole file"));
        outcomes.report(kind, "truncated RDB file", times);
    });
}

#[test]
fn a_flipped_bit_in_an_rdb_filter_loads_or_is_refused() {
    for_each_server_long(|kind| {
        for compression in ["rdbcompression no", "rdbcompression yes"] {
            // Without the checksum of the file, so that the damage reaches the decoder of the
            // filter.
            let (mut server, file, values) =
                killed_with_file(kind, &["rdbchecksum no", compression]);
            let whole = fs::read(&file).expect("the file");
            let (mut outcomes, mut random, times) =
                (Outcomes::default(), Random(5), repetitions(6));
            for time in 0..times {
                let value = &values[time % values.len()];
                let start = whole
                    .windows(value.len())
                    .position(|window| window == value)
                    .expect("the value");
                // Half of the damage hits the numbers, which come first.
                let reach = if time % 2 == 0 { value.len().min(90) } else { value.len() };
                let at = start + random.next() as usize % reach;
                let what = format!("byte {} of {}", at - start, KEYS[time % KEYS.len()]);
                try_bytes(&mut outcomes, &mut server, &file, &flip(&whole, at, &mut random), &what);
            }
            outcomes.report(
                kind,
                &format!("RDB file with a flipped bit in a filter, {compression}"),
                times,
            );
        }
    });
}

#[test]
fn a_truncated_aof_keeps_every_item_before_the_cut() {
    for_each_server_long(|kind| {
        let mut server = Server::start(kind, &APPENDING);
        let mut client = server.resp2();
        client.ok("BF.RESERVE k 0.000000001 20");
        let items = numbered("item", 400);
        for item in &items {
            assert_eq!(show(&client.run(&[&b"BF.ADD"[..], b"k".as_slice(), item])), ":1");
        }
        server.kill();
        let file = data_files(&server)
            .into_iter()
            .rfind(|path| path.extension().is_some_and(|e| e == "aof"));
        let file = file.expect("the append-only file");
        let whole = fs::read(&file).expect("the file");
        let (mut outcomes, mut random, times) = (Outcomes::default(), Random(6), repetitions(5));
        for _ in 0..times {
            let length = random.next() as usize % whole.len();
            fs::write(&file, &whole[..length]).expect("the file");
            assert!(outcomes.start(&mut server, &format!("cut to {length}")));
            let Value::Array(found) = server.resp2().items("BF.MEXISTS", "k", &items) else {
                panic!("no array")
            };
            for (item, found) in items.iter().zip(found) {
                // The command is complete if its item and the following line end are present.
                let line = [item.as_slice(), b"\r\n"].concat();
                let is_whole = whole[..length].windows(line.len()).any(|window| window == line);
                assert_eq!(
                    found,
                    Value::Int(is_whole.into()),
                    "{} at {length}",
                    item.escape_ascii()
                );
            }
            server.kill();
        }
        outcomes.report(kind, "truncated append-only file", times);
    });
}

#[test]
fn a_flipped_bit_in_an_aof_loads_or_is_refused() {
    for_each_server_long(|kind| {
        let (mut server, file, _) = killed_with_file(kind, &APPENDING);
        let whole = fs::read(&file).expect("the file");
        let (mut outcomes, mut random, times) = (Outcomes::default(), Random(7), repetitions(6));
        for _ in 0..times {
            let at = random.next() as usize % whole.len();
            let what = format!("byte {at} of {}", whole.len());
            try_bytes(&mut outcomes, &mut server, &file, &flip(&whole, at, &mut random), &what);
        }
        outcomes.report(kind, "append-only file with a flipped bit", times);
    });
}

#[test]
fn a_header_beyond_the_memory_ends_the_start() {
    for_each_server_long(|kind| {
        let (mut server, file, _) = killed_with_file(kind, &APPENDING);
        let mut bytes = fs::read(&file).expect("the file");
        // A header of version 1: a sparse filter has no larger layer.
        let header = bytes.windows(10).position(|window| window == b"bloomlin\x01\0");
        let header = header.expect("a header");
        // The capacity becomes 2^40, the maximum, whose bits exceed the memory of this machine.
        bytes[header + 24..header + 32].copy_from_slice(&(1_u64 << 40).to_le_bytes());
        fs::write(&file, &bytes).expect("the file");
        let refusal =
            server.try_revive(Limits { memory: Some(8 << 30), file: None }).expect_err("no memory");
        assert!(
            refusal.log.contains("was created by a primary or a file, but no memory for"),
            "{}",
            refusal.log
        );
        assert_eq!(refusal.status.code(), Some(1), "{}\n{}", refusal.status, refusal.log);
    });
}

#[test]
fn a_flipped_bit_is_refused_by_the_checksum() {
    for_each_server_long(|kind| {
        let (mut server, file, _) = killed_with_file(kind, &["rdbcompression no"]);
        let whole = fs::read(&file).expect("the file");
        // The middle of the file lies in the bits of the reserved filter, in which any value is
        // valid.
        let at = whole.len() / 2;
        fs::write(&file, flip(&whole, at, &mut Random(8))).expect("the file");
        let refusal = server.try_revive(Limits::default()).expect_err("a wrong checksum");
        assert!(refusal.status.code().is_some() && states_reason(&refusal.log), "{}", refusal.log);
        fs::write(&file, &whole).expect("the file");
        server.revive();
        server.restart(Stop::Save);
        assert_works(&mut server.resp2(), "the whole file");
    });
}
