//! A client that runs random steps on filters of its own, one of each kind, and checks the replies.

use bloomline_harness::{Client, Random, bulk, int, show, until};
use redis::Value;

use super::deletable::Deletables;
use super::kinds::KINDS;
use super::model::{Known, Tally};

/// A step with a filter, which exists.
type Step = fn(&mut Life, &str);

/// The steps: how often each is made, its name, and what it does.
const STEPS: [(u64, &str, Step); 15] = [
    (120, "BF.ADD", |life, key| life.add(key, 1, add_one)),
    (60, "BF.MADD", |life, key| life.add(key, 200, add_many)),
    (30, "BF.INSERT", |life, key| life.add(key, 50, insert)),
    (60, "BF.BULKADD", |life, key| life.add(key, 400, add_packed)),
    (40, "repeated BF.MADD", Life::add_again),
    (120, "present", Life::look_up_present),
    (120, "absent", Life::look_up_absent),
    (20, "all", Life::look_up_all),
    (15, "BF.COMPACT", Life::compact),
    (15, "BF.MERGE", Life::merge),
    (15, "BF.ROTATE", Life::rotate),
    (5, "chunks", Life::copy_by_chunks),
    (5, "COPY", Life::copy),
    (5, "RESTORE", Life::restore),
    (8, "deletion", Life::remove),
];

/// A client and its filters.
pub struct Life {
    pub client: Client,
    name: String,
    random: Random,
    filters: Vec<(String, Known)>,
    deletables: Deletables,
    pub tally: Tally,
}

impl Life {
    pub fn new(client: Client, seed: u64) -> Self {
        let (name, random) = (format!("soak:{seed}"), Random(seed));
        let (filters, deletables) = (Vec::new(), Deletables::new(&name));
        Self { client, name, random, filters, deletables, tally: Tally::default() }
    }

    /// Makes a random step.
    pub fn step(&mut self) {
        if self.random.next().is_multiple_of(6) {
            return self.deletables.step(&mut self.client, &mut self.random, &mut self.tally);
        }
        if self.filters.len() < KINDS.len() {
            let has = |name: &str| self.filters.iter().any(|(_, known)| known.kind.name == name);
            let kind = KINDS.iter().find(|kind| !has(kind.name)).expect("a kind that is missing");
            let key = format!("{}:{}", self.name, kind.name);
            self.client.ok(&format!("BF.RESERVE {key} {}", kind.reserve));
            self.filters.push((key, Known::new(kind)));
            *self.tally.steps.entry("creation").or_default() += 1;
            return;
        }
        let (key, known) = &self.filters[self.random.next() as usize % KINDS.len()];
        let (key, is_full) = (key.clone(), known.is_full());
        let mut left = self.random.next() % STEPS.iter().map(|(weight, ..)| weight).sum::<u64>();
        let chosen = STEPS.iter().find(|(weight, ..)| {
            let is_chosen = left < *weight;
            left = left.saturating_sub(*weight);
            is_chosen
        });
        let &(_, name, step) = chosen.expect("the weights add up");
        *self.tally.steps.entry(name).or_default() += 1;
        if is_full { self.remove(&key) } else { step(self, &key) }
    }

    /// Asserts that every filter contains what it must contain.
    pub fn assert_kept(&mut self) {
        for (key, known) in &self.filters {
            known.assert_kept(&mut self.client, key);
        }
        self.deletables.assert_kept(&mut self.client);
    }

    fn index(&self, key: &str) -> usize {
        self.filters.iter().position(|(known, _)| known == key).expect("one of its keys")
    }

    fn known(&self, key: &str) -> &Known {
        &self.filters[self.index(key)].1
    }

    fn known_mut(&mut self, key: &str) -> &mut Known {
        let index = self.index(key);
        &mut self.filters[index].1
    }

    /// Adds up to `most` new items.
    fn add(&mut self, key: &str, most: u64, add: fn(&mut Client, &str, &[Vec<u8>]) -> Value) {
        let count = 1 + self.random.next() % most;
        let index = self.index(key);
        let known = &mut self.filters[index].1;
        let first = known.attempted();
        let count = count.min(known.kind.most - first);
        let numbers: Vec<u64> = (first..first + count).collect();
        known.add(&mut self.client, key, &numbers, |client, items| new(&add(client, key, items)));
    }

    /// Some numbers of items that were attempted.
    fn some(&mut self, key: &str, most: u64) -> Vec<u64> {
        let attempted = self.known(key).attempted();
        if attempted == 0 {
            return Vec::new();
        }
        let from = self.random.next() % attempted;
        (from..attempted.min(from + most)).collect()
    }

    fn add_again(&mut self, key: &str) {
        let numbers = self.some(key, 50);
        if !numbers.is_empty() {
            let index = self.index(key);
            let known = &mut self.filters[index].1;
            let add = |client: &mut Client, items: &[Vec<u8>]| new(&add_many(client, key, items));
            known.add(&mut self.client, key, &numbers, add);
        }
    }

    fn look_up_all(&mut self, key: &str) {
        let index = self.index(key);
        self.filters[index].1.assert_kept(&mut self.client, key);
    }

    fn look_up_present(&mut self, key: &str) {
        let numbers = self.some(key, 100);
        if !numbers.is_empty() {
            let index = self.index(key);
            let checked = self.filters[index].1.assert_present(&mut self.client, key, &numbers);
            self.tally.present += checked;
        }
    }

    fn look_up_absent(&mut self, key: &str) {
        let first = self.random.next() >> 20;
        let numbers: Vec<u64> = (first..first + 300).collect();
        let index = self.index(key);
        self.filters[index].1.look_up_absent(&mut self.client, key, &numbers, &mut self.tally);
    }

