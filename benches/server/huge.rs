//! Large filters with pages of 4 KiB and of 2 MiB: `make bench-huge`.
//!
//! ```text
//! make bench-huge ARGS="--sizes 1g,5g"
//! ```
//!
//! Two servers hold the same filter at 1 %, reserved, with a 64th of its items: so all pages are in
//! use. One of them may not have huge pages (`PR_SET_THP_DISABLE`). They take turns in calls of a
//! thousand packed items of eight bytes. The time is what the server counts for the command, the
//! longest call what the client has waited.

use std::io;
use std::time::{Duration, Instant};

use bloomline_harness::poll;
use redis::cmd;
use serde_json::{Value, json};

use crate::cores::Cores;
use crate::items::mix;
use crate::machine::Machine;
use crate::options::Options;
use crate::outcome::{median, write_file};
use crate::result::Result;
use crate::scale::Scale;
use crate::server::Server;
use crate::{column, sizes};

const KEY: &str = "filter";
/// Items of a call, and bytes of an item.
const BATCH: u64 = 1000;
/// Bits of a filter per item at 1 %, rounded up.
const BITS: u64 = 10;
/// Items of other runs of numbers: none of them is added.
const ABSENT: u64 = 1 << 40;
/// How long the huge pages of a filter may take.
const DEADLINE: Duration = Duration::from_secs(300);

/// What is measured, in the order of a round.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Op {
    New,
    Hit,
    Absent,
}

const OPS: [Op; 3] = [Op::New, Op::Hit, Op::Absent];

/// A round of an operation.
struct Sample {
    op: Op,
    nanoseconds: f64,
    longest: Duration,
}

/// One server, and what was measured on it.
struct Side {
    name: &'static str,
    server: Server,
    added: u64,
    samples: Vec<Sample>,
}

/// Measures each size, prints a table, and writes every round as JSON.
pub fn bench(options: &Options, cores: &Cores) -> Result<()> {
    let sizes = sizes::parse(match (options.sizes.as_str(), options.scale) {
        ("", Scale::Smoke) => "80m",
        ("", _) => "1g,5g",
        (sizes, _) => sizes,
    })?;
    let items = if options.scale == Scale::Smoke { 10 * BATCH } else { 2000 * BATCH };
    let (mut rows, mut machine) = (Vec::new(), None);
    println!("| filter | pages | new ns | hit ns | absent ns | longest call ms |");
    println!("|---|---|---|---|---|---|");
    for bytes in sizes {
        let mut sides = [("4 KiB", false), ("2 MiB", true)]
            .map(|(name, is_huge)| fill(name, is_huge, bytes, options, cores))
            .into_iter()
            .collect::<Result<Vec<Side>>>()?;
        // The host of a virtual machine may have taken back memory that was idle.
        sides.iter_mut().try_for_each(|side| side.call(Op::Absent, items).map(drop))?;
        for _ in 0..options.rounds {
            for op in OPS {
                sides.iter_mut().try_for_each(|side| side.measure(op, items))?;
            }
        }
        for side in &mut sides {
            rows.push(side.row(bytes)?);
            machine = Some(Machine::describe(side.server.version()?, cores.server));
        }
    }
    let whole = json!({
        "command": options.command_line(),
        "machine": machine.map(|machine| machine.fields),
        "unit": "ns per item",
        "rows": rows,
    });
    write_file(&options.json, &whole)
}

/// Starts a server with a filter, and waits for its huge pages if it may have some.
fn fill(
    name: &'static str,
    is_huge: bool,
    bytes: u64,
    options: &Options,
    cores: &Cores,
) -> Result<Side> {
    permit_huge_pages(is_huge)?;
    // The thread that makes huge pages has a core of its own.
    let setup = column::setup(Some(&options.bloomline.0), "")?.on_cores(cores.all);
    let server = Server::start(&options.server, &setup)?;
    let mut side = Side { name, server, added: 0, samples: Vec::new() };
    let capacity = bytes * 8 / BITS;
    side.server.run(&format!("BF.RESERVE {KEY} 0.01 {capacity}"))?;
    side.call(Op::New, capacity / 64)?;
    if is_huge {
        let process = side.server.harness.process();
        let most = poll(DEADLINE, || -> Result<Option<()>> {
            Ok((process.huge_pages()? >= bytes / 100 * 98).then_some(()))
        })?;
        most.ok_or("no huge pages: see docs/reference/memory.md#huge-pages")?;
    }
    Ok(side)
}

