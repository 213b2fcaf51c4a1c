//! The rows of one filter: every command on it.

use redis::{Cmd, Value, cmd};

use super::bench::{Bench, Row};
use super::filters::{FILTER, Layout, OTHER, State, capacity_of, header, reserve, scaled};
use super::plain::PlainCopy;
use super::{clock, cuckoo, files, joining, rotation};
use crate::bits::{Bits, CHUNK, layer_bytes, load};
use crate::items::{Item, Kind};
use crate::result::Result;

/// The largest filter that is filled. COPY then takes 8 GB, and SAVE a minute.
const LARGEST_FILLED: u64 = 4_000_000_000;

/// The largest filter of which the server makes a payload with as many bytes. With the reply and
/// the client's copy of it, DUMP takes five times the filter. In RedisBloom's layout the
/// compression takes as much again. Copies of filled filters have the same limit.
const LARGEST_PAYLOAD: u64 = 1_000_000_000;

/// The largest filter in RedisBloom's layout, which holds at most 2^30 items, 1.5 GB at 1 %.
const LARGEST_REDISBLOOM: u64 = 1_000_000_000;

/// The largest filter whose digest is requested. The digest reads 0.3 GB per second, whatever the
/// bits are.
const LARGEST_DIGEST: u64 = 4_000_000_000;

/// The largest filter that is copied only to be freed again.
const LARGEST_FREED: u64 = 100_000_000;

/// Items per call of several items.
const BATCH: u64 = 1000;

/// The commands that report on the whole filter, and a lookup: also on filters of many layers.
pub const OVERVIEW: [Row; 7] = [
    ("BF.EXISTS", "", "BF.EXISTS filter nobody", ""),
    ("BF.CARD", "", "BF.CARD filter", ""),
    ("BF.INFO", "", "BF.INFO filter", ""),
    ("BF.INFO FILL", "", "BF.INFO filter FILL", ""),
    ("BF.INFO FPRATE", "", "BF.INFO filter FPRATE", ""),
    ("BF.DEBUG", "", "BF.DEBUG filter", ""),
    ("MEMORY USAGE", "", "MEMORY USAGE filter", ""),
];

/// Measures all rows on filters of about this many bytes. Cells that are left out cannot be
/// measured or would take too long.
pub fn measure(bench: &mut Bench, bytes: u64) -> Result<()> {
    let (layout, is_filled) = (bench.layout, bench.state == State::Filled);
    let is_left_out = layout == Layout::RedisBloom && bytes > LARGEST_REDISBLOOM
        || is_filled && bytes > LARGEST_FILLED;
    if is_left_out {
        return Ok(());
    }
    bench.flush()?;
    let capacity = capacity_of(bench.server, bytes, |server, key, capacity| {
        server.run(&reserve(key, capacity, layout))?;
        Ok(layer_bytes(server, key)?.iter().sum())
    })?;
    let is_ours = layout == Layout::Bloomline;
    let make_other = reserve(OTHER, capacity, layout);
    if is_ours && !is_filled && !bench.rows(&[("BF.RESERVE", "", &make_other, "DEL other")])? {
        return Ok(());
    }
    bench.server.run(&reserve(FILTER, capacity, layout))?;
    let bits = Bits::new(1);
    if is_filled {
        bits.fill(bench.server, FILTER)?;
    }
    if is_ours {
        bench.rows(&OVERVIEW)?;
        if bytes <= LARGEST_DIGEST {
            bench.rows(&[("DEBUG DIGEST-VALUE", "", "DEBUG DIGEST-VALUE filter", "")])?;
        }
        chunks(bench, bytes, &bits)?;
        copies(bench, (is_filled && bytes <= LARGEST_PAYLOAD).then_some(bytes))?;
        if !is_filled || bytes <= LARGEST_FREED {
            let make_other = if is_filled { "COPY filter other" } else { &make_other };
            bench.rows(&[("UNLINK", make_other, "UNLINK other", "")])?;
        }
    }
    if !is_filled || bytes <= LARGEST_PAYLOAD {
        files::payload(bench)?;
    }
    files::save(bench)?;
    // This comes last, because an item writes to untouched pages.
    items(bench)?;
    if is_ours && is_filled {
        bench.line("UNLINK", "UNLINK filter")?;
    }
    bench.flush()?;
    if is_ours && (!is_filled || bytes <= LARGEST_PAYLOAD) {
        rotation::measure(bench, bytes)?;
    }
    if is_ours && is_filled && bytes <= LARGEST_PAYLOAD {
        joining::measure(bench, bytes, capacity)?;
        cuckoo::measure(bench, bytes)?;
    }
    if is_ours && !is_filled {
        growth(bench, bytes)?;
        bench.flush()?;
    }
    Ok(())
}

