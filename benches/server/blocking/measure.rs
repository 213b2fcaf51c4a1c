//! One filter: every command on it.

use std::time::Duration;

use redis::{Cmd, Value, cmd};

use super::bench::{Bench, LARGEST_PAYLOAD, OTHER};
use super::clock::{self, Repeats};
use super::cuckoo;
use super::filters::{self, Bits, CHUNK, FILTER, Layout, State};
use super::plain_copy::PlainCopy;
use super::rotation;
use super::rows::{Cell, Cells, Row};
use super::{joining, persist};
use crate::items::{Item, Kind};
use crate::result::Result;
use crate::server::Server;
use crate::sizes::Size;

/// The largest filter that is filled. COPY then takes 8 GB, and SAVE a minute.
const LARGEST_FILLED: u64 = 4_000_000_000;

/// The largest filter in RedisBloom's layout, which holds at most 2^30 items, 1.5 GB at 1 %.
const LARGEST_REDISBLOOM: u64 = 1_000_000_000;

/// The largest filter whose digest is requested. The digest reads 0.3 GB per second, whatever the
/// bits are.
const LARGEST_DIGEST: u64 = 4_000_000_000;

/// The largest filter that is copied only to be freed again.
const LARGEST_FREED: u64 = 100_000_000;

/// Items per call of several items.
const BATCH: u64 = 1000;

/// Measures all rows on one filter. Cells that are left out cannot be measured or would take too
/// long.
pub fn measure(
    server: &mut Server,
    size: Size,
    layout: Layout,
    state: State,
    runs: u32,
    cells: &mut Cells,
) -> Result<()> {
    let bytes = size.bytes();
    let is_left_out = layout == Layout::RedisBloom && bytes > LARGEST_REDISBLOOM
        || state == State::Filled && bytes > LARGEST_FILLED;
    if is_left_out {
        return Ok(());
    }
    let mut bench = Bench { server, cells, layout, runs };
    bench.flush()?;
    let capacity = filters::capacity_of(bench.server, bytes, layout)?;
    if state == State::Untouched && layout == Layout::Bloomline && !bench.reserve(capacity)? {
        return Ok(());
    }
    let reserve = |key| filters::reserve(key, capacity, layout);
    bench.execute(&reserve(FILTER))?;
    let bits = Bits::new();
    if state == State::Filled {
        filters::fill(bench.server, FILTER, &bits)?;
    }
    if layout == Layout::Bloomline {
        bench.queries(bytes)?;
        bench.chunks(state, bytes, &bits)?;
        bench.copies(state, bytes)?;
        if state == State::Untouched {
            bench.timed_after(Row::Unlink, &[reserve(OTHER)], cmd("UNLINK").arg(OTHER), &[])?;
        } else if bytes <= LARGEST_FREED {
            let copy = cmd("COPY").arg(FILTER).arg(OTHER).clone();
            bench.timed_after(Row::Unlink, &[copy], cmd("UNLINK").arg(OTHER), &[])?;
        }
    }
    if state == State::Untouched || bytes <= LARGEST_PAYLOAD {
        persist::payload(&mut bench)?;
    }
    persist::files(&mut bench)?;
    // This comes last, because an item writes to untouched pages.
    bench.items()?;
    if layout == Layout::Bloomline && state == State::Filled {
        bench.timed::<u64>(Row::Unlink, cmd("UNLINK").arg(FILTER))?;
    }
    bench.flush()?;
    if layout == Layout::Bloomline {
        rotation::measure(&mut bench, bytes, state)?;
        if state == State::Filled && bytes <= LARGEST_PAYLOAD {
            joining::measure(&mut bench, bytes, capacity)?;
            cuckoo::measure(&mut bench, bytes)?;
        }
        if state == State::Untouched {
            bench.growth(bytes)?;
            bench.flush()?;
        }
    }
    Ok(())
}

