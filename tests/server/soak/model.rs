//! The expected replies for the filters of one client, known exactly, and the false positives of
//! absent items.

use std::collections::BTreeMap;
use std::fmt;

use bloomline_harness::{Client, bulk, int, show};
use redis::Value;

use super::kinds::{FilterKind, Remembers};

/// A filter as its only client knows it. Its items are `key:0`, `key:1`, … up to the number
/// attempted.
pub struct Known {
    pub kind: &'static FilterKind,
    /// For each item that was attempted, when it was added last, in the unit of the window; none if
    /// the filter promises nothing of it.
    added: Vec<Option<i64>>,
    /// Additions of any item.
    additions: i64,
    /// Rotations by hand.
    pub rotations: i64,
    /// The number of items that BF.CARD reports; none after a merge, which estimates it, and for a
    /// windowed filter.
    count: Option<u64>,
    /// What may have changed the rate of the filter.
    past: &'static str,
    /// True if the filter refused an item.
    is_full: bool,
}

/// Lookups of absent items.
#[derive(Clone, Copy, Default)]
pub struct Absent {
    pub lookups: u64,
    pub false_positives: u64,
    /// The number of false positives at the target rate.
    pub allowed: f64,
}

impl Absent {
    /// The most false positives. Above the target rate these are 5 %, because the rate of a compacted
    /// filter is its target but for rounding, and six standard deviations: a correct filter exceeds
    /// them once in 1e9 runs.
    fn most(&self) -> f64 {
        1.05 * self.allowed + 6.0 * self.allowed.sqrt() + 6.0
    }
}

/// What the clients did and observed.
#[derive(Default)]
pub struct Tally {
    /// Steps by name.
    pub steps: BTreeMap<&'static str, u64>,
    pub present: u64,
    pub saves: u64,
    /// By the name of the kind, and what may have changed its rate.
    pub absent: BTreeMap<(&'static str, &'static str), Absent>,
}

impl Tally {
    pub fn add(&mut self, other: &Tally) {
        for (name, count) in &other.steps {
            *self.steps.entry(name).or_default() += count;
        }
        self.present += other.present;
        self.saves += other.saves;
        for (of, other) in &other.absent {
            let sum = self.absent.entry(*of).or_default();
            sum.lookups += other.lookups;
            sum.false_positives += other.false_positives;
            sum.allowed += other.allowed;
        }
    }

    /// Asserts that the false positives of each kind are those of its target rate at most.
    pub fn assert_sound(&self) {
        let is_above = |absent: &Absent| absent.false_positives as f64 > absent.most();
        let above: Vec<_> = self
            .absent
            .iter()
            .filter(|(_, absent)| is_above(absent))
            .map(|((kind, past), absent)| {
                let Absent { lookups, false_positives, allowed } = absent;
                format!("{kind}, {past}: {false_positives} of {lookups}, {allowed:.0} allowed")
            })
            .collect();
        assert!(above.is_empty(), "above the target rate: {above:#?}");
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (mut absent, mut found, mut allowed) = (0, 0, 0.0);
        for one in self.absent.values() {
            absent += one.lookups;
            found += one.false_positives;
            allowed += one.allowed;
        }
        let steps: Vec<String> =
            self.steps.iter().map(|(name, count)| format!("{name} {count}")).collect();
        write!(
            f,
            "steps: {} | {} lookups of present items (0 missing), {absent} of absent ones ({found} false \
             positives, {allowed:.0} allowed), {} saves and rewrites",
            steps.join(", "),
            self.present,
            self.saves
        )
    }
}

/// The items of a key in a range of numbers.
pub fn items(key: &str, numbers: impl IntoIterator<Item = u64>) -> Vec<Vec<u8>> {
    numbers.into_iter().map(|number| format!("{key}:{number}").into_bytes()).collect()
}

/// Answers, each true for 1.
fn answers(reply: &Value) -> Vec<bool> {
    let Value::Array(answers) = reply else { panic!("{}", show(reply)) };
    answers.iter().map(|answer| int(answer) == 1).collect()
}

impl Known {
    /// A new filter.
    pub fn new(kind: &'static FilterKind) -> Self {
        let count = (kind.remembers == Remembers::All).then_some(0);
        let past = "as created";
        Self { kind, added: Vec::new(), additions: 0, rotations: 0, count, past, is_full: false }
    }

    /// True if no more items are added.
    pub fn is_full(&self) -> bool {
        self.is_full || self.attempted() >= self.kind.most
    }

    /// The number of items that were attempted.
    pub fn attempted(&self) -> u64 {
        self.added.len() as u64
    }

    /// Now, in the unit of the window.
    fn now(&self, client: &mut Client) -> i64 {
        match self.kind.remembers {
            Remembers::All => 0,
            Remembers::Seconds(_) => time(client),
            Remembers::Items(_) => self.additions,
            Remembers::Rotations(_) => self.rotations,
        }
    }

