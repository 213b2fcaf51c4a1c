//! Recipes that replace a filter by another one on the same server.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Mutex, PoisonError};

use bloomline_harness::{Client, Setup, arguments, for_each_server, show, until};
use redis::Value;

use super::page::{inline, lines};
use super::programs::{Address, CUCKOO, Program};
use crate::cluster::traffic::{assert_has_rounds, while_adding};

const PRODUCTION: &str = "docs/how-to/production.md";
const FILL: &str = "### Fill a new filter";

/// What the programs do while a filter is filled again.
const OLD_ONLY: usize = 0;
const BOTH: usize = 1;
const RENAMED_ONLY: usize = 2;

/// A program runs, or is requested to stop before its next call, or has stopped.
const RUNS: usize = 0;
const STOPS: usize = 1;
const HAS_STOPPED: usize = 2;

/// Items that were added, as a database stores them.
#[derive(Default)]
struct Store(Mutex<Vec<Vec<u8>>>);

impl Store {
    fn add(&self, items: &[&[u8]]) {
        let mut stored = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stored.extend(items.iter().map(|item| item.to_vec()));
    }

    fn items(&self) -> Vec<Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Adds an item to both filters by the calls of the page, and returns the answer that it uses.
fn add_to_both(program: &mut Program<'_>, transaction: &[String], item: &[u8]) -> Value {
    let mut reply = Value::Nil;
    for line in transaction {
        let call = arguments(line);
        let words: Vec<&[u8]> =
            call.iter().map(|word| if word == b"item" { item } else { word }).collect();
        reply = program.call(&words);
    }
    match reply {
        Value::Array(mut answers) => answers.pop().expect("the answer of the last call"),
        other => panic!("EXEC returned {}", show(&other)),
    }
}

#[test]
fn a_filter_is_filled_again_without_a_lost_item() {
    let transaction = lines(PRODUCTION, FILL, "");
    let [reserve, rename, unlink] =
        ["BF.RESERVE", "RENAME", "UNLINK"].map(|command| inline(PRODUCTION, FILL, command));
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        client.ok("BF.RESERVE seen 0.0001 1000");
        let address = Address::new(server.socket());
        let (mut program, store) = (Program::new(&address), Store::default());
        let phase = AtomicUsize::new(OLD_ONLY);
        let run = |args: &[&[u8]]| {
            if args[0] != b"BF.MADD" || phase.load(SeqCst) != BOTH {
                let reply = program.call(args);
                if args[0] == b"BF.MADD" {
                    store.add(&args[2..]);
                }
                return reply;
            }
            let add = |item: &&[u8]| add_to_both(&mut program, &transaction, item);
            Value::Array(args[2..].iter().map(add).collect())
        };
        let rounds = while_adding(&["seen"], run, |rounds| {
            rounds.pass(5);
            client.ok(&reserve);
            phase.store(BOTH, SeqCst);
            // The call of the moment may still be one to the old filter only.
            rounds.pass(2);
            for items in store.items().chunks(1000) {
                client.items("BF.MADD", "seen:new", items);
            }
            rounds.pass(2);
            client.ok(&rename);
            rounds.pass(2);
            phase.store(RENAMED_ONLY, SeqCst);
            rounds.pass(2);
            assert_eq!(client.ask(&unlink), ":1");
            rounds.pass(2);
        });
        assert_eq!(client.ask("BF.INFO seen CAPACITY"), "*[:1000000]");
        assert_has_rounds(&mut client, &["seen"], rounds);
    });
}

