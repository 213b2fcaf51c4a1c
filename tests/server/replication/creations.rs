//! What creates a filter replaces what a replica or a file holds in the key: every call of every
//! writing command, over every value that a client of a writable replica may have put there.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Write;

use bloomline_harness::{
    Client, Kind, Replica, Setup, append_only_file, arguments, for_each_server, show, until,
};
use bloomline_reference::valkey::{FIXED_SEED, Model};
use redis::Value;

use crate::inspect::{digest, text, word};
use crate::valkey_bloom::primary::{EMPTY, Primary};

type Command = Vec<Vec<u8>>;

/// Calls of the writing commands that create no filter.
const NO_CREATIONS: [&str; 6] = [
    "BF.ROTATE k",
    "BF.COMPACT k",
    "CF.DEL k a",
    "CF.MDEL k a",
    "CF.BULKDEL k LINES a",
    "CF.COMPACT k",
];

/// Calls of a client that create a filter. The filter [`SOURCE`] exists.
const OF_CLIENTS: [&str; 21] = [
    "BF.RESERVE k 0.01 100",
    "BF.RESERVE k 0.01 100 WINDOW 1000 TTL 1000",
    "BF.RESERVE k 0.01 100 LAYOUT redisbloom",
    "BF.RESERVE k 0.01 100 LAYOUT valkey-bloom TTL 1000",
    "BF.ADD k a",
    "BF.MADD k a b",
    "BF.MADD k 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17",
    "BF.INSERT k CAPACITY 50 ITEMS a b",
    "BF.INSERT k CAPACITY 50 LAYOUT redisbloom ITEMS a b",
    "BF.INSERT k CAPACITY 50 TIGHTENING 0.5 ITEMS a b",
    "BF.INSERT k LAYOUT valkey-bloom",
    "BF.BULKADD k LINES a",
    "BF.MERGE k s",
    "CF.RESERVE k 100",
    "CF.RESERVE k 100 LAYOUT redisbloom TTL 1000",
    "CF.ADD k a",
    "CF.ADDNX k a",
    "CF.INSERT k CAPACITY 50 ITEMS a b",
    "CF.INSERT k LAYOUT redisbloom ITEMS a b",
    "CF.INSERTNX k ITEMS a b",
    "CF.BULKADD k LINES a",
];

/// What BF.MERGE merges.
const SOURCE: [&str; 2] = ["BF.RESERVE s 0.01 100 SEED 7", "BF.ADD s a"];

/// Filters of the key to which a call may have added where it was made. It adds to them, since a
/// replica cannot see whether it did.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AddsTo {
    Nothing,
    /// Filters of its family.
    All,
    /// Filters in valkey-bloom's layout.
    ValkeyBlooms,
}

/// Calls in the stream of a primary with RedisBloom or valkey-bloom.
const OF_OTHER_MODULES: [(&str, AddsTo); 11] = [
    ("BF.RESERVE k 0.01 100", AddsTo::Nothing),
    ("BF.ADD k a", AddsTo::All),
    ("BF.MADD k a b", AddsTo::All),
    ("BF.INSERT k CAPACITY 50 ITEMS a", AddsTo::All),
    (
        "BF.INSERT k CAPACITY 50 ERROR 0.01 TIGHTENING 0.5 SEED abcdefghijklmnopqrstuvwxyz012345 \
         EXPANSION 2 ITEMS a",
        AddsTo::ValkeyBlooms,
    ),
    (
        "BF.INSERT k CAPACITY 50 ERROR 0.01 TIGHTENING 0.5 SEED abcdefghijklmnopqrstuvwxyz012345 \
         NONSCALING",
        AddsTo::Nothing,
    ),
    ("CF.RESERVE k 100", AddsTo::Nothing),
    ("CF.ADD k a", AddsTo::All),
    ("CF.ADDNX k a", AddsTo::All),
    ("CF.INSERT k CAPACITY 50 ITEMS a", AddsTo::All),
    ("CF.INSERTNX k ITEMS a", AddsTo::All),
];

/// What the key holds: how a client makes it, with the item `old`.
const HELD: [&str; 6] = [
    "SET k old",
    "RPUSH k old",
    "CF.ADD k old",
    "BF.INSERT k CAPACITY 7 ERROR 0.1 ITEMS old",
    "BF.INSERT k CAPACITY 7 LAYOUT redisbloom ITEMS old",
    "BF.INSERT k CAPACITY 7 LAYOUT valkey-bloom ITEMS old",
];

/// A call that creates a filter in the key `k`, as it arrives in a stream.
struct Creation {
    line: &'static str,
    stream: Vec<Command>,
    adds_to: AddsTo,
}

