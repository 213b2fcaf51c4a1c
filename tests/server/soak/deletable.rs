//! Cuckoo filters of one client, which knows the copies of each item.

use bloomline_harness::{Client, Random, bulk, int, show};
use redis::Value;

use super::model::{Tally, items};

/// The last part of the key, the arguments of CF.RESERVE after it, and the target rate; none in
/// RedisBloom's layout.
const KINDS: [(&str, &str, Option<f64>); 3] = [
    ("cuckoo", "16", Some(0.01)),
    ("cuckoo:exact", "2000 ERROR 0.001", Some(0.001)),
    ("cuckoo:classic", "1000 EXPANSION 2 LAYOUT REDISBLOOM", None),
];

/// The most items of a filter, which is then deleted.
const MOST: u64 = 20_000;

/// A filter. Its items are `key:0`, `key:1`, … up to the number attempted.
struct Deletable {
    key: String,
    name: &'static str,
    rate: Option<f64>,
    /// The copies of each item.
    copies: Vec<u64>,
}

/// The cuckoo filters of one client, one of each kind.
pub struct Deletables {
    filters: Vec<Deletable>,
    name: String,
}

impl Deletables {
    pub fn new(name: &str) -> Self {
        Self { filters: Vec::new(), name: name.to_owned() }
    }

    /// Makes a random step.
    pub fn step(&mut self, client: &mut Client, random: &mut Random, tally: &mut Tally) {
        let has = |name: &str| self.filters.iter().any(|filter| filter.name == name);
        if let Some(&(name, options, rate)) = KINDS.iter().find(|(name, ..)| !has(name)) {
            let key = format!("{}:{name}", self.name);
            client.ok(&format!("CF.RESERVE {key} {options}"));
            self.filters.push(Deletable { key, name, rate, copies: Vec::new() });
            return;
        }
        let index = random.next() as usize % KINDS.len();
        let filter = &mut self.filters[index];
        if filter.copies.len() as u64 >= MOST {
            assert_eq!(client.ask(&format!("UNLINK {}", filter.key)), ":1");
            self.filters.remove(index);
            return;
        }
        let name = match random.next() % 16 {
            0..4 => filter.add(client, random),
            4..6 => filter.add_packed(client, random),
            6..9 => filter.delete(client, random),
            9 => filter.delete_packed(client, random),
            10..12 => filter.look_up_absent(client, random, tally),
            12 => filter.compact(client),
            13 => filter.copy(client, random),
            _ => filter.assert_kept(client),
        };
        *tally.steps.entry(name).or_default() += 1;
    }

    /// Asserts that every filter contains what was added and not deleted.
    pub fn assert_kept(&mut self, client: &mut Client) {
        for filter in &mut self.filters {
            filter.assert_kept(client);
        }
    }
}

impl Deletable {
    /// New items, or such that were attempted before.
    fn added(&mut self, random: &mut Random) -> Vec<Vec<u8>> {
        let attempted = self.copies.len() as u64;
        let first = match random.next() % 4 {
            0 => random.next() % (attempted + 1),
            _ => attempted,
        };
        let numbers: Vec<u64> = (first..first + 1 + random.next() % 200).collect();
        self.copies.resize(self.copies.len().max(numbers.len() + first as usize), 0);
        numbers.iter().for_each(|&number| self.copies[number as usize] += 1);
        items(&self.key, numbers)
    }

