//! A row of the table: a filter of some shape, and calls on it.

use crate::items::{Item, Kind};
use crate::packed::Form;

/// How the filters of a group are created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// One layer.
    Reserved { capacity: u64 },
    /// The same, on memory that the server has just allocated from the system.
    Untouched { capacity: u64 },
    /// 100 items, then layers of twice the size each.
    Grown,
    /// Many layers of one size.
    Steps { capacity: u64 },
    /// One filter per user, made by its first BF.ADD.
    Tiny { keys: u64 },
    /// A windowed filter, all nine generations full. It is rotated by hand, so that they can be
    /// filled at once.
    Forgets { capacity: u64 },
    /// A cuckoo filter of one table.
    Cuckoo { capacity: u64 },
    /// A cuckoo filter that doubles. By default, RedisBloom's tables are all of one size, and it
    /// refuses a 33rd.
    CuckooGrown,
}

/// Older generations of a windowed filter, beside the newest.
pub const GENERATIONS: u64 = 8;

impl Shape {
    /// The line that creates the filter `key`; empty if the first addition does.
    pub fn reserve(self, key: &str) -> String {
        match self {
            Shape::Grown | Shape::Tiny { .. } => String::new(),
            Shape::Reserved { capacity } | Shape::Untouched { capacity } => {
                format!("BF.RESERVE {key} 0.01 {capacity}")
            }
            Shape::Steps { capacity } => format!("BF.RESERVE {key} 0.01 {capacity} EXPANSION 1"),
            Shape::Forgets { capacity } => {
                format!("BF.RESERVE {key} 0.01 {capacity} GENERATIONS {GENERATIONS}")
            }
            Shape::Cuckoo { capacity } => format!("CF.RESERVE {key} {capacity}"),
            Shape::CuckooGrown => format!("CF.RESERVE {key} 1024 EXPANSION 2"),
        }
    }

    /// Items after which the standing filter is rotated while it is filled; `None`: never.
    pub fn items_per_generation(self) -> Option<u64> {
        match self {
            Shape::Forgets { capacity } => Some(capacity / GENERATIONS),
            _ => None,
        }
    }
}

/// What a call does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Looks up items that were added.
    Hit,
    /// Looks up items that were not added.
    Miss,
    /// Adds items that were added before. In a windowed filter they are in the newest
    /// generation, so that nothing is written.
    Duplicate,
    /// Adds items to a filter that is created anew in each round, from the first to the last item.
    Fresh,
    /// Counts the copies of items that were added once.
    Count,
    /// Adds new items to the standing filters.
    More,
    /// Adds the first item to keys that do not exist.
    Create,
    /// Adds new items to a copy of the standing filter that has just rotated, until its newest
    /// generation is full.
    NewestFills,
    /// Adds items of older generations to such a copy, which writes them to the newest one.
    Refresh,
    /// Deletes the items of a filter that is created and filled anew in each round.
    Delete,
}

impl Op {
    /// What it is called in the name of a row.
    fn name(self) -> &'static str {
        match self {
            Op::Hit | Op::Count => "hit",
            Op::Miss => "miss",
            Op::Duplicate => "duplicate",
            Op::Fresh => "new, from empty",
            Op::More => "new",
            Op::Create => "first item, creates",
            Op::NewestFills => "new, after a rotation",
            Op::Refresh => "of older generations",
            Op::Delete => "all",
        }
    }

    /// True if it looks items up, and changes nothing.
    pub fn is_lookup(self) -> bool {
        matches!(self, Op::Hit | Op::Miss | Op::Count)
    }

    /// True if the calls are for the filter that all rows of a group share.
    pub fn is_on_standing(self) -> bool {
        self.is_lookup() || matches!(self, Op::Duplicate | Op::More)
    }
}

/// How calls reach the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Traffic {
    /// One client that sends many calls before it reads their replies.
    Pipelined,
    /// One client that waits for each reply, so that other work evicts the caches between calls.
    OneByOne,
    /// Two clients at the same time, each pipelined.
    TwoClients,
}

/// One row: `items` items in calls of `batch` items.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The command of a module.
    pub command: &'static str,
    pub op: Op,
    pub batch: u64,
    pub items: u64,
    pub traffic: Traffic,
    /// How the items of a call are packed; `None`: each is an argument.
    pub form: Option<Form>,
}

/// Rows on filters of one shape, which are filled before the rows run.
#[derive(Debug)]
pub struct Workload {
    pub title: String,
    pub shape: Shape,
    /// Items in the standing filter before the first row; 0 for tiny filters, which their rows
    /// create.
    pub filled: u64,
    pub kind: Kind,
    pub cases: Vec<Case>,
}

