//! The rows of the table: which filters there are, and which calls are made on them.

use crate::items::Item;
use crate::options::Scale;

/// How the filters of a group come to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// `BF.RESERVE key 0.01 capacity`: one layer.
    Reserved { capacity: u64 },
    /// The same, on memory that the server has only just got from the system.
    Untouched { capacity: u64 },
    /// No RESERVE: 100 items, then layers of twice the size each.
    Grown,
    /// `BF.RESERVE key 0.01 capacity EXPANSION 1`: many layers of one size.
    Steps { capacity: u64 },
    /// A filter a user, made by its first BF.ADD.
    Tiny { keys: u64 },
}

/// What a call asks or does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Asks for items that were added.
    Hit,
    /// Asks for items that were not.
    Miss,
    /// Adds items that were added before.
    Duplicate,
    /// Adds items to a filter made anew each round, from the first to the last.
    Fresh,
    /// Adds new items to the standing filters.
    More,
    /// Adds the first item to keys that do not exist.
    Create,
}

/// One row: calls of `batch` items, `items` in all.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub op: Op,
    pub batch: u64,
    pub items: u64,
}

/// Rows on filters of one shape, which stand filled while the rows run.
#[derive(Debug)]
pub struct Group {
    pub title: String,
    pub shape: Shape,
    /// Items in the standing filter before the first row; of tiny filters none, their rows make them.
    pub filled: u64,
    pub cases: Vec<Case>,
}

/// One call before it is put into a column's words.
pub struct Call {
    pub key: String,
    pub items: Vec<Item>,
}

/// The filter that stands through all rows of a group.
pub const STANDING: &str = "standing";
/// The filter made anew for each `Op::Fresh`.
pub const FRESH: &str = "fresh";

impl Case {
    /// The row's name, in the words of BF.*.
    pub fn name(&self) -> String {
        let command = match (self.op, self.batch) {
            (Op::Hit | Op::Miss, 1) => "EXISTS",
            (Op::Hit | Op::Miss, _) => "MEXISTS",
            (_, 1) => "ADD",
            (_, _) => "MADD",
        };
        let what = match self.op {
            Op::Hit => "hit",
            Op::Miss => "miss",
            Op::Duplicate => "duplicate",
            Op::Fresh => "new, from empty",
            Op::More => "new",
            Op::Create => "first, creates the filter",
        };
        match self.batch {
            1 => format!("{command} {what}"),
            batch => format!("{command} {what} ×{batch}"),
        }
    }

    /// The row's calls in a round; all rounds alike, save that `Op::More` must find new items each time.
    pub fn calls(&self, group: &Group, round: u32) -> impl Iterator<Item = Call> {
        let (case, shape, filled) = (*self, group.shape, group.filled);
        (0..self.items / self.batch).map(move |call| {
            let first = call * case.batch;
            let numbers = first..first + case.batch;
            let Shape::Tiny { keys } = shape else {
                let added_before = u64::from(round) * case.items;
                let item = |i| match case.op {
                    Op::Hit | Op::Duplicate => Item::Stored(scatter(i, filled)),
                    Op::Miss => Item::Absent(i),
                    Op::More => Item::Stored(filled + added_before + i),
                    Op::Fresh | Op::Create => Item::Stored(i),
                };
                let key = if case.op == Op::Fresh { FRESH } else { STANDING };
                return Call { key: key.to_owned(), items: numbers.map(item).collect() };
            };
            // Each call meets another key, in an order that leaves caches cold.
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
const TINY_ITEMS: u64 = 20;

/// Number `i` of a fixed shuffle of `0..len`, so that layers and lines are met in no order.
///
/// The factor is coprime to every `len` used here (their primes are 2, 5 and 31), so each number comes once.
fn scatter(i: u64, len: u64) -> u64 {
    (i * 618_033_989) % len.max(1)
}

/// All groups of a scale, in the order they run.
pub fn groups(scale: Scale) -> Vec<Group> {
    let smoke = scale == Scale::Smoke;
    let full = scale == Scale::Full;
    let size = |usual: u64, tiny: u64| if smoke { tiny } else { usual };
    let case = |op, batch, items| Case { op, batch, items };

    let cached = size(200_000, 2_000);
    let singles = if full { cached } else { cached / 4 };
    let mut groups = vec![Group {
        title: format!("In cache: {} reserved at 1 %", thousands(cached)),
        shape: Shape::Reserved { capacity: cached },
        filled: cached,
        cases: vec![
            case(Op::Hit, 1000, cached),
            case(Op::Hit, 10, cached),
            case(Op::Miss, 1000, cached),
            case(Op::Miss, 10, cached),
            case(Op::Fresh, 1000, cached),
            case(Op::Fresh, 10, cached),
            case(Op::Duplicate, 1000, cached),
            case(Op::Duplicate, 10, cached),
            case(Op::Hit, 1, singles),
            case(Op::Miss, 1, singles),
            case(Op::Fresh, 1, singles),
            case(Op::Duplicate, 1, singles),
        ],
    }];

    let grown = size(1_000_000, 10_000);
    groups.push(Group {
        title: format!("Default growth to {}, no RESERVE", thousands(grown)),
        shape: Shape::Grown,
        filled: grown,
        cases: vec![
            case(Op::Fresh, 1000, grown),
            case(Op::Hit, 1000, cached),
            case(Op::Miss, 1000, cached),
            case(Op::Duplicate, 1000, cached),
            case(Op::Hit, 1, singles),
            case(Op::Miss, 1, singles),
        ],
    });

    let step = size(1_000, 100);
    let asked = size(50_000, 1_000);
    groups.push(Group {
        title: format!("EXPANSION 1: 100 layers of {}", thousands(step)),
        shape: Shape::Steps { capacity: step },
        filled: 100 * step,
        cases: vec![case(Op::Hit, 1000, asked), case(Op::Miss, 1000, asked)],
    });

    if scale == Scale::Quick {
        return groups;
    }
    // Room for what twenty rounds add; the smoke run has the same rows in small.
    let big = size(128_000_000, 20_000);
    let more = size(200_000, 1_000);
    groups.push(Group {
        title: format!("Out of cache: {} reserved at 1 %, full", thousands(big)),
        shape: Shape::Reserved { capacity: big },
        filled: big - 20 * more.min(big / 40),
        cases: vec![
            case(Op::Hit, 1000, size(500_000, 2_000)),
            case(Op::Miss, 1000, size(500_000, 2_000)),
            case(Op::More, 1000, more),
            case(Op::Hit, 1, singles),
            case(Op::Miss, 1, singles),
        ],
    });

    groups.push(Group {
        title: format!("First touch: {} reserved at 1 %, empty", thousands(big)),
        shape: Shape::Untouched { capacity: big },
        filled: 0,
        cases: vec![case(Op::Fresh, 1000, size(10_000, 1_000))],
    });

    let keys = size(200_000, 1_000);
    groups.push(Group {
        title: format!("Tiny filters: {} keys of {TINY_ITEMS} items, each call another key", thousands(keys)),
        shape: Shape::Tiny { keys },
        filled: 0,
        cases: vec![
            case(Op::Create, 1, keys),
            case(Op::More, TINY_ITEMS - 1, keys * (TINY_ITEMS - 1)),
            case(Op::Hit, 1, keys),
            case(Op::Miss, 1, keys),
            case(Op::Duplicate, 1, keys),
        ],
    });
    groups
}

/// A number with its thousands apart.
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