    fn compact(&mut self, key: &str) {
        if int(&self.client.call(&format!("BF.COMPACT {key}"))) > 0 {
            self.known_mut(key).compact();
        }
    }

    /// Adds items to another filter, with which this one is then merged: a copy, or one that is
    /// created in the same way.
    fn merge(&mut self, key: &str) {
        let (known, part) = (self.known(key), format!("{key}:part"));
        let (first, kind) = (known.attempted(), known.kind);
        let count = (1 + self.random.next() % 200).min(kind.most - first);
        if self.random.next().is_multiple_of(2) {
            self.client.ok(&format!("BF.RESERVE {part} {}", kind.reserve));
        } else {
            assert_eq!(self.client.ask(&format!("COPY {key} {part}")), ":1");
        }
        let items = super::model::items(key, first..first + count);
        let new = new(&add_many(&mut self.client, &part, &items));
        let reply = self.client.ask(&format!("BF.MERGE {key} {part}"));
        if reply == "+OK" {
            let index = self.index(key);
            self.filters[index].1.merge(&mut self.client, &new);
        } else {
            // They differ by layers and generations, or would have too many items.
            assert!(reply.starts_with("-ERR cannot merge: "), "{reply}");
        }
        assert_eq!(self.client.ask(&format!("DEL {part}")), ":1");
    }

    fn rotate(&mut self, key: &str) {
        if self.client.ask(&format!("BF.ROTATE {key}")) == "+OK" {
            self.known_mut(key).rotations += 1;
        }
    }

    /// Replaces a filter with its copy, made by BF.SCANDUMP and BF.LOADCHUNK.
    fn copy_by_chunks(&mut self, key: &str) {
        self.client.copy_by_chunks(key, &format!("{key}:copy"));
        self.replace(key);
    }

    fn copy(&mut self, key: &str) {
        assert_eq!(self.client.ask(&format!("COPY {key} {key}:copy")), ":1");
        self.replace(key);
    }

    fn restore(&mut self, key: &str) {
        let (dump, copy) = (self.client.call(&format!("DUMP {key}")), format!("{key}:copy"));
        let reply = self.client.run(&[b"RESTORE", copy.as_bytes(), b"0", bulk(&dump)]);
        assert_eq!(show(&reply), "+OK", "{key}");
        self.replace(key);
    }

    /// Replaces a filter with its copy, which must be equal.
    fn replace(&mut self, key: &str) {
        let Value::Array(digests) =
            self.client.call(&format!("DEBUG DIGEST-VALUE {key} {key}:copy"))
        else {
            panic!("no digests")
        };
        assert_eq!(digests[0], digests[1], "{key}");
        self.client.ok(&format!("RENAME {key}:copy {key}"));
    }

    /// Deletes a filter by DEL, by UNLINK or by a time to live.
    fn remove(&mut self, key: &str) {
        match self.random.next() % 3 {
            0 => assert_eq!(self.client.ask(&format!("DEL {key}")), ":1"),
            1 => assert_eq!(self.client.ask(&format!("UNLINK {key}")), ":1"),
            _ => {
                assert_eq!(self.client.ask(&format!("PEXPIRE {key} 5")), ":1");
                let is_gone = |client: &mut Client| client.ask(&format!("EXISTS {key}")) == ":0";
                until("the filter to expire", || is_gone(&mut self.client).then_some(()));
            }
        }
        assert_eq!(self.client.ask(&format!("BF.EXISTS {key} {key}:0")), ":0");
        let index = self.index(key);
        self.filters.remove(index);
    }
}

/// Whether each item of a call was new, up to the first one for which the filter is full.
fn new(reply: &Value) -> Vec<bool> {
    let answers = match reply {
        Value::Array(answers) => answers,
        one => std::slice::from_ref(one),
    };
    let answer = |answer: &Value| match answer {
        Value::Int(new) => Some(*new == 1),
        other => {
            assert_eq!(show(other), "-ERR non scaling filter is full");
            None
        }
    };
    answers.iter().map_while(answer).collect()
}

fn add_one(client: &mut Client, key: &str, items: &[Vec<u8>]) -> Value {
    client.run(&[b"BF.ADD", key.as_bytes(), &items[0]])
}

fn add_many(client: &mut Client, key: &str, items: &[Vec<u8>]) -> Value {
    client.items("BF.MADD", key, items)
}

fn insert(client: &mut Client, key: &str, items: &[Vec<u8>]) -> Value {
    let start = [b"BF.INSERT", key.as_bytes(), b"NOCREATE", b"ITEMS"].map(<[u8]>::to_vec);
    client.run(&[&start[..], items].concat())
}

/// Adds packed items; the answers are those that BF.MADD would give.
fn add_packed(client: &mut Client, key: &str, items: &[Vec<u8>]) -> Value {
    let reply = client.run(&[b"BF.BULKADD", key.as_bytes(), b"LINES", &items.join(&b'\n')]);
    let Value::Array(parts) = &reply else { panic!("{key}: {}", show(&reply)) };
    let (processed, bits, refusal) = (int(&parts[0]) as usize, bulk(&parts[1]), &parts[2..]);
    assert_eq!(processed < items.len(), !refusal.is_empty(), "{key}: {}", show(&reply));
    let bit = |at: usize| Value::Int((bits[at / 8] >> (7 - at % 8) & 1).into());
    Value::Array((0..processed).map(bit).chain(refusal.iter().cloned()).collect())
}