/// A value of the key `k`, as the commands that make it.
struct Held {
    line: &'static str,
    commands: Vec<Command>,
    is_expired: bool,
}

impl Creation {
    fn family(&self) -> &str {
        &self.line[..2]
    }

    /// True if the call adds to this value.
    fn adds_to(&self, held: &Held) -> bool {
        held.line.starts_with(self.family())
            && match self.adds_to {
                AddsTo::Nothing => false,
                AddsTo::All => true,
                AddsTo::ValkeyBlooms => held.line.contains("valkey-bloom"),
            }
    }
}

/// The creations, the values that a key may hold, and the source of a merge.
struct Cases {
    creations: Vec<Creation>,
    held: Vec<Held>,
    source: Vec<Command>,
}

impl Cases {
    /// What a primary replicates, and what primaries with other modules do.
    fn recorded(kind: &Kind) -> Self {
        let server = Setup::new().start(kind);
        let (mut client, mut link) = (server.resp2(), Replica::attach(&server));
        let mut run = |lines: &[&str]| {
            for line in lines {
                let reply = client.ask(line);
                assert!(!reply.starts_with('-'), "{line}: {reply}");
            }
            let received = link.received(&server);
            if lines != SOURCE.as_slice() {
                assert_eq!(client.ask("DEL k"), ":1", "{lines:?} creates nothing");
                link.received(&server);
            }
            received
        };
        let source = run(&SOURCE);
        let creation = |line, stream, adds_to| Creation { line, stream, adds_to };
        let replicated = |line| creation(line, run(&[line]), AddsTo::Nothing);
        let mut creations: Vec<_> = OF_CLIENTS.into_iter().map(replicated).collect();
        for (line, adds_to) in OF_OTHER_MODULES {
            creations.push(creation(line, vec![arguments(line)], adds_to));
        }
        let mut model = Model::new(10, 0.01, 2, 0.5, FIXED_SEED);
        model.insert(b"a");
        let payload = vec![[arguments("BF.LOAD k"), vec![model.load_payload()]].concat()];
        creations.push(creation("BF.LOAD k <payload>", payload, AddsTo::Nothing));
        let mut held = Vec::new();
        for line in HELD {
            let commands = run(&[line]);
            let expired = [commands.clone(), vec![arguments("PEXPIREAT k 1")]].concat();
            held.push(Held { line, commands, is_expired: false });
            held.push(Held { line, commands: expired, is_expired: true });
        }
        Self { creations, held, source }
    }
}

/// How the calls of a creation arrive.
#[derive(Clone, Copy, Debug)]
enum Frame {
    /// As the primary sends them.
    AsSent,
    /// In one transaction; the effects of a script arrive so, too.
    Transaction,
}

impl Frame {
    fn of(self, stream: &[Command]) -> Vec<Command> {
        match self {
            Self::AsSent => stream.to_vec(),
            Self::Transaction => {
                let is_call = |call: &&Command| call[0] != b"MULTI" && call[0] != b"EXEC";
                let calls = stream.iter().filter(is_call).cloned();
                [arguments("MULTI")].into_iter().chain(calls).chain([arguments("EXEC")]).collect()
            }
        }
    }
}

/// Commands with another key in place of `k`.
fn with_key(commands: &[Command], key: &str) -> Vec<Command> {
    let word = |word: &Vec<u8>| if word == b"k" { key.into() } else { word.clone() };
    commands.iter().map(|command| command.iter().map(word).collect()).collect()
}

/// The key in which the creation meets the value; the key of [`Cases::missing`] was missing.
fn key(creation: usize, held: usize, frame: Frame) -> String {
    format!("{creation}:{held}:{frame:?}")
}

const FRAMES: [Frame; 2] = [Frame::AsSent, Frame::Transaction];

impl Cases {
    /// The number of the value that stands for a missing key.
    fn missing(&self) -> usize {
        self.held.len()
    }

    /// Calls `see` with each creation, the number of each value, and each frame.
    fn each(&self, mut see: impl FnMut(&Creation, usize, Frame, String)) {
        for (number, creation) in self.creations.iter().enumerate() {
            for held in 0..=self.missing() {
                for frame in FRAMES {
                    see(creation, held, frame, key(number, held, frame));
                }
            }
        }
    }

    /// The commands that make the values.
    fn values(&self) -> Vec<Command> {
        let mut commands = Vec::new();
        self.each(|_, held, _, key| {
            if let Some(held) = self.held.get(held) {
                commands.extend(with_key(&held.commands, &key));
            }
        });
        commands
    }