    fn add(&mut self, client: &mut Client, random: &mut Random) -> &'static str {
        let items = self.added(random);
        let reply =
            client.items("CF.INSERT", &self.key, &[&[b"ITEMS".to_vec()], &items[..]].concat());
        assert_ones(&reply, items.len());
        "CF.INSERT"
    }

    fn add_packed(&mut self, client: &mut Client, random: &mut Random) -> &'static str {
        let items = self.added(random);
        self.packed(client, "CF.BULKADD", &items)
    }

    /// A call of packed items, each of which is answered by 1.
    fn packed(
        &self,
        client: &mut Client,
        command: &'static str,
        items: &[Vec<u8>],
    ) -> &'static str {
        let data = items.join(&b'\n');
        let call: [&[u8]; 5] = [command.as_bytes(), self.key.as_bytes(), b"COUNT", b"LINES", &data];
        let reply = show(&client.run(&call));
        assert_eq!(reply, format!("*[:{0} :{0}]", items.len()), "{command} {}", self.key);
        command
    }

    /// Items of which there is a copy; those are deleted.
    fn deleted(&mut self, random: &mut Random) -> Vec<Vec<u8>> {
        let first = random.next() as usize % (self.copies.len() + 1);
        let numbers = (first..self.copies.len()).filter(|&at| self.copies[at] > 0);
        let numbers: Vec<usize> = numbers.take(1 + random.next() as usize % 300).collect();
        numbers.iter().for_each(|&at| self.copies[at] -= 1);
        items(&self.key, numbers.into_iter().map(|at| at as u64))
    }

    fn delete(&mut self, client: &mut Client, random: &mut Random) -> &'static str {
        let items = self.deleted(random);
        if !items.is_empty() {
            assert_ones(&client.items("CF.MDEL", &self.key, &items), items.len());
        }
        "CF.MDEL"
    }

    fn delete_packed(&mut self, client: &mut Client, random: &mut Random) -> &'static str {
        let items = self.deleted(random);
        self.packed(client, "CF.BULKDEL", &items)
    }

    fn look_up_absent(
        &self,
        client: &mut Client,
        random: &mut Random,
        tally: &mut Tally,
    ) -> &'static str {
        if let Some(rate) = self.rate {
            let first = random.next() >> 20;
            let reply = client.items("CF.MEXISTS", &self.key, &items("absent", first..first + 300));
            let Value::Array(answers) = &reply else { panic!("{}", show(&reply)) };
            let of = tally.absent.entry((self.name, "changed")).or_default();
            of.lookups += answers.len() as u64;
            of.allowed += rate * answers.len() as f64;
            of.false_positives += answers.iter().filter(|answer| int(answer) == 1).count() as u64;
        }
        "CF.MEXISTS"
    }

    fn compact(&self, client: &mut Client) -> &'static str {
        client.ok(&format!("CF.COMPACT {}", self.key));
        "CF.COMPACT"
    }

    /// Replaces the filter with its copy: by COPY, by RESTORE or by chunks.
    fn copy(&self, client: &mut Client, random: &mut Random) -> &'static str {
        let (key, copy) = (&self.key, format!("{}:copy", self.key));
        match random.next() % 3 {
            0 => assert_eq!(client.ask(&format!("COPY {key} {copy}")), ":1"),
            1 => {
                let dump = client.call(&format!("DUMP {key}"));
                let reply = client.run(&[b"RESTORE", copy.as_bytes(), b"0", bulk(&dump)]);
                assert_eq!(show(&reply), "+OK", "{key}");
            }
            _ => client.copy_by_chunks(key, &copy),
        }
        client.ok(&format!("RENAME {copy} {key}"));
        "copies of cuckoo filters"
    }

    /// Asserts that the filter contains what was added and not deleted.
    fn assert_kept(&mut self, client: &mut Client) -> &'static str {
        let live = (0u64..).zip(&self.copies).filter(|&(_, &copies)| copies > 0);
        let live: Vec<u64> = live.map(|(number, _)| number).collect();
        for some in live.chunks(1000) {
            let items = items(&self.key, some.iter().copied());
            assert_ones(&client.items("CF.MEXISTS", &self.key, &items), items.len());
        }
        if let Some(&number) = live.last() {
            let (key, least) = (&self.key, self.copies[number as usize]);
            let counted = int(&client.call(&format!("CF.COUNT {key} {key}:{number}")));
            assert!(counted as u64 >= least, "{key}: {counted} of {least} copies");
        }
        "all of a cuckoo filter"
    }
}

/// Asserts that a reply is an array of so many ones.
fn assert_ones(reply: &Value, len: usize) {
    let Value::Array(answers) = reply else { panic!("{}", show(reply)) };
    assert!(answers.len() == len && answers.iter().all(|one| int(one) == 1), "{}", show(reply));
}
