//! Does one operation of a filter many times, for programs that count instructions.
//!
//! `operations NAME ROUNDS`: the names are in [`main`]. A round is 1000 items.

use std::env;
use std::process::ExitCode;

use bloomline_core::host::{AnyFilter, Filter, Growth, Spec};

/// Items of a round.
const ITEMS: u64 = 1000;
/// Items of each filter, at least: 0 and the next numbers.
const FILLED: u64 = 50_000;

/// A filter with that many layers, all but the newest full.
fn filter(layers: u32) -> Option<AnyFilter> {
    let growth = if layers == 1 { Growth::Fixed } else { Growth::Scaling { expansion: 1 } };
    let capacity = 2 * FILLED / u64::from(layers);
    let spec = Spec { capacity, error_rate: 0.01, growth };
    let mut filter = Filter::new(spec, 7, &mut |_| true).ok()?;
    let mut item = 0u64;
    while filter.layer_count() < layers || filter.len() < FILLED {
        filter.insert(&item.to_le_bytes(), &mut |_| true).ok()?;
        item += 1;
    }
    Some(AnyFilter::Bloomline(filter))
}

/// What is done with the items of a round.
#[derive(Clone, Copy)]
enum Operation {
    Test,
    TestOneByOne,
    Insert,
    InsertOneByOne,
}

/// Does the rounds, with items from `first` on. Returns the number of answers 1.
fn run(filter: &mut AnyFilter, operation: Operation, first: u64, rounds: u64) -> usize {
    let mut ones = 0;
    for round in 0..rounds {
        let number = |item| first + (round * ITEMS + item) % (FILLED / 2);
        let items: Vec<[u8; 8]> = (0..ITEMS).map(|item| number(item).to_le_bytes()).collect();
        let items = items.iter().map(|item| &item[..]);
        match operation {
            Operation::Test => {
                filter.contains_batch(items, 0, |found| ones += usize::from(found));
            }
            Operation::TestOneByOne => {
                ones += items.filter(|item| filter.contains(item, 0)).count();
            }
            Operation::Insert => {
                let count = |done: Result<_, _>| ones += usize::from(done.is_ok());
                filter.insert_batch(items, &mut |_| true, count);
            }
            Operation::InsertOneByOne => {
                ones += items.filter(|item| filter.insert(item, &mut |_| true).is_ok()).count();
            }
        }
    }
    ones
}

fn main() -> ExitCode {
    /// Number of an item that is in no filter.
    const ABSENT: u64 = 1 << 40;
    let words: Vec<String> = env::args().skip(1).collect();
    let [name, rounds] = words.as_slice() else { return ExitCode::FAILURE };
    let (layers, operation, first) = match name.as_str() {
        "hits" => (1, Operation::Test, 0),
        "misses" => (1, Operation::Test, ABSENT),
        "misses-of-8-layers" => (8, Operation::Test, ABSENT),
        "duplicates" => (1, Operation::Insert, 0),
        "single-hits" => (1, Operation::TestOneByOne, 0),
        "single-duplicates" => (1, Operation::InsertOneByOne, 0),
        _ => return ExitCode::FAILURE,
    };
    let Some((mut filter, rounds)) = filter(layers).zip(rounds.parse().ok()) else {
        return ExitCode::FAILURE;
    };
    println!("{}", run(&mut filter, operation, first, rounds));
    ExitCode::SUCCESS
}