    /// True if the filter must contain an item that was added `age` ago.
    fn must_contain(&self, age: i64) -> bool {
        match self.kind.remembers {
            Remembers::All => true,
            // The server's clock is read in whole seconds, before or after the call.
            Remembers::Seconds(window) => age < window - 2,
            Remembers::Items(window) => {
                // Up to two windows are written to the newer generations. So many of them may look
                // like refreshed ones; see docs/how-to/forgetting.md.
                let mistakes = 2.0 * window as f64 * self.kind.error_rate;
                (age as f64) < window as f64 - mistakes - 3.0 * mistakes.sqrt()
            }
            Remembers::Rotations(window) => age < window,
        }
    }

    /// Adds items by their numbers with `add`, which returns whether each was new, for fewer items
    /// if the filter is full. New numbers follow each other.
    pub fn add(
        &mut self,
        client: &mut Client,
        key: &str,
        numbers: &[u64],
        add: impl FnOnce(&mut Client, &[Vec<u8>]) -> Vec<bool>,
    ) {
        let before = self.now(client);
        let new = add(client, &items(key, numbers.iter().copied()));
        self.is_full |= new.len() < numbers.len();
        assert!(!self.is_full || self.kind.reserve.contains("NONSCALING"), "{key} is full");
        for (&number, &is_new) in numbers.iter().zip(&new) {
            if number == self.attempted() {
                self.added.push(None);
            }
            self.note(number, is_new, before);
        }
        let ones = new.iter().filter(|&&is_new| is_new).count() as u64;
        self.count = self.count.map(|count| count + ones);
    }

    /// Takes over new items of a filter with which this one was merged, which answered so to them.
    pub fn merge(&mut self, client: &mut Client, new: &[bool]) {
        let now = self.now(client);
        for &is_new in new {
            self.added.push(None);
            self.note(self.attempted() - 1, is_new, now);
        }
        self.count = None;
        self.past = match self.past {
            "as created" | "merged" => "merged",
            _ => "compacted and merged",
        };
    }

    /// Notes that the filter became smaller.
    pub fn compact(&mut self) {
        self.past = match self.past {
            "as created" | "compacted" => "compacted",
            _ => "compacted and merged",
        };
    }

    /// Notes an addition. Without refreshing, a windowed filter does not store an item that
    /// looks present, and promises nothing of it.
    fn note(&mut self, number: u64, is_new: bool, now: i64) {
        self.additions += 1;
        let is_stored = is_new || self.kind.refreshes || self.kind.remembers == Remembers::All;
        if is_stored {
            let is_counted = matches!(self.kind.remembers, Remembers::Items(_));
            self.added[number as usize] = Some(if is_counted { self.additions } else { now });
        }
    }

    /// Asserts that the items with these numbers are present, as far as that is promised. Returns
    /// the number of those.
    pub fn assert_present(&self, client: &mut Client, key: &str, numbers: &[u64]) -> u64 {
        let found = answers(&client.items("BF.MEXISTS", key, &items(key, numbers.iter().copied())));
        let now = self.now(client);
        let mut checked = 0;
        for (&number, is_found) in numbers.iter().zip(found) {
            let Some(at) = self.added[number as usize] else { continue };
            if self.must_contain(now - at) {
                checked += 1;
                assert!(is_found, "{key} ({}) lost item {number}, age {}", self.past, now - at);
            }
        }
        checked
    }

    /// Asserts that the filter contains what it must contain, and reports the exact number of items
    /// if that is known.
    pub fn assert_kept(&self, client: &mut Client, key: &str) {
        let numbers: Vec<u64> = (0..self.attempted()).collect();
        for some in numbers.chunks(1000) {
            self.assert_present(client, key, some);
        }
        if let Some(count) = self.count {
            assert_eq!(client.ask(&format!("BF.CARD {key}")), format!(":{count}"), "BF.CARD {key}");
        }
    }

    /// Looks up items that were never added.
    pub fn look_up_absent(
        &self,
        client: &mut Client,
        key: &str,
        numbers: &[u64],
        tally: &mut Tally,
    ) {
        let absent = items("absent", numbers.iter().copied());
        let found = answers(&client.items("BF.MEXISTS", key, &absent));
        let of = tally.absent.entry((self.kind.name, self.past)).or_default();
        of.lookups += found.len() as u64;
        of.allowed += self.kind.error_rate * found.len() as f64;
        of.false_positives += found.iter().filter(|&&is_found| is_found).count() as u64;
    }
}

/// Seconds of the server's clock.
fn time(client: &mut Client) -> i64 {
    let Value::Array(parts) = client.call("TIME") else { panic!("no time") };
    String::from_utf8_lossy(bulk(&parts[0])).parse().expect("seconds")
}
