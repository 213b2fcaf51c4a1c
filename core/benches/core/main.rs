//! The core bench: the cost of the filters without a server, for each level of the memory
//! hierarchy.
//!
//! ```text
//! cargo bench -p bloomline-core-benches --bench core               all, in some three minutes
//! cargo bench -p bloomline-core-benches --bench core -- insert     those whose name has this
//! cargo test -p bloomline-core-benches --bench core                each once, small, as a test
//! ```
//!
//! A name consists of filter, work and regime: `bloomline/contains hit/2 MiB (L3)`. `forgets` is a
//! windowed filter, with all of its generations. Which cache holds a filter depends on the
//! processor; the names are those of one with 1 to 2 MiB of L2 per core and some 32 MiB of L3.
//!
//! The items of an iteration, a thousand, are created before the clock starts. Single calls
//! (`contains`, `insert`) measure hash and cache misses: the processor overlaps consecutive items
//! as far as it executes out of order. `_batch` shows the gain from prefetching. `bare` is the
//! baseline without a filter: it only fetches the cache lines of an item at 1 %, in groups. Filters
//! are not filled item by item: the items of the hits are inserted, and half of the bits are set at
//! random, as in a full filter.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use bloomline_core::Error;
use bloomline_core::host::AnyFilter;
use criterion::{Bencher, Criterion, Throughput};

mod fetches;
mod filled;

use bloomline_reference::items::{Item, mix};
use fetches::{Lines, fetch};
use filled::{KINDS, Kind, filled, grown};

/// The name of each regime, and the bytes of the bits of its filters.
const REGIMES: [(&str, u64); 4] = [
    ("128 KiB (L2)", 128 << 10),
    ("2 MiB (L3)", 2 << 20),
    ("32 MiB (edge of L3)", 32 << 20),
    ("512 MiB (memory)", 512 << 20),
];
/// Items of the filters that have grown.
const GROWN_ITEMS: u64 = 1_000_000;
/// Bytes of the bits in a test, with room for two thousand items.
const TEST_BYTES: u64 = 16 << 10;
/// Items per iteration.
const BATCH: u64 = 1000;

/// Which items a measurement uses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Stored,
    Absent,
    New,
}

/// What a measurement does with the items.
type Work = fn(&mut AnyFilter, &[[u8; 20]]);

const WORKS: [(&str, Source, Work); 8] = [
    ("contains hit", Source::Stored, contains),
    ("contains miss", Source::Absent, contains),
    ("insert duplicate", Source::Stored, insert),
    ("insert new", Source::New, insert),
    ("contains_batch hit", Source::Stored, contains_batch),
    ("contains_batch miss", Source::Absent, contains_batch),
    ("insert_batch duplicate", Source::Stored, insert_batch),
    ("insert_batch new", Source::New, insert_batch),
];

fn contains(filter: &mut AnyFilter, items: &[[u8; 20]]) {
    for item in items {
        black_box(filter.contains(item, 0));
    }
}

fn insert(filter: &mut AnyFilter, items: &[[u8; 20]]) {
    for item in items {
        // The filter has room, and the permit grants everything.
        let _ = black_box(filter.insert(item, 0, &mut |_| true));
    }
}

fn contains_batch(filter: &mut AnyFilter, items: &[[u8; 20]]) {
    filter.contains_batch(items.iter().map(<[u8; 20]>::as_slice), 0, |is_in| {
        black_box(is_in);
    });
}

fn insert_batch(filter: &mut AnyFilter, items: &[[u8; 20]]) {
    let items = items.iter().map(<[u8; 20]>::as_slice);
    let _ = filter.insert_batch(items, 0, &mut |_| true, |is_new| {
        // As in `insert`.
        let _ = black_box(is_new);
        ControlFlow::Continue(())
    });
}

