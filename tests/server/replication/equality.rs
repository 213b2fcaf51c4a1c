//! After every command, a replica, the append-only file and the RDB file have the filter that the
//! primary has; and a command replicates something if and only if it has changed the filter.
//!
//! Random programs over all kinds of filters and all commands that write. Half of the programs add
//! each item up to three times, compact the filter, and fill it up: the entries of a cuckoo filter
//! then move most.

use std::collections::BTreeMap;

use bloomline_harness::{Client, Kind, Random, Server, Setup, bulk, for_newest_servers, show};
use redis::Value;

/// The key of the filter.
const KEY: &str = "k";

/// Options of BF.RESERVE and CF.RESERVE behind the capacity: the family, what is before the capacity,
/// and what is behind it.
const KINDS: [(&str, &str, &str); 16] = [
    ("CF", "", "ERROR 0.01 EXPANSION 0"),
    ("CF", "", "ERROR 0.0001 EXPANSION 0"),
    ("CF", "", "ERROR 0.01 EXPANSION 1"),
    ("CF", "", "ERROR 0.0001 EXPANSION 2"),
    ("CF", "", "BUCKETSIZE 2 MAXITERATIONS 20 EXPANSION 0 LAYOUT REDISBLOOM"),
    ("CF", "", "BUCKETSIZE 4 MAXITERATIONS 50 EXPANSION 2 LAYOUT REDISBLOOM"),
    ("CF", "", "BUCKETSIZE 1 MAXITERATIONS 500 EXPANSION 1 LAYOUT REDISBLOOM"),
    ("BF", "0.01", ""),
    ("BF", "0.0001", "EXPANSION 4"),
    ("BF", "0.001", "EXPANSION 1"),
    ("BF", "0.001", "NONSCALING"),
    ("BF", "0.001", "LAYOUT REDISBLOOM"),
    ("BF", "0.001", "NONSCALING LAYOUT REDISBLOOM"),
    ("BF", "0.001", "GENERATIONS 4"),
    ("BF", "0.001", "LAST"),
    ("BF", "0.001", "WINDOW 1000"),
];

/// Random steps of a program.
const STEPS: usize = 25;

#[test]
fn replica_and_files_are_equal_after_every_command() {
    for_newest_servers(|kind| {
        let mut trial = Trial::start(kind);
        for (seed, row) in (1..).zip(&KINDS) {
            trial.random = Random(seed);
            for _ in 0..3 {
                trial.fill_compact_and_fill_up(row);
                trial.take_random_steps(row);
            }
        }
        trial.assert_equal_after_a_kill();
        println!("{}: {} commands, {} changes", kind.name, trial.commands, trial.changes);
        assert!(trial.changes > 500, "{} changes", trial.changes);
    });
}

/// A primary with an append-only file, its replica, and what the filter must contain.
struct Trial {
    primary: Server,
    client: Client,
    _replica: Server,
    mirror: Client,
    random: Random,
    family: &'static str,
    /// Acknowledged additions of each item, less its deletions.
    copies: BTreeMap<u32, u32>,
    /// True if the filter forgets items.
    forgets: bool,
    /// The number of the next new item.
    next: u32,
    commands: usize,
    changes: usize,
}

