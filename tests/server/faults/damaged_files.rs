//! Files cut short or damaged at a bit: the server loads what there is, or ends by itself with a
//! message.

use std::fs;
use std::path::{Path, PathBuf};

use redis::Value;

use bloomline_harness::{Client, Kind, Limits, Random, Server, Stop, for_each_server, numbered, show};

use super::ledger::{data_files, make_keys, value_bytes};
use super::{repetitions, tell};

const KEYS: [&str; 3] = ["growing", "reserved", "foreign"];

/// A server that has written what it acknowledges.
const APPENDING: [&str; 3] = ["appendonly yes", "appendfsync always", "aof-use-rdb-preamble no"];

/// How many starts ended which way.
#[derive(Default)]
struct Outcomes {
    started: usize,
    refused: usize,
    stuck: usize,
}

impl Outcomes {
    /// Starts the server on the file as it is; whether it runs, as it then must, or has said why
    /// not.
    fn start(&mut self, server: &mut Server, what: &str) -> bool {
        match server.try_revive(Limits::default()) {
            Ok(()) => {
                assert_works(&mut server.resp2(), what);
                self.started += 1;
                true
            }
            Err(refusal) => {
                // By itself: before 8.0 with the code of its check of the file, which finds nothing
                // wrong.
                assert!(
                    refusal.status.code().is_some() || refusal.is_stuck,
                    "{what}: {}\n{}",
                    refusal.status,
                    refusal.log
                );
                assert!(says_why(&refusal.log), "{what}: it ended without a word\n{}", refusal.log);
                self.refused += 1;
                self.stuck += usize::from(refusal.is_stuck);
                false
            }
        }
    }

    fn tell(&self, kind: &Kind, fault: &str, times: usize) {
        let outcome = format!(
            "{} loaded, {} refused with a message, {} of them killed in the server's check of the file",
            self.started, self.refused, self.stuck
        );
        tell(kind, fault, times, &outcome);
    }
}

/// True if the log tells what was wrong with a file.
fn says_why(log: &str) -> bool {
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

/// Every key is gone, or a filter that works.
fn assert_works(client: &mut Client, what: &str) {
    client.assert_answers_ping(what);
    for key in KEYS {
        if client.ask(&format!("EXISTS {key}")) == ":0" {
            continue;
        }
        for line in ["BF.INFO", "BF.DEBUG", "BF.CARD", "DUMP"] {
            let reply = client.ask(&format!("{line} {key}"));
            assert!(!reply.starts_with('-'), "{what}: {line} {key} answered {reply}");
        }
        let items = numbered("later", 300);
        client.items("BF.MADD", key, &items);
        client.items("BF.MEXISTS", key, &items);
    }
    client.assert_answers_ping(what);
}

/// A server that was killed, and its file with the data.
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

/// Starts the server on a file with other bytes.
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
fn an_rdb_file_cut_anywhere_is_refused_with_a_message() {
    for_each_server(|kind| {
        let (mut server, file, values) = killed_with_file(kind, &[]);
        let whole = fs::read(&file).expect("the file");
        let value = whole.windows(values[0].len()).position(|window| window == values[0]);
        let (mut outcomes, mut random, times) = (Outcomes::default(), Random(4), repetitions(5));
        for time in 0..times {
            // First behind the module's name in 9 bytes, before a number: there a server's own
            // check may not end.
            let length = match time {
                0 => value.expect("the value") + 9,
                _ => 1 + random.next() as usize % (whole.len() - 1),
            };
            let what = format!("cut to {length} of {}", whole.len());
            let runs = try_bytes(&mut outcomes, &mut server, &file, &whole[..length], &what);
            // The checksum alone may be missing without anybody noticing it, on some servers.
            assert!(!runs || length + 9 >= whole.len(), "{what}: loaded");
        }
        assert!(try_bytes(&mut outcomes, &mut server, &file, &whole, "the whole file"));
        outcomes.tell(kind, "RDB file cut", times);
    });
}

#[test]
fn an_rdb_file_with_a_damaged_bit_in_a_filter_is_loaded_or_refused_with_a_message() {
    for_each_server(|kind| {
        for compression in ["rdbcompression no", "rdbcompression yes"] {
            // Without the checksum, behind which no damage would reach the filter's decoder.
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
                // Half of the damage into the numbers, which come first.
                let reach = if time % 2 == 0 { value.len().min(90) } else { value.len() };
                let at = start + random.next() as usize % reach;
                let what = format!("byte {} of {}", at - start, KEYS[time % KEYS.len()]);
                try_bytes(&mut outcomes, &mut server, &file, &flip(&whole, at, &mut random), &what);
            }
            outcomes.tell(
                kind,
                &format!("RDB file with a flipped bit in a filter, {compression}"),
                times,
            );
        }
    });
}

#[test]
fn an_append_only_file_cut_anywhere_keeps_every_item_before_the_cut() {
    for_each_server(|kind| {
        let mut server = Server::start(kind, &APPENDING);
        let mut client = server.resp2();
        client.ok("BF.RESERVE k 0.0000001 20");
        let items = numbered("item", 400);
        for item in &items {
            assert_eq!(show(&client.run(&[b"BF.ADD", b"k".as_slice(), item])), ":1");
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
                // The item with the line end behind it, with which its command is whole.
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
        outcomes.tell(kind, "append-only file cut", times);
    });
}

#[test]
fn an_append_only_file_with_a_damaged_bit_is_loaded_or_refused_with_a_message() {
    for_each_server(|kind| {
        let (mut server, file, _) = killed_with_file(kind, &APPENDING);
        let whole = fs::read(&file).expect("the file");
        let (mut outcomes, mut random, times) = (Outcomes::default(), Random(7), repetitions(6));
        for _ in 0..times {
            let at = random.next() as usize % whole.len();
            let what = format!("byte {at} of {}", whole.len());
            try_bytes(&mut outcomes, &mut server, &file, &flip(&whole, at, &mut random), &what);
        }
        outcomes.tell(kind, "append-only file with a flipped bit", times);
    });
}

#[test]
fn a_header_in_an_append_only_file_that_asks_for_more_memory_than_there_is_ends_the_start_with_a_message()
 {
    for_each_server(|kind| {
        let (mut server, file, _) = killed_with_file(kind, &APPENDING);
        let mut bytes = fs::read(&file).expect("the file");
        let header = bytes.windows(8).position(|window| window == b"bloomlin").expect("a header");
        // The capacity: 2^40, as large as may be, of which the bits do not fit this machine.
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
fn a_saved_file_with_a_damaged_bit_anywhere_is_refused_by_its_checksum() {
    for_each_server(|kind| {
        let (mut server, file, _) = killed_with_file(kind, &["rdbcompression no"]);
        let whole = fs::read(&file).expect("the file");
        // In the bits of the reserved filter, which any others could be.
        let at = whole.len() / 2;
        fs::write(&file, flip(&whole, at, &mut Random(8))).expect("the file");
        let refusal = server.try_revive(Limits::default()).expect_err("a wrong checksum");
        assert!(refusal.status.code().is_some() && says_why(&refusal.log), "{}", refusal.log);
        fs::write(&file, &whole).expect("the file");
        server.revive();
        server.restart(Stop::Save);
        assert_works(&mut server.resp2(), "the whole file");
    });
}
