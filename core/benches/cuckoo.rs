//! The cuckoo bench: nanoseconds per item of filters in RedisBloom's layout, without a server.
//!
//! ```text
//! cargo bench -p bloomline-core --bench cuckoo          all, in some two minutes
//! cargo test -p bloomline-core --bench cuckoo           each once, small, as a test
//! ```
//!
//! A filter is filled once from empty, in batches; its hits, misses and deletions are measured in
//! the full filter. Items of eight bytes are created before the clock starts.

use std::hint::black_box;
use std::time::{Duration, Instant};

use bloomline_core::Error;
use bloomline_core::host::cuckoo::{AnyCuckoo, CuckooOptions};
use bloomline_reference::items::mix;

/// Items per call.
const BATCH: u64 = 1000;
/// Items of a measurement after the filling.
const MEASURED: u64 = 2_000_000;

/// A filter to be measured.
struct Case {
    name: &'static str,
    /// Slots, a power of two for the bucket sizes here.
    slots: u64,
    items: u64,
    bucket_size: u8,
    /// Buckets of a table divided by those of the table before it; 0 for one table.
    expansion: u16,
}

const fn case(name: &'static str, slots: u64, items: u64, bucket_size: u8, expansion: u16) -> Case {
    Case { name, slots, items, bucket_size, expansion }
}

const CASES: [Case; 7] = [
    case("200,000 items, buckets of 2, 76 % full", 1 << 18, 200_000, 2, 0),
    case("200,000 items, buckets of 4, 76 % full", 1 << 18, 200_000, 4, 0),
    case("200,000 items, buckets of 3, grown", 1024, 200_000, 3, 2),
    case("200,000 items, buckets of 2, grown", 1024, 200_000, 2, 2),
    case("2^26 slots, buckets of 2, 76 % full", 1 << 26, 51_000_000, 2, 0),
    case("2^26 slots, buckets of 4, 90 % full", 1 << 26, 60_000_000, 4, 0),
    case("2^26 slots, buckets of 16, 90 % full", 1 << 26, 60_000_000, 16, 0),
];

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

fn measure(case: &Case, scale: u64) -> Result<(), Error> {
    let options = CuckooOptions {
        bucket_size: case.bucket_size,
        max_iterations: 500,
        expansion: case.expansion,
    };
    let mut filter = AnyCuckoo::redisbloom(case.slots / scale, options, &mut |_| true)?;
    let items = case.items / scale;
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
    let delete = timed(0..count, |batch| {
        for item in batch {
            black_box(filter.remove(item));
        }
    });
    let new = timed(0..count, |batch| {
        filter.insert_batch(batch.iter(), true, &mut |_| true, |answer| {
            // A full filter refuses some items.
            let _ = black_box(answer);
        });
    });
    println!(
        "{}: fill {fill:.1} ns ({failed} failed), hit {hit:.1}, miss {miss:.1}, single hit \
         {single:.1}, delete {delete:.1}, insert new {new:.1}; {} tables",
        case.name,
        filter.table_count(),
    );
    Ok(())
}

fn main() -> Result<(), Error> {
    let is_test = !std::env::args().any(|argument| argument == "--bench");
    let scale = if is_test { 1000 } else { 1 };
    CASES.iter().try_for_each(|case| measure(case, scale))
}