/// BF.SCANDUMP and BF.LOADCHUNK.
fn chunks(bench: &mut Bench, bytes: u64, bits: &Bits) -> Result<()> {
    bench.rows(&[("BF.SCANDUMP, header", "", "BF.SCANDUMP filter 0", "")])?;
    for _ in bench.runs() {
        clock::reset(bench.server)?;
        let mut iterator = 1_u64;
        while iterator != 0 {
            let mut command = cmd("BF.SCANDUMP");
            command.arg(FILTER).arg(iterator);
            (iterator, _) = command.query::<(u64, Value)>(&mut bench.server.connection)?;
        }
        let times = clock::times(bench.server, "BF.SCANDUMP")?;
        let longest = times.iter().copied().max_by(f64::total_cmp);
        bench.add("BF.SCANDUMP, longest chunk", longest.unwrap_or_default());
        bench.add("BF.SCANDUMP, sum of chunks", times.iter().sum());
    }

    let load_header = load("BF", OTHER, 1, &header(bench.server, "BF", FILTER)?);
    bench.repeat("BF.LOADCHUNK, header", &Cmd::new(), &load_header, "DEL other")?;
    let layer = layer_bytes(bench.server, FILTER)?.first().copied().unwrap_or(bytes);
    let len = CHUNK.min(usize::try_from(layer)?);
    let (key, before) = match bench.state {
        State::Filled => (FILTER, Cmd::new()),
        State::Untouched => (OTHER, load_header),
    };
    let load_chunk = load("BF", key, len as u64 + 1, bits.chunk(0, len)?);
    bench.repeat("BF.LOADCHUNK, first chunk", &before, &load_chunk, "DEL other")?;
    Ok(())
}

/// COPY and DEL, and a plain copy of this many bytes just before.
fn copies(bench: &mut Bench, compared: Option<u64>) -> Result<()> {
    let plain = compared.map(PlainCopy::of).transpose()?;
    // All runs, because other work on the machine disturbs single runs, and the ratio is a median.
    let least = if plain.is_some() { bench.most_runs } else { 1 };
    for _ in clock::runs(least, bench.most_runs) {
        if let Some(plain) = &plain {
            bench.add("plain copy", plain.milliseconds()?);
        }
        if bench.line("COPY", "COPY filter other")?.is_none() {
            break;
        }
        bench.line("DEL", "DEL other")?;
        // Valkey frees in the background here as well.
        bench.all_freed()?;
    }
    Ok(())
}

/// Calls of many items, with other items in each run.
pub fn items(bench: &mut Bench) -> Result<()> {
    let calls = [
        ("BF.MEXISTS, 1,000 items", "BF.MEXISTS", Item::Absent as fn(u64) -> Item),
        ("BF.MADD, 1,000 new items", "BF.MADD", Item::Stored),
    ];
    for (row, name, item) in calls {
        for run in bench.runs() {
            let first = u64::from(run) * BATCH;
            let command = call(name, FILTER, (first..first + BATCH).map(item));
            if bench.timed::<Value>(row, &command)?.is_none() {
                break;
            }
        }
    }
    Ok(())
}

/// The addition that makes a filter grow by a layer of this many bytes.
fn growth(bench: &mut Bench, bytes: u64) -> Result<()> {
    // The second layer has a lower error rate, so more bytes per item than the first.
    const PROBE: (u64, u64) = (100, 10_000);
    /// The largest `EXPANSION`.
    const LARGEST_EXPANSION: u64 = 32_768;

    let (_, probe) = grown(bench, PROBE.0, PROBE.1)?;
    let items = scaled(PROBE.0 * PROBE.1, bytes, probe);
    let first = items.div_ceil(LARGEST_EXPANSION);
    for _ in bench.runs() {
        let (time, _) = grown(bench, first, (items / first).max(1))?;
        bench.add("BF.ADD that adds a layer", time);
    }
    Ok(())
}

/// Fills a first layer of `capacity` items; returns the time of the addition that adds the second
/// layer, and the bytes of that layer.
fn grown(bench: &mut Bench, capacity: u64, expansion: u64) -> Result<(f64, u64)> {
    bench.server.run(&format!("BF.RESERVE other 0.01 {capacity} EXPANSION {expansion}"))?;
    let mut next = 0;
    loop {
        let held: u64 = cmd("BF.CARD").arg(OTHER).query(&mut bench.server.connection)?;
        let count = BATCH.min(capacity - held);
        if count == 0 {
            break;
        }
        // Some items are false positives, so that the layer may need more items than its capacity.
        let items = (next..next + count).map(Item::Stored);
        call("BF.MADD", OTHER, items).exec(&mut bench.server.connection)?;
        next += count;
    }
    for item in next.. {
        let add = call("BF.ADD", OTHER, std::iter::once(Item::Stored(item)));
        let (_, time) = clock::timed::<Value>(bench.server, &add)?;
        if let Some(&bytes) = layer_bytes(bench.server, OTHER)?.get(1) {
            bench.server.run("DEL other")?;
            return Ok((time, bytes));
        }
    }
    Err("the filter does not grow".into())
}

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
