//! Sequences of commands, valid and damaged, with chunks of real filters and random headers.

use arbitrary::{Result, Unstructured};
use bloomline_harness::{Kind, Setup, bulk, for_newest_servers, int, show};
use redis::Value;

use crate::budget::Cases;
use crate::calls::{KEYS, key};
use crate::cuckoo_calls::Numbers;
use crate::family::Family;
use crate::known::Keys;
use crate::live::{Live, Protocol};
use crate::program;
use crate::words::Words;
use bloomline_reference::checks::header;
use bloomline_reference::payload::MODULE;

/// The number of cases per server, so that the append-only file stays short.
const CASES_A_SERVER: u64 = 50;

/// A case under way.
struct Run<'l> {
    live: &'l mut Live,
    keys: Keys,
}

impl Run<'_> {
    fn run(&mut self, command: &Words) -> Value {
        let reply = self.live.test(command);
        self.keys.learn(command, &reply);
        let [name, key, ..] = &command[..] else { return reply };
        if !program::reads(name) {
            self.live.assert_reloads(&String::from_utf8_lossy(key));
        }
        reply
    }

    fn step(&mut self, u: &mut Unstructured) -> Result<()> {
        match u.int_in_range(0..=15u8)? {
            0..=9 => drop(self.run(&program::command(u)?)),
            10..=11 => {
                let (key, family) = (key(u)?, family(u)?);
                let header = match family {
                    Family::Bloom => header::any(u)?,
                    Family::Cuckoo => Numbers::mostly_valid(u)?.header(),
                };
                let mut command = vec![family.command("LOADCHUNK"), key, b"1".to_vec(), header];
                program::damage(u, &mut command)?;
                self.load(command);
            }
            12 => {
                // Filters that can be merged, unless their headers are damaged.
                let headers = header::family(u)?;
                let merge = [b"BF.MERGE".as_slice(), KEYS[headers.len() - 1].as_bytes()];
                let mut merge: Words = merge.map(<[u8]>::to_vec).into();
                for (key, header) in KEYS.into_iter().zip(headers) {
                    let key = key.as_bytes().to_vec();
                    self.run(&vec![b"DEL".to_vec(), key.clone()]);
                    self.run(&vec![b"BF.LOADCHUNK".to_vec(), key.clone(), b"1".to_vec(), header]);
                    merge.push(key);
                }
                if self.run(&merge) == Value::Okay {
                    self.live.serves(&String::from_utf8_lossy(&merge[1]));
                }
            }
            13 => {
                let (from, to) = (key(u)?, key(u)?);
                let Some(family) = self.live.family_of(&from) else { return Ok(()) };
                for (iterator, data) in self.pieces(family, &from) {
                    let piece = program::piece(u, family, to.clone(), (iterator, &data))?;
                    self.load(piece);
                }
            }
            14 => {
                let (from, to) = (key(u)?, key(u)?);
                let Some(family) = self.live.family_of(&from) else { return Ok(()) };
                if from != to {
                    self.run(&vec![b"DEL".to_vec(), to.clone()]);
                    for (iterator, data) in self.pieces(family, &from) {
                        let iterator = iterator.to_string().into_bytes();
                        self.load(vec![family.command("LOADCHUNK"), to.clone(), iterator, data]);
                    }
                }
            }
            _ => {
                let (from, to) = (key(u)?, key(u)?);
                let dump = self.live.run(&[b"DUMP".to_vec(), from]);
                // Skip the string that one of the keys holds.
                if let Value::BulkString(dump) = dump
                    && dump.first() == Some(&MODULE)
                {
                    let command =
                        [&b"RESTORE"[..], &to, b"0", &dump, b"REPLACE"].map(<[u8]>::to_vec);
                    assert_eq!(show(&self.run(&command.into())), "+OK");
                }
            }
        }
        Ok(())
    }

    /// Runs LOADCHUNK. A filter that is accepted must serve.
    fn load(&mut self, command: Words) {
        if self.run(&command) == Value::Okay {
            let key = String::from_utf8(command[1].clone()).expect("one of the keys");
            self.live.serves(&key);
        }
    }

    /// All chunks of a filter.
    fn pieces(&mut self, family: Family, key: &[u8]) -> Vec<(i64, Vec<u8>)> {
        let (mut pieces, mut iterator) = (Vec::new(), 0);
        let scandump = family.command("SCANDUMP");
        loop {
            let next = self.live.run(&[&scandump, key, iterator.to_string().as_bytes()]);
            let Value::Array(piece) = next else { return pieces };
            iterator = int(&piece[0]);
            if iterator == 0 {
                return pieces;
            }
            pieces.push((iterator, bulk(&piece[1]).to_vec()));
        }
    }

    /// Asserts that no item was lost. Returns true if there was a filter.
    fn check(&mut self) -> bool {
        let mut filters = 0;
        for (key, known) in self.keys.iter() {
            let key = String::from_utf8(key.clone()).expect("one of the keys");
            let inside: Vec<&Vec<u8>> = known.inside.iter().collect();
            self.live.assert_contains(&key, &inside);
            if let Some(card) = known.card {
                assert_eq!(self.live.card(&key), card, "{key}");
            }
            self.live.serves(&key);
            filters += 1;
        }
        filters > 0
    }
}

/// The family of a header.
fn family(u: &mut Unstructured) -> Result<Family> {
    Ok(if u.ratio(1, 3)? { Family::Cuckoo } else { Family::Bloom })
}

fn case(live: &mut Live, seed: u64, bytes: &[u8]) -> bool {
    live.begin();
    live.protocol = Protocol::of_case(seed);
    let mut u = Unstructured::new(bytes);
    let mut run = Run { live, keys: Keys::default() };
    while !u.is_empty() && run.step(&mut u).is_ok() {}
    let is_accepted = run.check();
    match seed % 16 {
        0 | 4 => live.assert_survives(&KEYS, |live| live.reload("RELOAD")),
        8 | 12 => live.assert_survives(&KEYS, |live| live.reload("LOADAOF")),
        3 if seed % 64 == 3 => live.assert_survives(&KEYS, Live::restart),
        _ => {}
    }
    is_accepted
}

fn start(kind: &Kind) -> Live {
    Live::start(kind, Setup::new().line("appendonly yes").line("appendfsync no"))
}

#[test]
fn random_commands_leave_a_server_that_keeps_its_filters() {
    for_newest_servers(|kind| {
        let mut live = start(kind);
        let mut cases = Cases::of(&format!("resp on {}", kind.name), 40);
        let mut on_this_server = 0;
        while let Some(case) = cases.next() {
            if on_this_server == CASES_A_SERVER {
                live = start(kind);
                on_this_server = 0;
            }
            on_this_server += 1;
            cases.accept(self::case(&mut live, case.seed, &case.bytes));
        }
        live.begin();
        cases.assert_not_only_errors();
    });
}