    /// The creations, and a last key.
    fn stream(&self) -> Vec<Command> {
        let mut commands = self.source.clone();
        self.each(|creation, _, frame, key| {
            commands.extend(with_key(&frame.of(&creation.stream), &key));
        });
        commands.push(arguments("SET end 1"));
        commands
    }

    /// Asserts that each key holds the filter that a missing key holds, or one with the added item.
    fn assert_created(&self, client: &mut Client) {
        for (number, creation) in self.creations.iter().enumerate() {
            let state = |client: &mut Client, key: &str| {
                (digest(client, key), client.ask(&format!("PTTL {key}")) == ":-1")
            };
            let expected = state(client, &key(number, self.missing(), Frame::AsSent));
            for (held, at) in self.held.iter().zip(0..) {
                for frame in FRAMES {
                    let key = key(number, at, frame);
                    let case = format!("{} over {held:?}, {frame:?}", creation.line);
                    if !creation.adds_to(held) {
                        assert_eq!(state(client, &key), expected, "{case}");
                    } else if !held.is_expired {
                        for item in ["old", "a"] {
                            let exists = format!("{}.EXISTS {key} {item}", creation.family());
                            assert_eq!(client.ask(&exists), ":1", "{case}");
                        }
                    }
                }
            }
        }
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}{}", self.line, if self.is_expired { ", expired" } else { "" })
    }
}

#[test]
fn a_creation_replaces_what_a_writable_replica_holds() {
    for_each_server(|kind| {
        let (cases, primary) = (Cases::recorded(kind), Primary::start(EMPTY));
        let replica = Setup::new()
            .debug()
            .line("replica-read-only no")
            .line(format!("replicaof 127.0.0.1 {}", primary.port))
            .start(kind);
        let mut client = replica.resp2();
        client.wait_for("master_link_status", "up");
        // Otherwise the server deletes the expired keys, which its clients have written.
        client.ok("DEBUG SET-ACTIVE-EXPIRE 0");
        for command in cases.values() {
            let reply = show(&client.run(&command));
            assert!(!reply.starts_with('-'), "{}: {reply}", command[0].escape_ascii());
        }
        let held = cases.creations.len() * cases.held.len() * FRAMES.len();
        assert_eq!(client.ask("DBSIZE"), format!(":{held}"));
        primary.link().write_all(&append_only_file(&cases.stream())).expect("an open link");
        until("the last key", || (client.ask("EXISTS end") == ":1").then_some(()));
        // An error of a call of the primary ends the process with some settings.
        assert_eq!(client.info_number("total_error_replies"), 0);
        cases.assert_created(&mut client);
    });
}

#[test]
fn a_creation_in_a_file_replaces_what_the_file_has_before() {
    for_each_server(|kind| {
        let cases = Cases::recorded(kind);
        let file = [vec![arguments("SELECT 0")], cases.values(), cases.stream()].concat();
        let server = Setup::new().debug().append_file(append_only_file(&file)).start(kind);
        cases.assert_created(&mut server.resp2());
        let log = server.log();
        assert!(!log.contains("is refused here"), "{log}");
    });
}

/// The names of the commands that write, as the server reports them.
fn writing(client: &mut Client) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for family in ["BF", "CF"] {
        let Value::Array(lines) = client.call(&format!("{family}.HELP")) else {
            panic!("no lines of {family}.HELP")
        };
        let lines = lines.iter().map(text).filter(|line| line.starts_with(family));
        names.extend(lines.filter_map(|line| Some(line.split(' ').next()?.to_owned())));
    }
    names.retain(|name| client.ask(&format!("COMMAND INFO {name}")).contains("+write"));
    names
}

#[test]
fn every_writing_command_creates_as_tested_or_not_at_all() {
    for_each_server(|kind| {
        let (cases, server) = (Cases::recorded(kind), Setup::new().start(kind));
        let mut client = server.resp2();
        for line in NO_CREATIONS {
            client.call(line);
            assert_eq!(client.ask("EXISTS k"), ":0", "{line}");
        }
        let calls = cases.creations.iter().flat_map(|creation| &creation.stream);
        let in_streams = calls.map(|call| String::from_utf8_lossy(&call[0]).to_uppercase());
        let mut tested: BTreeSet<_> = in_streams.filter(|name| name.contains('.')).collect();
        let lines = cases.creations.iter().map(|creation| creation.line).chain(NO_CREATIONS);
        tested.extend(lines.map(|line| word(line, 0).to_owned()));
        assert_eq!(tested, writing(&mut client));
    });
}