fn main() -> Result<(), Error> {
    // Criterion runs each bench once without `--bench` or with `--test`.
    let arguments: Vec<String> = std::env::args().collect();
    let has = |option: &str| arguments.iter().any(|argument| argument == option);
    let is_test = has("--test") || !has("--bench");
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .sample_size(20)
        .configure_from_args();
    let full = REGIMES.map(|(regime, bytes)| (regime, filled as Make, bytes, TEST_BYTES));
    let grown = ("grown from 100 to a million", grown as Make, GROWN_ITEMS, 2_000);
    for (is_grown, subjects) in [(false, full.as_slice()), (true, &[grown])] {
        for (&(regime, make, size, test_size), kind) in
            subjects.iter().flat_map(|subject| KINDS.map(|kind| (subject, kind)))
        {
            if is_grown && kind.0 == "forgets" {
                continue;
            }
            let mut subject = Subject::new(kind, make, if is_test { test_size } else { size })?;
            let mut group = criterion.benchmark_group(kind.0);
            group.throughput(Throughput::Elements(BATCH));
            for (what, source, work) in WORKS {
                // Duplicates of older generations are written to the newest one, and overfill it.
                let overfills =
                    subject.filter.windowed_mut().is_some() && what.ends_with("duplicate");
                if overfills || is_grown && !what.contains("batch") {
                    continue;
                }
                let mut outcome = Ok(());
                group.bench_function(format!("{what}/{regime}"), |bench| {
                    outcome = subject.measure(bench, source, work);
                });
                outcome?;
            }
            group.finish();
        }
    }
    for (regime, bytes) in REGIMES {
        let words = vec![1; if is_test { TEST_BYTES } else { bytes } as usize / 8];
        let mut group = criterion.benchmark_group("bare");
        group.throughput(Throughput::Elements(BATCH));
        for (what, lines) in
            [("2 lines of a page", Lines::InPage(2)), ("7 lines anywhere", Lines::Anywhere(7))]
        {
            let mut first = 0;
            group.bench_function(format!("{what}/{regime}"), |bench| {
                bench.iter(|| {
                    first += BATCH;
                    fetch(&words, lines, first, BATCH);
                });
            });
        }
        group.finish();
    }
    criterion.final_summary();
    Ok(())
}

/// Creates a filter of a kind and a size, and returns the number of its items.
type Make = fn(Kind, u64) -> Result<(AnyFilter, u64), Error>;

/// A filter, and the numbers of its items.
struct Subject {
    kind: Kind,
    make: Make,
    /// Bytes or items.
    size: u64,
    filter: AnyFilter,
    /// Items 0 to `stored`, not included, were inserted.
    stored: u64,
    /// The number of the next item of each source.
    next: [u64; 3],
}

impl Subject {
    fn new(kind: Kind, make: Make, size: u64) -> Result<Subject, Error> {
        let (filter, stored) = make(kind, size)?;
        Ok(Subject { kind, make, size, filter, stored, next: [0, 0, stored] })
    }

    /// Times the work alone, and creates the filter again when it has no room for new items.
    fn measure(&mut self, bench: &mut Bencher, source: Source, work: Work) -> Result<(), Error> {
        let mut outcome = Ok(());
        bench.iter_custom(|iterations| {
            let mut elapsed = Duration::ZERO;
            for _ in 0..iterations {
                if source == Source::New && self.filter.room() < BATCH {
                    outcome = (self.make)(self.kind, self.size).map(|(filter, _)| {
                        self.filter = filter;
                    });
                }
                let items: Vec<[u8; 20]> = (0..BATCH).map(|_| self.item(source).bytes()).collect();
                let started = Instant::now();
                work(&mut self.filter, &items);
                elapsed += started.elapsed();
            }
            elapsed
        });
        outcome
    }

    fn item(&mut self, source: Source) -> Item {
        let [stored, absent, new] = &mut self.next;
        let next = match source {
            Source::Stored => stored,
            Source::Absent => absent,
            Source::New => new,
        };
        *next += 1;
        match source {
            // In random order, so that consecutive items are in different blocks.
            Source::Stored => Item::Stored(mix(*next) % self.stored),
            Source::Absent => Item::Absent(*next),
            Source::New => Item::Stored(*next),
        }
    }
}
