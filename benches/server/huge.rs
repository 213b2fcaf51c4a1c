//! Large filters with pages of 4 KiB and of 2 MiB.
//!
//! ```text
//! make bench ARGS="--huge --sizes 1g,4g,10g"
//! ```
//!
//! Two servers, one after the other, hold the same filter at 1 %, NONSCALING, with a 64th of its
//! capacity: so all pages are in use. The first may not have huge pages (`PR_SET_THP_DISABLE`). The
//! calls have a thousand packed items of eight bytes. The time is what the server counts for the
//! command, the longest call what the client has waited.

use std::time::{Duration, Instant};
use std::{io, thread};

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
use crate::server::{Server, command};
use crate::workloads::thousands;
use crate::{column, sizes};

const KEY: &str = "filter";
/// Items of a call.
const BATCH: u64 = 1000;
/// Items of other runs of numbers: none of them is added.
const ABSENT: u64 = 1 << 40;
/// How long to wait for the huge pages of a filter.
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
    /// Bytes of the filter.
    bytes: u64,
    added: u64,
    samples: Vec<Sample>,
}

/// Measures each capacity, prints a table, and writes every round as JSON.
pub fn bench(options: &Options, cores: &Cores) -> Result<()> {
    let capacities = sizes::parse(match (options.sizes.as_str(), options.scale) {
        ("", Scale::Smoke) => "80m",
        ("", _) => "1g,4g",
        (sizes, _) => sizes,
    })?;
    let items = if options.scale == Scale::Smoke { 10 * BATCH } else { 2000 * BATCH };
    let (mut rows, mut machine) = (Vec::new(), None);
    println!(
        "| capacity | GB | pages | in huge pages | new ns | hit ns | absent ns | longest call ms |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for capacity in capacities {
        for (name, is_huge) in [("4 KiB", false), ("2 MiB", true)] {
            let mut side = fill(name, is_huge, capacity, options, cores)?;
            // The host of a virtual machine may have taken back memory that was idle.
            side.call(Op::Absent, items)?;
            for _ in 0..options.rounds {
                OPS.into_iter().try_for_each(|op| side.measure(op, items))?;
            }
            rows.push(side.row(capacity)?);
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
    capacity: u64,
    options: &Options,
    cores: &Cores,
) -> Result<Side> {
    permit_huge_pages(is_huge)?;
    // The thread that makes huge pages has another core than the server.
    let setup = column::setup(Some(&options.bloomline.0), "")?.on_cores(cores.all);
    let server = Server::start(&options.server, &setup)?;
    let mut side = Side { name, server, bytes: 0, added: 0, samples: Vec::new() };
    side.server.run(&format!("BF.RESERVE {KEY} 0.01 {capacity} NONSCALING"))?;
    let sizes: Vec<u64> =
        command(&format!("BF.INFO {KEY} SIZE")).query(&mut side.server.connection)?;
    side.bytes = sizes.first().copied().ok_or("BF.INFO has no size")?;
    side.call(Op::New, capacity / 64)?;
    if is_huge {
        let process = side.server.harness.process();
        poll(DEADLINE, || -> Result<Option<()>> {
            // The kernel counts page by page, and locks the mappings meanwhile.
            thread::sleep(Duration::from_secs(2));
            Ok((process.huge_pages()? >= side.bytes / 100 * 98).then_some(()))
        })?;
        if process.huge_pages()? == 0 {
            return Err("no huge pages: see docs/reference/memory.md#huge-pages".into());
        }
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

    /// Prints the row of the table, and returns the measured numbers.
    fn row(&self, capacity: u64) -> Result<Value> {
        let [new, hit, absent] = OPS.map(|op| {
            let of_op = self.samples.iter().filter(|sample| sample.op == op);
            median(of_op.map(|sample| sample.nanoseconds)).unwrap_or(f64::NAN)
        });
        let milliseconds = |sample: &Sample| sample.longest.as_secs_f64() * 1000.0;
        let longest = self.samples.iter().map(milliseconds).fold(0.0, f64::max);
        let huge = self.server.harness.process().huge_pages()?;
        println!(
            "| {} | {:.1} | {} | {} % | {new:.1} | {hit:.1} | {absent:.1} | {longest:.1} |",
            thousands(capacity),
            self.bytes as f64 / 1e9,
            self.name,
            huge * 100 / self.bytes,
        );
        let rounds = |sample: &Sample| {
            json!({
                "op": sample.op.name(),
                "ns_per_item": sample.nanoseconds,
                "longest_ms": milliseconds(sample),
            })
        };
        Ok(json!({
            "capacity": capacity,
            "bytes": self.bytes,
            "pages": self.name,
            "bytes_in_huge_pages": huge,
            "rounds": self.samples.iter().map(rounds).collect::<Vec<_>>(),
        }))
    }
}
