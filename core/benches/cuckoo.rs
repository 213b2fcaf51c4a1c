//! The cuckoo bench: nanoseconds per item of filters in both layouts, without a server.
//!
//! ```text
//! cargo bench -p bloomline-core-benches --bench cuckoo          all, in some four minutes
//! cargo test -p bloomline-core-benches --bench cuckoo           each once, small, as a test
//! ```
//!
//! A filter is filled once from empty, in batches; its hits, misses and deletions are measured in
//! the full filter. Items of eight bytes are created before the clock starts. The growing filters
//! are also measured for the longest single insertion, their bits per item and their rate, and
//! after 95 % of the items were deleted and the filter was compacted.

use std::hint::black_box;
use std::time::{Duration, Instant};

use bloomline_core::Error;
use bloomline_core::host::cuckoo::{AnyCuckoo, CuckooOptions, CuckooSpec};
use bloomline_reference::items::mix;

use Layout::{Bloomline, RedisBloom};

/// Items per call.
const BATCH: u64 = 1000;
/// Items of a measurement after the filling.
const MEASURED: u64 = 2_000_000;

/// A filter to be measured: its name, its capacity, its items, its layout and its expansion.
///
/// In RedisBloom's layout the capacity is in slots, a power of two for the bucket sizes here, and
/// the expansion is the buckets of a table divided by those of the table before it. 0 is one table.
type Case = (&'static str, u64, u64, Layout, u16);

/// The layout of a filter, with its bucket size or its error rate.
#[derive(Clone, Copy)]
enum Layout {
    RedisBloom(u8),
    Bloomline(f64),
}

const CASES: [Case; 13] = [
    ("200,000 items, buckets of 2, 76 % full", 1 << 18, 200_000, RedisBloom(2), 0),
    ("200,000 items, buckets of 4, 76 % full", 1 << 18, 200_000, RedisBloom(4), 0),
    ("200,000 items, buckets of 3, grown", 1024, 200_000, RedisBloom(3), 2),
    ("200,000 items, buckets of 2, grown", 1024, 200_000, RedisBloom(2), 2),
    ("200,000 items, 1 %, full", 200_000, 200_000, Bloomline(0.01), 0),
    ("200,000 items, 0.1 %, full", 200_000, 200_000, Bloomline(0.001), 0),
    ("200,000 items, 1e-4, full", 200_000, 200_000, Bloomline(1e-4), 0),
    ("200,000 items, 1 %, grown", 1024, 200_000, Bloomline(0.01), 1),
    ("2^20 items, 1 %, grown from 100", 100, 1 << 20, Bloomline(0.01), 1),
    ("2^26 slots, buckets of 2, 76 % full", 1 << 26, 51_000_000, RedisBloom(2), 0),
    ("2^26 slots, buckets of 4, 90 % full", 1 << 26, 60_000_000, RedisBloom(4), 0),
    ("2^26 slots, buckets of 16, 90 % full", 1 << 26, 60_000_000, RedisBloom(16), 0),
    ("60 million items, 1 %, full", 60_000_000, 60_000_000, Bloomline(0.01), 0),
];

/// Items of the filter that is measured for pauses.
const GROWN: u64 = 10_000_000;

impl Layout {
    fn create(self, capacity: u64, expansion: u16) -> Result<AnyCuckoo, Error> {
        let options = |bucket_size| CuckooOptions { bucket_size, max_iterations: 500, expansion };
        match self {
            RedisBloom(bucket_size) => {
                AnyCuckoo::redisbloom(capacity, options(bucket_size), &mut |_| true)
            }
            Bloomline(error_rate) => {
                let spec = CuckooSpec { capacity, error_rate, options: options(2) };
                AnyCuckoo::bloomline(spec, 42, &mut |_| true)
            }
        }
    }
}

/// Calls `work` with consecutive batches of items and returns the nanoseconds per item.
fn timed(numbers: std::ops::Range<u64>, mut work: impl FnMut(&[[u8; 8]])) -> f64 {
    let (mut time, count) = (Duration::ZERO, numbers.end - numbers.start);
    let mut items = Vec::with_capacity(BATCH as usize);
    for first in numbers.clone().step_by(BATCH as usize) {
        items.clear();
        let end = numbers.end.min(first + BATCH);
        items.extend((first..end).map(|number| mix(number).to_le_bytes()));
        let start = Instant::now();
        work(&items);
        time += start.elapsed();
    }
    time.as_nanos() as f64 / count as f64
}

fn measure((name, capacity, items, layout, expansion): Case, scale: u64) -> Result<(), Error> {
    let mut filter = layout.create((capacity / scale).max(1), expansion)?;
    let items = items / scale;
    let mut failed = 0;
    let fill = timed(0..items, |batch| {
        filter.insert_batch(batch.iter(), false, &mut |_| true, |answer| {
            failed += u64::from(answer.is_err());
        });
    });
    let count = items.min(MEASURED / scale);
    let contains = |filter: &AnyCuckoo, numbers| {
        timed(numbers, |batch| {
            filter.contains_batch(batch.iter(), |is_in| {
                black_box(is_in);
            });
        })
    };
    let (hit, miss) = (contains(&filter, 0..count), contains(&filter, items..items + count));
    let single = timed(0..count, |batch| {
        for item in batch {
            black_box(filter.contains(item));
        }
    });
    let mut found = 0;
    timed(items..items + count, |batch| {
        filter.contains_batch(batch.iter(), |is_in| found += u64::from(is_in));
    });
    let delete = timed(0..count, |batch| {
        filter.remove_batch(batch.iter(), |is_removed| {
            black_box(is_removed);
        });
    });
    let new = timed(0..count, |batch| {
        filter.insert_batch(batch.iter(), true, &mut |_| true, |answer| {
            // A full filter refuses some items.
            let _ = black_box(answer);
        });
    });
    println!(
        "{name}: fill {fill:.1} ns ({failed} failed), hit {hit:.1}, miss {miss:.1}, single hit \
         {single:.1}, delete {delete:.1}, insert new {new:.1}; {} tables, {:.2} bits per item, \
         rate {:.4} %",
        filter.table_count(),
        filter.size_bytes() as f64 * 8.0 / items as f64,
        found as f64 * 100.0 / count as f64,
    );
    Ok(())
}

/// Measures single insertions into a filter that grows from 100 items, and compacting it after 95 %
/// of the items were deleted.
fn measure_growth(layout: Layout, name: &str, scale: u64) -> Result<(), Error> {
    let mut filter = layout.create(128, 2)?;
    let (mut longest, mut most, mut permit) = (Duration::ZERO, 0.0f64, |_| true);
    let items = GROWN / scale;
    for number in 0..items {
        let item = mix(number).to_le_bytes();
        let start = Instant::now();
        filter.insert(&item, &mut permit)?;
        longest = longest.max(start.elapsed());
        if number >= 1_000 && number.is_multiple_of(1_000) {
            most = most.max(filter.size_bytes() as f64 * 8.0 / number as f64);
        }
    }
    let (bytes, tables) = (filter.size_bytes(), filter.table_count());
    let mut found = 0;
    timed(items..items * 2, |batch| {
        filter.contains_batch(batch.iter(), |is_in| found += u64::from(is_in));
    });
    timed(0..items / 20 * 19, |batch| filter.remove_batch(batch.iter(), |_| ()));
    let start = Instant::now();
    filter.compact()?;
    println!(
        "{name}, {items} items, grown from 128: longest insertion {longest:?}, {:.2} bits per item \
         (at most {most:.1} on the way), {tables} tables, rate {:.4} %; 95 % deleted and compacted \
         in {:?}: {bytes} to {} bytes",
        bytes as f64 * 8.0 / items as f64,
        found as f64 * 100.0 / items as f64,
        start.elapsed(),
        filter.size_bytes(),
    );
    Ok(())
}

fn main() -> Result<(), Error> {
    let is_test = !std::env::args().any(|argument| argument == "--bench");
    let scale = if is_test { 1000 } else { 1 };
    // `cargo bench --bench cuckoo -- grown` measures the cases with this in their name.
    let name = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let is_wanted = |case: &Case| name.as_ref().is_none_or(|name| case.0.contains(name));
    CASES.into_iter().filter(is_wanted).try_for_each(|case| measure(case, scale))?;
    if name.is_none_or(|name| name == "growth") {
        measure_growth(RedisBloom(2), "RedisBloom's layout", scale)?;
        measure_growth(Bloomline(0.01), "Bloomline's layout, 1 %", scale)?;
    }
    Ok(())
}