#[test]
fn a_cuckoo_filter_is_filled_again_while_programs_wait() {
    let rename = inline(PRODUCTION, FILL, "RENAME").replace("seen", CUCKOO);
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        client.ok("CF.RESERVE members 1000 ERROR 0.000001");
        let address = Address::new(server.socket());
        let (mut program, store) = (Program::new(&address), Store::default());
        let phase = AtomicUsize::new(RUNS);
        let run = |args: &[&[u8]]| {
            if phase.compare_exchange(STOPS, HAS_STOPPED, SeqCst, SeqCst).is_ok() {
                until("the refill", || (phase.load(SeqCst) == RUNS).then_some(()));
            }
            if args[0] == b"BF.MADD" {
                store.add(&args[2..]);
                // Somebody who leaves at once.
                program.call(&[b"CF.ADD", CUCKOO.as_bytes(), b"guest"]);
                program.call(&[b"CF.DEL", CUCKOO.as_bytes(), b"guest"]);
            }
            program.run(args)
        };
        let rounds = while_adding(&[CUCKOO], run, |rounds| {
            rounds.pass(5);
            phase.store(STOPS, SeqCst);
            until("the program to stop", || (phase.load(SeqCst) == HAS_STOPPED).then_some(()));
            client.ok("CF.RESERVE members:new 100000 ERROR 0.000001");
            for items in store.items().chunks(1000) {
                let call: [&[u8]; 3] = [b"CF.INSERT", b"members:new", b"ITEMS"];
                let items: Vec<&[u8]> = items.iter().map(Vec::as_slice).collect();
                client.run(&[&call[..], &items].concat());
            }
            client.ok(&rename);
            phase.store(RUNS, SeqCst);
            rounds.pass(5);
        });
        assert_has_rounds(&mut client, &[CUCKOO], rounds);
        assert_eq!(client.ask("CF.EXISTS members guest"), ":0");
    });
}

/// The parts of a crawl, which programs fill, and the filter into which they are merged.
const PARTS: [&str; 2] = ["{crawl}:1", "{crawl}:2"];
const MERGED: &str = "{crawl}:all";

/// True for the items that one of the filters has.
fn found(program: &mut Program<'_>, items: &[&[u8]]) -> Value {
    let mut found = vec![false; items.len()];
    for key in PARTS.iter().chain(&[MERGED]) {
        let reply = program.call(&[&[b"BF.MEXISTS", key.as_bytes()], items].concat());
        let Value::Array(answers) = reply else { panic!("{}", show(&reply)) };
        for (found, answer) in found.iter_mut().zip(answers) {
            *found |= answer == Value::Int(1);
        }
    }
    Value::Array(found.into_iter().map(|found| Value::Int(found.into())).collect())
}

#[test]
fn parts_are_merged_while_programs_add_to_them() {
    let session = lines("docs/how-to/merging.md", "## Merge filters", "redis-cli");
    let calls = |command: &str| -> Vec<String> {
        let calls = session.iter().filter_map(|line| line.strip_prefix("> "));
        calls.filter(|call| call.starts_with(command)).map(str::to_owned).collect()
    };
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client: Client = server.resp2();
        for reserve in calls("BF.RESERVE") {
            client.ok(&reserve.replace(" 1000 ", " 1000000 "));
        }
        let merge = calls("BF.MERGE").pop().expect("a merge");
        let address = Address::new(server.socket());
        let (mut program, mut part, is_merged) =
            (Program::new(&address), PARTS.iter().cycle(), AtomicUsize::new(0));
        let run = |args: &[&[u8]]| {
            if args[0] == b"BF.MEXISTS" {
                return found(&mut program, &args[2..]);
            }
            let is_merged = is_merged.load(SeqCst) == 1;
            let key = if is_merged { MERGED } else { part.next().expect("a cycle") };
            program.call(&[&[args[0], key.as_bytes()], &args[2..]].concat())
        };
        let rounds = while_adding(&[MERGED], run, |rounds| {
            rounds.pass(5);
            client.ok(&merge);
            rounds.pass(5);
            is_merged.store(1, SeqCst);
            // The call of the moment may still be one to a part.
            rounds.pass(2);
            client.ok(&merge);
            rounds.pass(5);
        });
        assert_has_rounds(&mut client, &[MERGED], rounds);
    });
}
