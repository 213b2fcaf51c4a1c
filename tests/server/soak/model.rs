//! The expected replies for the filters of one client, known exactly.

use std::collections::BTreeMap;
use std::fmt;

use bloomline_harness::{Client, int, show};
use redis::Value;

/// A filter as its only client knows it. Its items are `key:0`, `key:1`, … up to the number
/// attempted.
pub struct Known {
    /// Items that were attempted. All of them are present.
    pub attempted: u64,
    /// Of these, the number that the server reported as new.
    pub inserted: u64,
    /// The target rate.
    pub error_rate: f64,
}

/// The filters of one client.
#[derive(Default)]
pub struct Model {
    /// The filters by key.
    pub filters: BTreeMap<String, Known>,
    /// What the client did.
    pub tally: Tally,
}

/// What the clients did and observed.
#[derive(Default, Clone)]
pub struct Tally {
    pub calls: u64,
    pub created: u64,
    pub added: u64,
    pub present: u64,
    pub absent: u64,
    pub false_positives: u64,
    /// The number of false positives that the target rates allow for these lookups.
    pub allowed: f64,
    pub deleted: u64,
    pub expired: u64,
    pub copied: u64,
    pub saves: u64,
}

impl Tally {
    pub fn add(&mut self, other: &Tally) {
        self.calls += other.calls;
        self.created += other.created;
        self.added += other.added;
        self.present += other.present;
        self.absent += other.absent;
        self.false_positives += other.false_positives;
        self.allowed += other.allowed;
        self.deleted += other.deleted;
        self.expired += other.expired;
        self.copied += other.copied;
        self.saves += other.saves;
    }

    /// Asserts that false positives exceed the target rates by at most six standard deviations.
    pub fn assert_sound(&self) {
        let most = self.allowed + 6.0 * self.allowed.sqrt() + 6.0;
        assert!(
            (self.false_positives as f64) <= most,
            "{} false positives, {most} at most",
            self.false_positives
        );
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(
            f,
            "{} calls, {} filters created, {} deleted, {} expired, {} copied, {} items added, {} lookups of present items (0 missing), \
             {} of absent ones ({} false positives, {:.0} allowed), {} saves and rewrites",
            self.calls,
            self.created,
            self.deleted,
            self.expired,
            self.copied,
            self.added,
            self.present,
            self.absent,
            self.false_positives,
            self.allowed,
            self.saves
        )
    }
}

/// The items of a key in a range of numbers.
pub fn items(key: &str, from: u64, to: u64) -> Vec<Vec<u8>> {
    (from..to).map(|number| format!("{key}:{number}").into_bytes()).collect()
}

impl Model {
    /// Records the reply to the addition of the next `count` items of a key.
    pub fn note_added(&mut self, key: &str, count: u64, reply: &Value) {
        let answers = match reply {
            Value::Array(answers) => answers.clone(),
            one => vec![one.clone()],
        };
        assert_eq!(answers.len() as u64, count, "{key}: {}", show(reply));
        let known = self.filters.get_mut(key).expect("a known filter");
        known.inserted += answers.iter().map(|answer| int(answer) as u64).sum::<u64>();
        known.attempted += count;
        self.tally.added += count;
    }

    /// Looks up items that are present.
    pub fn look_up_present(&mut self, client: &mut Client, key: &str, from: u64, to: u64) {
        assert_present(client, key, from, to);
        self.tally.present += to - from;
    }

    /// Looks up items that are absent.
    pub fn look_up_absent(&mut self, client: &mut Client, key: &str, from: u64, count: u64) {
        let absent: Vec<Vec<u8>> = items("absent", from, from + count);
        let Value::Array(found) = client.items("BF.MEXISTS", key, &absent) else {
            panic!("no array")
        };
        let known = &self.filters[key];
        self.tally.absent += count;
        self.tally.allowed += known.error_rate * count as f64;
        self.tally.false_positives += found.iter().map(|answer| int(answer) as u64).sum::<u64>();
    }

    /// Asserts that the number of items is the one that was recorded here.
    pub fn check_count(&self, client: &mut Client, key: &str) {
        let count = int(&client.call(&format!("BF.CARD {key}"))) as u64;
        assert_eq!(count, self.filters[key].inserted, "BF.CARD {key}");
    }

    /// Asserts that every filter has all its items and the recorded number of items.
    pub fn assert_kept(&self, client: &mut Client) {
        for (key, known) in &self.filters {
            for from in (0..known.attempted).step_by(1000) {
                assert_present(client, key, from, known.attempted.min(from + 1000));
            }
            self.check_count(client, key);
        }
    }
}

fn assert_present(client: &mut Client, key: &str, from: u64, to: u64) {
    let Value::Array(found) = client.items("BF.MEXISTS", key, &items(key, from, to)) else {
        panic!("no array")
    };
    let missing = found.iter().filter(|answer| **answer != Value::Int(1)).count();
    assert_eq!((found.len() as u64, missing), (to - from, 0), "{key} lost items of {from} to {to}");
}