impl Bench<'_> {
    /// A command that changes nothing.
    fn query(&mut self, row: Row, command: &Cmd) -> Result<()> {
        self.timed_after(row, &[], command, &[])
    }

    /// BF.RESERVE; false if the server refuses the size.
    fn reserve(&mut self, capacity: u64) -> Result<bool> {
        let command = filters::reserve(OTHER, capacity, self.layout);
        self.timed_after(Row::Reserve, &[], &command, &[cmd("DEL").arg(OTHER).clone()])?;
        Ok(!matches!(self.cells.get(&(Row::Reserve, self.layout)), Some(Cell::Refused(_))))
    }

    fn queries(&mut self, bytes: u64) -> Result<()> {
        self.overview()?;
        if bytes <= LARGEST_DIGEST {
            self.query(Row::Digest, cmd("DEBUG").arg("DIGEST-VALUE").arg(FILTER))?;
        }
        Ok(())
    }

    /// The commands that report on the whole filter, and a lookup.
    pub fn overview(&mut self) -> Result<()> {
        self.query(Row::Exists, cmd("BF.EXISTS").arg(FILTER).arg("nobody"))?;
        self.query(Row::Card, cmd("BF.CARD").arg(FILTER))?;
        self.query(Row::Info, cmd("BF.INFO").arg(FILTER))?;
        self.query(Row::InfoFill, cmd("BF.INFO").arg(FILTER).arg("FILL"))?;
        self.query(Row::InfoFpRate, cmd("BF.INFO").arg(FILTER).arg("FPRATE"))?;
        self.query(Row::Debug, cmd("BF.DEBUG").arg(FILTER))?;
        self.query(Row::MemoryUsage, cmd("MEMORY").arg("USAGE").arg(FILTER))
    }

    /// BF.SCANDUMP and BF.LOADCHUNK.
    fn chunks(&mut self, state: State, bytes: u64, bits: &Bits) -> Result<()> {
        self.query(Row::DumpHeader, cmd("BF.SCANDUMP").arg(FILTER).arg(0))?;
        let mut repeats = Repeats::of(self.runs);
        while repeats.next() {
            clock::reset(self.server)?;
            let mut iterator = 1_u64;
            while iterator != 0 {
                let mut command = cmd("BF.SCANDUMP");
                command.arg(FILTER).arg(iterator);
                let (next, _): (u64, Value) = command.query(&mut self.server.connection)?;
                iterator = next;
            }
            let times = clock::times(self.server, "BF.SCANDUMP")?;
            self.add(
                Row::DumpChunk,
                clock::milliseconds(times.iter().copied().max().unwrap_or_default()),
            );
            self.add(Row::DumpAll, clock::milliseconds(times.iter().sum::<Duration>()));
        }

        let header = filters::load(OTHER, 1, &filters::header(self.server, FILTER)?);
        let delete = cmd("DEL").arg(OTHER).clone();
        self.timed_after(Row::LoadHeader, &[], &header, std::slice::from_ref(&delete))?;
        let layer = filters::layer_bytes(self.server, FILTER)?.first().copied().unwrap_or(bytes);
        let len = CHUNK.min(usize::try_from(layer)?);
        let chunk = |key| {
            Ok::<_, Box<dyn std::error::Error>>(filters::load(
                key,
                len as u64 + 1,
                bits.chunk(0, len)?,
            ))
        };
        match state {
            State::Untouched => {
                self.timed_after(Row::LoadChunk, &[header], &chunk(OTHER)?, &[delete])
            }
            State::Filled => self.timed_after(Row::LoadChunk, &[], &chunk(FILTER)?, &[]),
        }
    }

    /// COPY and DEL, and a plain copy of as much memory.
    fn copies(&mut self, state: State, bytes: u64) -> Result<()> {
        let is_compared = state == State::Filled && bytes <= LARGEST_PAYLOAD;
        let plain = if is_compared { Some(PlainCopy::of(bytes)?) } else { None };
        // All runs, because other work on the machine disturbs single runs, and the ratio is a
        // median.
        let mut repeats = Repeats::between(if is_compared { self.runs } else { 1 }, self.runs);
        while repeats.next() {
            if let Some(plain) = &plain {
                self.add(Row::PlainCopy, plain.milliseconds()?);
            }
            if self.timed::<Value>(Row::Copy, cmd("COPY").arg(FILTER).arg(OTHER))?.is_none() {
                break;
            }
            self.timed::<Value>(Row::Del, cmd("DEL").arg(OTHER))?;
            // Valkey frees in the background here as well.
            self.all_freed()?;
        }
        Ok(())
    }

    /// Calls of many items, with other items in each run.
    pub fn items(&mut self) -> Result<()> {
        let calls = [
            (Row::MExists, "BF.MEXISTS", Item::Absent as fn(u64) -> Item),
            (Row::MAdd, "BF.MADD", Item::Stored),
        ];
        for (row, name, item) in calls {
            let mut repeats = Repeats::of(self.runs);
            let mut first = 0;
            while repeats.next() {
                let command = call(name, FILTER, (first..first + BATCH).map(item));
                if self.timed::<Value>(row, &command)?.is_none() {
                    break;
                }
                first += BATCH;
            }
        }
        Ok(())
    }

    /// The addition that makes a filter grow by a layer of this many bytes.
    fn growth(&mut self, bytes: u64) -> Result<()> {
        // The second layer has a lower error rate, so more bytes per item than the first.
        const PROBE: (u64, u64) = (100, 10_000);
        let (_, probe) = self.grown(PROBE.0, PROBE.1)?;
        let items = filters::scaled(PROBE.0 * PROBE.1, bytes, probe);
        let first = items.div_ceil(LARGEST_EXPANSION);
        let mut repeats = Repeats::of(self.runs);
        while repeats.next() {
            let (time, _) = self.grown(first, (items / first).max(1))?;
            self.add(Row::Grow, time);
        }
        Ok(())
    }

    /// Fills a first layer of `capacity` items; returns the time of the addition that adds the
    /// second layer, and the bytes of that layer.
    fn grown(&mut self, capacity: u64, expansion: u64) -> Result<(f64, u64)> {
        let mut reserve = cmd("BF.RESERVE");
        self.execute(reserve.arg(OTHER).arg("0.01").arg(capacity).arg("EXPANSION").arg(expansion))?;
        let mut next = 0;
        loop {
            let held: u64 = cmd("BF.CARD").arg(OTHER).query(&mut self.server.connection)?;
            let count = BATCH.min(capacity - held);
            if count == 0 {
                break;
            }
            // Some items are false positives, so that the layer may need more items than its
            // capacity.
            self.execute(&call("BF.MADD", OTHER, (next..next + count).map(Item::Stored)))?;
            next += count;
        }
        for item in next.. {
            let (_, time): (Value, f64) = clock::timed(
                self.server,
                &call("BF.ADD", OTHER, std::iter::once(Item::Stored(item))),
            )?;
            if let Some(&bytes) = filters::layer_bytes(self.server, OTHER)?.get(1) {
                self.execute(cmd("DEL").arg(OTHER))?;
                return Ok((time, bytes));
            }
        }
        Err("the filter does not grow".into())
    }
}

/// The largest `EXPANSION`.
const LARGEST_EXPANSION: u64 = 32_768;

/// A command on items.
fn call(name: &str, key: &str, items: impl Iterator<Item = Item>) -> Cmd {
    let mut command = cmd(name);
    command.arg(key);
    let mut bytes = Vec::new();
    for item in items {
        Kind::Hex40.write(item, &mut bytes);
        command.arg(bytes.as_slice());
    }
    command
}