impl Trial {
    fn start(kind: &Kind) -> Self {
        let lines = |setup: Setup| setup.debug().line("repl-ping-replica-period 3600");
        let primary = lines(Setup::new()).on_tcp().append_only().start(kind);
        let replica = lines(Setup::new()).follows(&primary).start(kind);
        let (client, mut mirror) = (primary.resp2(), replica.resp2());
        mirror.wait_for("master_link_status", "up");
        Self {
            primary,
            client,
            _replica: replica,
            mirror,
            random: Random(0),
            family: "BF",
            copies: BTreeMap::new(),
            forgets: false,
            next: 0,
            commands: 0,
            changes: 0,
        }
    }

    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        (self.random.next() % end as u64) as usize
    }

    /// Begins a program with an empty filter and empty files. Returns its capacity.
    fn reserve(&mut self, &(family, before, behind): &(&'static str, &str, &str)) -> usize {
        self.client.ok("FLUSHALL");
        self.client.rewrite_append_only_file();
        (self.family, self.copies) = (family, BTreeMap::new());
        self.forgets = ["GENERATIONS", "LAST", "WINDOW"].iter().any(|word| behind.contains(word));
        let digits = 1 + self.below(3);
        let capacity = 8 + self.below(4 * 10usize.pow(digits as u32));
        let seed = if behind.contains("REDISBLOOM") { String::new() } else { "SEED 1800".into() };
        self.run(&format!("{family}.RESERVE {KEY} {before} {capacity} {behind} {seed}"));
        capacity
    }

    fn fill_compact_and_fill_up(&mut self, row: &(&'static str, &str, &str)) {
        let capacity = self.reserve(row);
        let (copies, share) = (1 + self.below(3), 10 + self.below(80));
        let items: Vec<u32> = self.new_items((capacity * share / 100 / copies).max(1));
        for _ in 0..copies {
            self.add(&items, 0);
        }
        if self.family == "CF" && self.below(2) == 0 {
            self.delete(&items[..items.len() / 3], 0);
        }
        self.run(&format!("{}.COMPACT {KEY}", self.family));
        self.run(&format!("{}.COMPACT {KEY}", self.family));
        for _ in 0..4 {
            let items = self.new_items((capacity / 4).max(1));
            self.add(&items, 1);
        }
        self.run(&format!("{}.COMPACT {KEY}", self.family));
        self.assert_kept(&format!("{row:?}, capacity {capacity}"));
    }

    fn take_random_steps(&mut self, row: &(&'static str, &str, &str)) {
        let capacity = self.reserve(row);
        for _ in 0..STEPS {
            let count = 1 + self.below((capacity / 4).clamp(1, 300));
            let form = self.below(4);
            match self.below(12) {
                0..=3 => {
                    let items = self.new_items(count);
                    self.add(&items, form);
                }
                4 => {
                    let items = self.some_items(count);
                    self.add(&items, form);
                }
                5 => {
                    let items = self.some_items(count);
                    self.delete(&items, form);
                }
                6 => self.run(&format!("{}.COMPACT {KEY}", self.family)),
                7 if self.family == "BF" => self.merge(count),
                7 => self.delete_all_copies(),
                8 if self.forgets => self.rotate(),
                9 => self.load_own_chunk(),
                10 => self.replace_by_copy(),
                _ => {
                    let items = self.some_items(1);
                    self.add(&items, 0);
                }
            }
        }
        self.assert_kept(&format!("{row:?}, capacity {capacity}"));
    }

    fn new_items(&mut self, count: usize) -> Vec<u32> {
        let first = self.next;
        self.next += count as u32;
        (first..self.next).collect()
    }

    /// Items that were added.
    fn some_items(&mut self, count: usize) -> Vec<u32> {
        let all: Vec<u32> = self.copies.keys().copied().collect();
        if all.is_empty() {
            return self.new_items(1);
        }
        (0..count).map(|_| all[self.below(all.len())]).collect()
    }

    /// Adds items by one of the commands.
    fn add(&mut self, items: &[u32], form: usize) {
        let (name, head, is_packed) = match (self.family, form) {
            (_, 1) => ("BULKADD", vec!["FIXED", "4"], true),
            ("CF", 2) => ("INSERTNX", vec!["ITEMS"], false),
            (_, 2) => ("INSERT", vec!["NOCREATE", "ITEMS"], false),
            ("CF", _) if items.len() == 1 => ("ADD", vec![], false),
            ("CF", _) => ("INSERT", vec!["ITEMS"], false),
            (_, _) if items.len() == 1 => ("ADD", vec![], false),
            (_, _) => ("MADD", vec![], false),
        };
        let answers = self.run_with(name, &head, items, is_packed);
        for (item, is_added) in items.iter().zip(answers) {
            // An addition that a Bloom filter or CF.INSERTNX answers with 0 has found the item.
            let is_copy = self.family == "CF" && name != "INSERTNX";
            match self.copies.get_mut(item) {
                Some(copies) => *copies += u32::from(is_added && is_copy),
                None if is_added => drop(self.copies.insert(*item, 1)),
                None => {}
            }
        }
    }

    /// Deletes items, each as often as it was added at most.
    fn delete(&mut self, items: &[u32], form: usize) {
        let mut left = self.copies.clone();
        let is_there = |item: &&u32| match left.get_mut(item) {
            Some(copies) if *copies > 0 => {
                *copies -= 1;
                true
            }
            _ => false,
        };
        let items: Vec<u32> = items.iter().filter(is_there).copied().collect();
        if self.family == "BF" || items.is_empty() {
            return;
        }
        let (name, head) = match form {
            1 => ("BULKDEL", &["FIXED", "4"][..]),
            _ if items.len() == 1 => ("DEL", &[][..]),
            _ => ("MDEL", &[][..]),
        };
        let answers = self.run_with(name, head, &items, form == 1);
        assert!(answers.iter().all(|is_deleted| *is_deleted), "an item of the filter is denied");
        self.copies = left;
        self.copies.retain(|_, copies| *copies > 0);
    }

    fn delete_all_copies(&mut self) {
        let (item, copies) = match self.copies.first_key_value() {
            Some((item, copies)) => (*item, *copies),
            None => return,
        };
        self.delete(&vec![item; copies as usize], 0);
    }

    /// Merges a copy that has further items into the filter, or an equal copy.
    fn merge(&mut self, count: usize) {
        self.client.ask(&format!("COPY {KEY} other REPLACE"));
        let count = count * self.below(2);
        let items = self.new_items(count);
        for item in &items {
            self.client.run(&[&b"BF.ADD"[..], b"other", &item.to_be_bytes()]);
        }
        self.run(&format!("BF.MERGE {KEY} other"));
    }

    fn rotate(&mut self) {
        self.run(&format!("BF.ROTATE {KEY}"));
        let at = 1_000 * (1 + self.below(1 << 20));
        self.run(&format!("BF.ROTATE {KEY} AT {at}"));
    }

    /// Loads a chunk of the filter that it has already: nothing changes.
    fn load_own_chunk(&mut self) {
        let chunks = self.client.chunks(KEY);
        if let Some((iterator, data)) = chunks.last().filter(|(iterator, _)| *iterator > 1) {
            let (name, iterator) = (format!("{}.LOADCHUNK", self.family), iterator.to_string());
            self.step(&[name.as_bytes(), KEY.as_bytes(), iterator.as_bytes(), data]);
        }
    }

    fn replace_by_copy(&mut self) {
        self.client.ask(&format!("COPY {KEY} other REPLACE"));
        assert_eq!(self.client.ask(&format!("RENAME other {KEY}")), "+OK");
        self.assert_equal("RENAME of a copy");
    }

    /// Runs a command line.
    fn run(&mut self, line: &str) {
        let args: Vec<&[u8]> = line.split_whitespace().map(str::as_bytes).collect();
        self.step(&args);
    }

    /// Runs a command with items. Returns which of them it has added or deleted.
    fn run_with(&mut self, name: &str, head: &[&str], items: &[u32], is_packed: bool) -> Vec<bool> {
        let name = format!("{}.{name}", self.family);
        let bytes: Vec<[u8; 4]> = items.iter().map(|item| item.to_be_bytes()).collect();
        let packed = bytes.concat();
        let mut args: Vec<&[u8]> = vec![name.as_bytes(), KEY.as_bytes()];
        args.extend(head.iter().map(|word| word.as_bytes()));
        if is_packed {
            args.push(&packed);
        } else {
            args.extend(bytes.iter().map(|item| &item[..]));
        }
        match self.step(&args) {
            Value::Array(parts) if is_packed => {
                let bits = bulk(&parts[1]);
                (0..items.len())
                    .map(|at| bits.get(at / 8).is_some_and(|byte| byte << (at % 8) & 0x80 != 0))
                    .collect()
            }
            Value::Array(answers) => answers.iter().map(|one| *one == Value::Int(1)).collect(),
            answer => vec![answer == Value::Int(1)],
        }
    }

    /// Runs a command, and compares: with the replica, with the files, and whether it replicated
    /// something with whether it changed something.
    fn step(&mut self, args: &[&[u8]]) -> Value {
        let before = (digest(&mut self.client), self.client.info_number("master_repl_offset"));
        let reply = self.client.run(args);
        let after = (digest(&mut self.client), self.client.info_number("master_repl_offset"));
        let shown: Vec<_> = args.iter().take(8).map(|arg| arg.escape_ascii().to_string()).collect();
        let shown = shown.join(" ");
        let (is_changed, is_replicated) = (before.0 != after.0, before.1 != after.1);
        assert_eq!(
            is_replicated,
            is_changed,
            "'{shown}' replicated: {is_replicated}, changed the filter: {is_changed}; {}",
            show(&reply)
        );
        self.commands += 1;
        if is_changed {
            self.changes += 1;
            self.assert_equal(&shown);
        }
        reply
    }

    fn assert_equal(&mut self, after: &str) {
        let own = digest(&mut self.client);
        assert_eq!(self.client.ask("WAIT 1 60000"), ":1");
        assert_eq!(digest(&mut self.mirror), own, "the replica, after {after}");
        self.client.ok("DEBUG LOADAOF");
        assert_eq!(digest(&mut self.client), own, "the append-only file, after {after}");
        self.client.ok("DEBUG RELOAD");
        assert_eq!(digest(&mut self.client), own, "the RDB file, after {after}");
    }

    /// Primary and replica contain every item that was acknowledged.
    fn assert_kept(&mut self, of: &str) {
        if self.forgets {
            return;
        }
        let items: Vec<[u8; 4]> = self.copies.keys().map(|item| item.to_be_bytes()).collect();
        let command = format!("{}.MEXISTS", self.family);
        for client in [&mut self.client, &mut self.mirror] {
            for part in items.chunks(1000) {
                let found = show(&client.items(&command, KEY, part));
                assert!(!found.contains(":0"), "an acknowledged item is denied: {of}");
            }
        }
    }

    fn assert_equal_after_a_kill(&mut self) {
        let own = digest(&mut self.client);
        self.primary.kill();
        self.primary.revive();
        self.client = self.primary.resp2();
        assert_eq!(digest(&mut self.client), own, "after a restart from the append-only file");
    }
}

fn digest(client: &mut Client) -> String {
    client.ask(&format!("DEBUG DIGEST-VALUE {KEY}"))
}
