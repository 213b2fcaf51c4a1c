//! Prints the table of `core/README.md`: the core beside other crates of Bloom filters.
//!
//! Each crate gets the requested rate at which it measures the given rate, so that the bits per item
//! can be compared. The times are the least processor times of several rounds, in which the crates
//! take turns.
//!
//! ```sh
//! cargo run --release -- [MILLIONS OF ITEMS OUT OF CACHE]
//! ```

mod peers;

use std::hint::black_box;

use cpu_time::ThreadTime;
use fastbloom::DefaultHasher;
use foldhash::fast::RandomState;
use peers::{Batched, Bloomfilter, Fastbloom, Growable, Ours, Peer};

/// Absent items by which a rate is measured: 1 % has a standard error of 0.007 %.
const ABSENT: u64 = 2_000_000;
const RATE: f64 = 0.01;
const ROUNDS: usize = 7;

/// Makes the item of a number; present and absent items have other numbers.
type Item = fn(u64) -> Vec<u8>;

fn number(number: u64) -> Vec<u8> {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes().to_vec()
}

fn address(number: u64) -> Vec<u8> {
    format!("https://example.org/pages/{number:07}").into_bytes()
}

/// Items one after the other in one string, so that reading them costs the same for each crate.
struct Items {
    bytes: Vec<u8>,
    width: usize,
}

impl Items {
    fn new(item: Item, numbers: impl Iterator<Item = u64>) -> Self {
        let mut bytes = Vec::new();
        let mut width = 0;
        for number in numbers {
            let item = item(number);
            width = item.len();
            bytes.extend(item);
        }
        Self { bytes, width }
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks_exact(self.width)
    }

    fn len(&self) -> usize {
        self.bytes.len() / self.width
    }
}

/// The share of absent items that a filter of `items` items contains.
fn measured<P: Peer>(items: &Items, absent: &Items, requested: f64) -> (f64, f64) {
    let mut filter = P::new(items.len(), requested);
    filter.insert_all(items.iter());
    let found = filter.count(absent.iter());
    (found as f64 / absent.len() as f64, filter.bits() as f64 / items.len() as f64)
}

/// The requested rate at which a crate measures [`RATE`], and its bits per item there.
fn tuned<P: Peer>(items: &Items, absent: &Items) -> (f64, f64) {
    let mut requested = RATE;
    let mut bits = 0.0;
    for _ in 0..4 {
        let (rate, bits_per_item) = measured::<P>(items, absent, requested);
        bits = bits_per_item;
        requested *= RATE / rate.max(RATE / 10.0);
    }
    (requested, bits)
}

/// The least nanoseconds per item of an insertion, of a hit and of a miss.
#[derive(Clone, Copy)]
struct Times([f64; 3]);

impl Times {
    const NONE: Self = Self([f64::INFINITY; 3]);

    fn measure<P: Peer>(&mut self, items: &Items, absent: &Items, requested: f64) {
        let mut filter = P::new(items.len(), requested);
        let lookups = items.len().min(absent.len());
        let mut time = |index: usize, count: usize, run: &mut dyn FnMut(&mut P) -> u64| {
            let start = ThreadTime::now();
            black_box(run(&mut filter));
            let nanoseconds = start.elapsed().as_nanos() as f64 / count as f64;
            self.0[index] = self.0[index].min(nanoseconds);
        };
        time(0, items.len(), &mut |filter| filter.insert_all(items.iter()));
        time(1, lookups, &mut |filter| filter.count(items.iter().take(lookups)));
        time(2, lookups, &mut |filter| filter.count(absent.iter().take(lookups)));
    }
}

impl std::fmt::Display for Times {
    fn fmt(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
        let [insert, hit, miss] = self.0;
        write!(to, "{insert:.0}, {hit:.0}, {miss:.0}")
    }
}

/// One row: a crate in each of the regimes.
struct Row {
    name: &'static str,
    requested: f64,
    bits: f64,
    times: Vec<Times>,
    measure: fn(&mut Times, &Items, &Items, f64),
}

impl Row {
    fn new<P: Peer>(items: &Items, absent: &Items) -> Self {
        let (requested, bits) = tuned::<P>(items, absent);
        Self { name: P::NAME, requested, bits, times: Vec::new(), measure: Times::measure::<P> }
    }
}

fn main() {
    let millions = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100);
    let tuning = Items::new(number, 0..1_000_000);
    let absent = Items::new(number, 1 << 40..(1 << 40) + ABSENT);
    let mut rows = [
        Row::new::<Ours>(&tuning, &absent),
        Row::new::<Batched>(&tuning, &absent),
        Row::new::<Fastbloom<DefaultHasher>>(&tuning, &absent),
        Row::new::<Fastbloom<RandomState>>(&tuning, &absent),
        Row::new::<Bloomfilter>(&tuning, &absent),
        Row::new::<Growable>(&tuning, &absent),
    ];
    let regimes: [(Item, u64, usize); 4] = [
        (number, 30_000, 200),
        (number, 1_000_000, ROUNDS),
        (address, 1_000_000, ROUNDS),
        (number, millions * 1_000_000, 2),
    ];
    for (item, count, rounds) in regimes {
        let items = Items::new(item, 0..count);
        let absent = Items::new(item, 1 << 40..(1 << 40) + count.min(ABSENT));
        rows.iter_mut().for_each(|row| row.times.push(Times::NONE));
        for _ in 0..rounds {
            for row in &mut rows {
                if let Some(times) = row.times.last_mut() {
                    (row.measure)(times, &items, &absent, row.requested);
                }
            }
        }
    }
    println!(
        "| crate | bits per item | 30,000 numbers | 1 million | 1 million addresses | {millions} million numbers |"
    );
    println!("|---|---|---|---|---|---|");
    for Row { name, bits, times, .. } in rows {
        let times: Vec<String> = times.iter().map(Times::to_string).collect();
        println!("| {name} | {bits:.2} | {} |", times.join(" | "));
    }
}