/// Permits huge pages to servers that this process starts, or forbids them.
fn permit_huge_pages(is_permitted: bool) -> Result<()> {
    // SAFETY: changes a setting of this process, which its children inherit.
    match unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, u64::from(!is_permitted), 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error().into()),
    }
}

impl Op {
    fn name(self) -> &'static str {
        match self {
            Op::New => "new",
            Op::Hit => "hit",
            Op::Absent => "absent",
        }
    }

    fn command(self) -> &'static str {
        match self {
            Op::New => "BF.BULKADD",
            Op::Hit | Op::Absent => "BF.BULKEXISTS",
        }
    }

    /// An item, if the filter has those up to `added`.
    fn item(self, number: u64, added: u64) -> u64 {
        match self {
            Op::New => added + number,
            // Any of the items, since those added in a row may be in the cache.
            Op::Hit => mix(number ^ added << 20) % added,
            Op::Absent => ABSENT + mix(number ^ added << 20) % ABSENT,
        }
    }

    /// True if this many of the answers of a call may be 1.
    fn is_right(self, ones: u64) -> bool {
        match self {
            Op::New => ones >= BATCH / 10 * 9,
            Op::Hit => ones == BATCH,
            Op::Absent => ones <= BATCH / 10,
        }
    }
}

impl Side {
    fn measure(&mut self, op: Op, items: u64) -> Result<()> {
        self.server.run("CONFIG RESETSTAT")?;
        let longest = self.call(op, items)?;
        let (_, microseconds) = self.server.command_statistics(op.command())?;
        let nanoseconds = microseconds as f64 * 1000.0 / items as f64;
        self.samples.push(Sample { op, nanoseconds, longest });
        Ok(())
    }

    /// Makes the calls of an operation. Returns the time of the longest one.
    fn call(&mut self, op: Op, items: u64) -> Result<Duration> {
        let (before, mut longest) = (self.added, Duration::ZERO);
        for first in (0..items).step_by(BATCH as usize) {
            let items = (first..first + BATCH).map(|number| op.item(number, before));
            let mut call = cmd(op.command());
            call.arg(KEY).arg("FIXED").arg(8);
            call.arg(items.flat_map(u64::to_le_bytes).collect::<Vec<u8>>()).arg("COUNT");
            let start = Instant::now();
            let (_, ones): (u64, u64) = call.query(&mut self.server.connection)?;
            longest = longest.max(start.elapsed());
            if !op.is_right(ones) {
                return Err(format!("wrong answers: {ones} of {BATCH} {} items", op.name()).into());
            }
            self.added += if op == Op::New { BATCH } else { 0 };
        }
        Ok(longest)
    }

    fn of(&self, op: Op) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(move |sample| sample.op == op)
    }

    /// Prints the row of the table, and returns the measured numbers.
    fn row(&self, bytes: u64) -> Result<Value> {
        let size = sizes::show(bytes);
        let [new, hit, absent] =
            OPS.map(|op| median(self.of(op).map(|sample| sample.nanoseconds)).unwrap_or(f64::NAN));
        let milliseconds = |sample: &Sample| sample.longest.as_secs_f64() * 1000.0;
        let longest = self.samples.iter().map(milliseconds).fold(0.0, f64::max);
        println!("| {size} | {} | {new:.1} | {hit:.1} | {absent:.1} | {longest:.1} |", self.name);
        let rounds = |sample: &Sample| {
            json!({
                "op": sample.op.name(),
                "ns_per_item": sample.nanoseconds,
                "longest_ms": milliseconds(sample),
            })
        };
        Ok(json!({
            "filter": size,
            "pages": self.name,
            "bytes_in_huge_pages": self.server.harness.process().huge_pages()?,
            "rounds": self.samples.iter().map(rounds).collect::<Vec<_>>(),
        }))
    }
}