/// One call before it is encoded in a column's commands.
pub struct Call {
    pub key: String,
    pub items: Vec<Item>,
}

/// The key of the filter that all rows of a group share.
pub const STANDING: &str = "standing";
/// The key of the filter that is created anew for each sample of `Op::Fresh`, `Op::NewestFills` and
/// `Op::Refresh`.
pub const FRESH: &str = "fresh";

impl Workload {
    /// The items that share the bytes of the standing filter: those in it after this many rounds,
    /// but of a windowed filter only those that it guarantees to remember. `None` for filters
    /// that are created anew, and for tiny ones.
    pub fn stands_with(&self, rounds: u32) -> Option<u64> {
        if let Shape::Forgets { capacity } = self.shape {
            return Some(capacity);
        }
        let more = self.cases.iter().filter(|case| case.op == Op::More).map(|case| case.items);
        (self.filled > 0).then(|| self.filled + u64::from(rounds) * more.sum::<u64>())
    }
}

impl Case {
    pub fn by(self, traffic: Traffic) -> Case {
        Case { traffic, ..self }
    }

    pub fn packed(self, form: Form) -> Case {
        Case { form: Some(form), ..self }
    }

    /// True if the calls are for a cuckoo filter.
    pub fn is_cuckoo(&self) -> bool {
        self.command.starts_with("CF.")
    }

    /// The name of the row.
    pub fn name(&self) -> String {
        let (_, command) = self.command.split_once('.').unwrap_or_default();
        let form = self.form.map_or(String::new(), |form| format!(" {}", form.name()));
        let times =
            if self.batch == 1 { String::new() } else { format!(" ×{}", thousands(self.batch)) };
        let traffic = match self.traffic {
            Traffic::Pipelined => "",
            Traffic::OneByOne => ", one by one",
            Traffic::TwoClients => ", two clients",
        };
        format!("{command}{form} {}{times}{traffic}", self.op.name())
    }

    /// The calls of the row in a round. All rounds are equal, except that `Op::More` needs new
    /// items in each.
    pub fn calls(&self, workload: &Workload, round: u32) -> impl Iterator<Item = Call> {
        let (case, shape, filled) = (*self, workload.shape, workload.filled);
        (0..self.items / self.batch).map(move |call| {
            let first = call * case.batch;
            let numbers = first..first + case.batch;
            let Shape::Tiny { keys } = shape else {
                let added_before = u64::from(round) * case.items;
                // Two rows may add to one filter: in calls of one item, and of many.
                let first_new = filled + if case.batch == 1 { 1 << 40 } else { 0 };
                let part = shape.items_per_generation();
                let first_of_newest = filled - part.unwrap_or(filled);
                let item = |i| match case.op {
                    Op::Hit | Op::Count => Item::Stored(scatter(i, filled)),
                    Op::Miss => Item::Absent(i),
                    Op::Duplicate => {
                        Item::Stored(first_of_newest + scatter(i, filled - first_of_newest))
                    }
                    // The rotation has dropped the oldest generation.
                    Op::Refresh => Item::Stored(filled - 1 - scatter(i, first_of_newest)),
                    Op::More => Item::Stored(first_new + added_before + i),
                    Op::NewestFills => Item::Stored(filled + i),
                    Op::Fresh | Op::Create | Op::Delete => Item::Stored(i),
                };
                let key = if case.op.is_on_standing() { STANDING } else { FRESH };
                return Call { key: key.to_owned(), items: numbers.map(item).collect() };
            };
            // Each call uses another key, in an order that leaves caches cold.
            let user = scatter(call, keys);
            let item = |i| match case.op {
                Op::Miss => Item::Absent(user * TINY_ITEMS + i % case.batch),
                Op::More => Item::Stored(user * TINY_ITEMS + 1 + i % case.batch),
                _ => Item::Stored(user * TINY_ITEMS + i % case.batch),
            };
            Call { key: format!("user:{user}"), items: numbers.map(item).collect() }
        })
    }
}

/// Items of a tiny filter: one that creates it and nineteen more.
pub const TINY_ITEMS: u64 = 20;

/// The number at index `i` of a fixed permutation of `0..len`, so that layers and blocks are
/// accessed in no order.
///
/// The factor is coprime to every `len` used here (their prime factors are 2, 3, 5 and 31), so each
/// number occurs once.
pub fn scatter(i: u64, len: u64) -> u64 {
    (i * 618_033_989) % len.max(1)
}

/// A number with separators of thousands.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
