//! The time of packed items on the server, beside the core's own batches of the same items.

use std::time::Instant;

use bloomline_core::{BloomFilter, Layout};

use super::{Cases, Experiment, Plan, Subject};
use crate::items::{Item, Kind};
use crate::measure::{bounds, check, timed};
use crate::outcome::median;
use crate::packed::{Form, PACKED_BATCH};
use crate::payload::{Payload, send};
use crate::result::Result;
use crate::server::Server;
use crate::workloads::{FRESH, Op, STANDING, Traffic, scatter, thousands};

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

/// What the calls of a line do.
const WORK: [(Op, &str); 4] =
    [(Op::Fresh, "new"), (Op::Duplicate, "duplicate"), (Op::Hit, "hit"), (Op::Miss, "miss")];

fn run(subject: &Subject, plan: Plan) -> Result<Cases> {
    let count = plan.size(200_000, 200_000, 2_000);
    let rounds = plan.size(15, 9, 1);
    let mut lines = Vec::new();
    for held in [count, plan.size(20_000_000, 10_000_000, 10_000)] {
        let mut bench = Bench::new(subject, held)?;
        for (op, name) in WORK {
            let item = |index| match op {
                Op::Fresh => Item::Stored(held + index),
                Op::Miss => Item::Absent(index),
                _ => Item::Stored(scatter(index, held)),
            };
            let figures = bench.figures(op, &(0..count).map(item).collect::<Vec<_>>(), rounds)?;
            lines.push((format!("{name}, {} in the filter", thousands(held)), figures));
        }
    }
    Ok(lines)
}

/// A filter on a server; and an equal one without a server, if the module has packed items.
struct Bench {
    server: Server,
    core: Option<BloomFilter>,
}

impl Bench {
    fn new(subject: &Subject, held: u64) -> Result<Bench> {
        let mut server = subject.timed_server()?;
        let capacity = 2 * held;
        server.run(&format!("BF.RESERVE {STANDING} 0.01 {capacity}"))?;
        let mut core = None;
        if subject.packs {
            let layout = if subject.forgets { Layout::Bloomline } else { Layout::RedisBloom };
            let builder = BloomFilter::builder().false_positive_rate(0.01).layout(layout);
            core = Some(builder.capacity(capacity).build()?);
        }
        let slice = 10 * PACKED_BATCH;
        for first in (0..held).step_by(slice as usize) {
            let items = || (first..held.min(first + slice)).map(Item::Stored);
            let payload = Payload::of_items("BF.MADD", STANDING, 1000, KIND, items());
            send(&mut server, Traffic::Pipelined, &payload)?;
            if let Some(core) = &mut core {
                core_batches(core, Op::Fresh, &Form::Fixed.pack(KIND, items()));
            }
        }
        Ok(Bench { server, core })
    }

    /// The medians of the rounds, in the order of the heads. A round runs everything in turn.
    fn figures(&mut self, op: Op, items: &[Item], rounds: u32) -> Result<Vec<f64>> {
        let key = if op == Op::Fresh { FRESH } else { STANDING };
        let (plain, packed) = match op.is_lookup() {
            true => ("BF.MEXISTS", "BF.BULKEXISTS"),
            false => ("BF.MADD", "BF.BULKADD"),
        };
        let mut payloads = vec![Payload::of_items(plain, key, 1000, KIND, items.iter().copied())];
        if self.core.is_some() {
            let pack = |form| Payload::packed(packed, key, form, KIND, items);
            payloads.extend(Form::ALL.map(pack));
        }
        let data = Form::Fixed.pack(KIND, items.iter().copied());
        let mut times = vec![Vec::new(); EXPERIMENT.heads.len()];
        for _ in 0..rounds {
            let mut round = Vec::new();
            for payload in &payloads {
                round.push(self.on_server(op, payload)?);
            }
            if let Some(core) = &self.core {
                let time = on_core(core, op, &data)?;
                let fixed = round.get(1).copied().unwrap_or(f64::NAN);
                round.extend([time, fixed / time]);
            }
            times.iter_mut().zip(round).for_each(|(times, time)| times.push(time));
        }
        Ok(times.into_iter().map(|times| median(times.into_iter()).unwrap_or(f64::NAN)).collect())
    }

    /// The server's nanoseconds per item.
    fn on_server(&mut self, op: Op, payload: &Payload) -> Result<f64> {
        if op == Op::Fresh {
            // Not UNLINK, because freeing in the background would take time from the sample.
            self.server.run("DEL fresh")?;
            self.server.run("COPY standing fresh")?;
        } else {
            send(&mut self.server, Traffic::Pipelined, payload)?;
        }
        let sample = timed(&mut self.server, Traffic::Pipelined, payload)?;
        check(sample.ones, bounds(op))?;
        Ok(sample.nanoseconds)
    }
}

/// The core's nanoseconds per item.
fn on_core(standing: &BloomFilter, op: Op, data: &[u8]) -> Result<f64> {
    let mut filter = standing.try_clone()?;
    if op != Op::Fresh {
        core_batches(&mut filter, op, data);
    }
    let started = Instant::now();
    let ones = core_batches(&mut filter, op, data);
    let elapsed = started.elapsed();
    let items = (data.len() / KIND.bytes()) as f64;
    check(ones as f64 / items, bounds(op))?;
    Ok(elapsed.as_secs_f64() * 1e9 / items)
}

/// Runs all items in batches of the same size as the calls; returns how many got 1.
fn core_batches(filter: &mut BloomFilter, op: Op, data: &[u8]) -> u64 {
    let mut ones = 0;
    for part in data.chunks(PACKED_BATCH as usize * KIND.bytes()) {
        let items = part.chunks_exact(KIND.bytes());
        if op.is_lookup() {
            filter.contains_batch(items, |is_found| ones += u64::from(is_found));
        } else {
            filter.insert_batch(items, |result| ones += u64::from(result == Ok(true)));
        }
    }
    ones
}
