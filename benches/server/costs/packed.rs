//! The time of packed items on the server, beside the core's own batches of the same items.

use std::time::Instant;

use bloomline_core::{BloomFilter, Layout};
use redis::cmd;

use super::{Cases, Experiment, Plan, Subject};
use crate::items::{Item, Kind};
use crate::packed::{Form, PACKED_BATCH};
use crate::payload::{Payload, send};
use crate::result::Result;
use crate::run::median;
use crate::server::Server;
use crate::workloads::{Traffic, scatter, thousands};

pub const EXPERIMENT: Experiment = Experiment {
    title: "Packed items, beside the core",
    heads: &[
        ("arguments", 1),
        ("FIXED", 1),
        ("PREFIXED", 1),
        ("LINES", 1),
        ("core", 1),
        ("FIXED / core", 2),
    ],
    run,
};

/// The items: no line feed is in them, so that all forms can pack them.
const KIND: Kind = Kind::Hex20;
const STANDING: &str = "standing";
const FRESH: &str = "fresh";

/// What the calls of a line do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    New,
    Duplicate,
    Hit,
    Miss,
}

impl Work {
    const ALL: [(Work, &str); 4] = [
        (Work::New, "new"),
        (Work::Duplicate, "duplicate"),
        (Work::Hit, "hit"),
        (Work::Miss, "miss"),
    ];

    fn adds(self) -> bool {
        matches!(self, Work::New | Work::Duplicate)
    }

    /// The item at an index, for a filter that holds so many.
    fn item(self, index: u64, held: u64) -> Item {
        match self {
            Work::New => Item::Stored(held + index),
            Work::Duplicate | Work::Hit => Item::Stored(scatter(index, held)),
            Work::Miss => Item::Absent(index),
        }
    }
}

fn run(subject: &Subject, plan: Plan) -> Result<Cases> {
    let cached = plan.size(200_000, 200_000, 2_000);
    let mut lines = Vec::new();
    for held in [cached, plan.size(20_000_000, 10_000_000, 10_000)] {
        let mut bench = Bench::new(subject, held)?;
        let rounds = plan.size(15, 9, 1);
        for (work, name) in Work::ALL {
            let figures = bench.figures(work, cached, rounds)?;
            lines.push((format!("{name}, {} in the filter", thousands(held)), figures));
        }
    }
    Ok(lines)
}

/// A filter on a server, and an equal one without a server.
struct Bench {
    server: Server,
    core: Option<BloomFilter>,
    held: u64,
}

impl Bench {
    fn new(subject: &Subject, held: u64) -> Result<Bench> {
        let mut server = subject.timed_server()?;
        let capacity = 2 * held;
        cmd("BF.RESERVE").arg(STANDING).arg("0.01").arg(capacity).exec(&mut server.connection)?;
        let mut core = None;
        if subject.packs {
            let layout = if !subject.forgets { Layout::RedisBloom } else { Layout::Bloomline };
            let builder = BloomFilter::builder().false_positive_rate(0.01).layout(layout);
            core = Some(builder.capacity(capacity).build()?);
        }
        let mut bench = Bench { server, core, held };
        let mut first = 0;
        while first < held {
            let end = held.min(first + 10 * PACKED_BATCH);
            let items = || (first..end).map(Item::Stored);
            let payload = Payload::of_items("BF.MADD", STANDING, 1000, KIND, items());
            send(&mut bench.server, Traffic::Pipelined, &payload)?;
            if let Some(core) = &mut bench.core {
                core_batches(core, Work::New, &Form::Fixed.pack(KIND, items()));
            }
            first = end;
        }
        Ok(bench)
    }

    /// The medians of the rounds, in the order of the heads. A round runs everything in turn.
    fn figures(&mut self, work: Work, count: u64, rounds: u32) -> Result<Vec<f64>> {
        let items = || (0..count).map(|index| work.item(index, self.held));
        let key = if work == Work::New { FRESH } else { STANDING };
        let name = if work.adds() { "BF.MADD" } else { "BF.MEXISTS" };
        let mut payloads = vec![Payload::of_items(name, key, 1000, KIND, items())];
        let packed = Form::Fixed.pack(KIND, items());
        if self.core.is_some() {
            let name = if work.adds() { "BF.BULKADD" } else { "BF.BULKEXISTS" };
            let items: Vec<Item> = items().collect();
            for form in Form::ALL {
                payloads.push(Payload::packed(name, key, form, KIND, &items));
            }
        }
        let mut times = vec![Vec::new(); EXPERIMENT.heads.len()];
        for _ in 0..rounds {
            let mut round = Vec::new();
            for payload in &payloads {
                round.push(self.on_server(work, payload)?);
            }
            if let Some(core) = &self.core {
                let time = on_core(core, work, &packed)?;
                let fixed = round.get(1).copied().unwrap_or(f64::NAN);
                round.extend([time, fixed / time]);
            }
            times.iter_mut().zip(round).for_each(|(times, time)| times.push(time));
        }
        Ok(times.into_iter().map(|times| median(times.into_iter()).unwrap_or(f64::NAN)).collect())
    }

    /// The server's nanoseconds per item.
    fn on_server(&mut self, work: Work, payload: &Payload) -> Result<f64> {
        if work == Work::New {
            // Not UNLINK, because freeing in the background would take time from the sample.
            cmd("DEL").arg(FRESH).exec(&mut self.server.connection)?;
            cmd("COPY").arg(STANDING).arg(FRESH).exec(&mut self.server.connection)?;
        } else {
            send(&mut self.server, Traffic::Pipelined, payload)?;
        }
        cmd("CONFIG").arg("RESETSTAT").exec(&mut self.server.connection)?;
        let ones = send(&mut self.server, Traffic::Pipelined, payload)?;
        check(work, ones, payload.items)?;
        let (_, microseconds) = self.server.command_statistics(payload.command)?;
        Ok(microseconds as f64 * 1000.0 / payload.items as f64)
    }
}

/// The core's nanoseconds per item.
fn on_core(standing: &BloomFilter, work: Work, packed: &[u8]) -> Result<f64> {
    let mut filter = standing.try_clone()?;
    if work != Work::New {
        core_batches(&mut filter, work, packed);
    }
    let started = Instant::now();
    let ones = core_batches(&mut filter, work, packed);
    let elapsed = started.elapsed();
    let items = (packed.len() / KIND.bytes()) as u64;
    check(work, ones, items)?;
    Ok(elapsed.as_secs_f64() * 1e9 / items as f64)
}

/// Runs all items in batches of the same size as the calls; returns how many got 1.
fn core_batches(filter: &mut BloomFilter, work: Work, packed: &[u8]) -> u64 {
    let mut ones = 0;
    for part in packed.chunks(PACKED_BATCH as usize * KIND.bytes()) {
        let items = part.chunks_exact(KIND.bytes());
        if work.adds() {
            filter.insert_batch(items, |result| ones += u64::from(result == Ok(true)));
        } else {
            filter.contains_batch(items, |is_found| ones += u64::from(is_found));
        }
    }
    ones
}

/// Rejects a time whose answers are wrong.
fn check(work: Work, ones: u64, items: u64) -> Result<()> {
    let share = ones as f64 / items as f64;
    let is_right = match work {
        Work::New => share >= 0.98,
        Work::Duplicate => ones == 0,
        Work::Hit => ones == items,
        Work::Miss => share <= 0.02,
    };
    if is_right { Ok(()) } else { Err(format!("wrong answers: {ones} of {items} got 1").into()) }
}
