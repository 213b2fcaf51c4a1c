//! The table of rows, and the filters on which each of them is run.

use redis::{Cmd, cmd};

use super::bench::{Bench, Row};
use super::clock;
use super::filters::{FILTER, Layout, OTHER, State, capacity_of, reserve};
use crate::bits::{Bits, CHUNK, layer_bytes, load};
use crate::items::{Item, Kind};
use crate::packed::Form;
use crate::result::Result;
use crate::server::Server;
use crate::workloads::GENERATIONS;

/// The largest filter that is filled. COPY then takes 8 GB, and SAVE a minute.
const LARGEST_FILLED: u64 = 4_000_000_000;

/// The largest filter of the other rows that take long: in RedisBloom's layout, which holds at most
/// 2^30 items, 1.5 GB at 1 %; of DUMP if it is filled, which takes five times the filter; of
/// merges, compactions, rotations and cuckoo filters.
const LARGEST_SLOW: u64 = 1_000_000_000;

/// The largest payload that a server accepts, `proto-max-bulk-len`.
const LARGEST_ARGUMENT: usize = 512 << 20;

/// Items per call of several items.
const BATCH: u64 = 1000;

/// What reports on the whole filter, and a lookup: also on filters of many layers.
pub const OVERVIEW: [Row; 7] = [
    ("BF.EXISTS", "", "BF.EXISTS filter nobody", ""),
    ("BF.CARD", "", "BF.CARD filter", ""),
    ("BF.INFO", "", "BF.INFO filter", ""),
    ("BF.STATS layer_fills", "", "BF.STATS filter layer_fills", ""),
    ("BF.STATS layer_fp_rates", "", "BF.STATS filter layer_fp_rates", ""),
    ("BF.DEBUG", "", "BF.DEBUG filter", ""),
    ("MEMORY USAGE", "", "MEMORY USAGE filter", ""),
];

/// What reads, writes or frees the whole filter.
const WHOLE: [Row; 6] = [
    ("BF.SCANDUMP, header", "", "BF.SCANDUMP filter 0", ""),
    ("BF.SCANDUMP, a chunk", "", "BF.SCANDUMP filter 1", ""),
    ("COPY", "", "COPY filter other", "DEL other"),
    ("DEL", "COPY filter other", "DEL other", ""),
    ("UNLINK", "COPY filter other", "UNLINK other", ""),
    ("DEBUG DIGEST-VALUE", "", "DEBUG DIGEST-VALUE filter", ""),
];

/// On a filter of which 34.4 % of the bits are set.
const SPARSE: [Row; 1] =
    [("BF.COMPACT, 60 % full", "COPY filter other", "BF.COMPACT other", "DEL other")];

/// On a cuckoo filter of which 5 % of the slots are occupied.
const CUCKOO: [Row; 5] = [
    ("SAVE of a cuckoo filter", "", "SAVE", ""),
    ("COPY of a cuckoo filter", "", "COPY filter other", "DEL other"),
    ("DEL of a cuckoo filter", "COPY filter other", "DEL other", ""),
    ("UNLINK of a cuckoo filter", "COPY filter other", "UNLINK other", ""),
    ("CF.COMPACT, 5 % full", "COPY filter other", "CF.COMPACT other", "DEL other"),
];

/// Measures all rows on filters of about this many bytes. Cells that are left out cannot be
/// measured or would take too long.
pub fn measure(bench: &mut Bench, bytes: u64) -> Result<()> {
    let (layout, is_filled) = (bench.layout, bench.state == State::Filled);
    let is_ours = layout == Layout::Bloomline;
    if !is_ours && bytes > LARGEST_SLOW || is_filled && bytes > LARGEST_FILLED {
        return Ok(());
    }
    bench.flush()?;
    let capacity = capacity_of(bench.server, bytes, layout)?;
    let bits = Bits::new(1);
    bench.server.run(&reserve(FILTER, capacity, layout))?;
    if is_filled {
        bits.fill(bench.server, FILTER)?;
    }
    if is_ours {
        bench.rows(&OVERVIEW)?;
        bench.rows(&WHOLE)?;
        load_chunk(bench, bytes, &bits)?;
    }
    if !is_filled || bytes <= LARGEST_SLOW {
        payload(bench)?;
    }
    save(bench)?;
    // This comes last, because an item writes to untouched pages.
    items(bench)?;
    if is_ours && !is_filled {
        bench.flush()?;
        bench.rows(&[("BF.RESERVE", "", &reserve(FILTER, capacity, layout), "DEL filter")])?;
        growth(bench, capacity)?;
    }
    if is_ours && is_filled && bytes <= LARGEST_SLOW {
        let merge = "BF.MERGE other filter";
        bench.rows(&[(
            "BF.MERGE into a filled filter",
            "COPY filter other",
            merge,
            "DEL other",
        )])?;
        Bits::sparse().fill(bench.server, FILTER)?;
        bench.rows(&SPARSE)?;
        cuckoo(bench, capacity)?;
    }
    if is_ours && bytes <= LARGEST_SLOW {
        rotations(bench, capacity)?;
    }
    bench.flush()
}

/// BF.LOADCHUNK of a first chunk: of the filled filter, or of one that was just reserved.
fn load_chunk(bench: &mut Bench, bytes: u64, bits: &Bits) -> Result<()> {
    let layer = layer_bytes(bench.server, FILTER)?.first().copied().unwrap_or(bytes);
    let len = CHUNK.min(usize::try_from(layer)?);
    let (key, before) = match bench.state {
        State::Filled => (FILTER, ""),
        State::Untouched => (OTHER, "COPY filter other"),
    };
    let call = load(key, len as u64 + 1, bits.chunk(0, len)?);
    bench.repeat("BF.LOADCHUNK, first chunk", before, &call, "DEL other")
}

/// DUMP, and RESTORE of its payload.
fn payload(bench: &mut Bench) -> Result<()> {
    bench.rows(&[("DUMP", "", "DUMP filter", "")])?;
    let payload: Vec<u8> = cmd("DUMP").arg(FILTER).query(&mut bench.server.connection)?;
    if payload.len() > LARGEST_ARGUMENT {
        return Ok(());
    }
    let mut restore = cmd("RESTORE");
    restore.arg(OTHER).arg(0).arg(payload);
    bench.repeat("RESTORE", "", &restore, "DEL other")
}

/// SAVE, which blocks the server, and BGSAVE, whose fork does.
fn save(bench: &mut Bench) -> Result<()> {
    bench.rows(&[("SAVE", "", "SAVE", "")])?;
    // A fork does not depend on the layout.
    if bench.layout == Layout::RedisBloom {
        return Ok(());
    }
    for _ in bench.runs() {
        bench.server.run("BGSAVE")?;
        bench.server.wait_for_save()?;
        let fork: f64 = bench.server.info("stats", "latest_fork_usec")?;
        bench.add("BGSAVE, fork", fork / 1000.0);
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
            bench.timed(row, &call(name, FILTER, (first..first + BATCH).map(item)))?;
        }
    }
    Ok(())
}

/// The addition that makes a filter grow by a layer of about this capacity.
fn growth(bench: &mut Bench, capacity: u64) -> Result<()> {
    /// The largest `EXPANSION`.
    const LARGEST_EXPANSION: u64 = 32_768;

    let first = capacity.div_ceil(LARGEST_EXPANSION);
    for _ in bench.runs() {
        let time = grow(bench.server, first, capacity / first)?;
        bench.add("BF.ADD that adds a layer", time);
    }
    Ok(())
}

/// Fills a first layer of `capacity` items; returns the time of the addition that adds the second.
fn grow(server: &mut Server, capacity: u64, expansion: u64) -> Result<f64> {
    server.run(&format!("BF.RESERVE other 0.01 {capacity} EXPANSION {expansion}"))?;
    let mut next = 0;
    loop {
        let held: u64 = cmd("BF.CARD").arg(OTHER).query(&mut server.connection)?;
        let count = BATCH.min(capacity - held);
        if count == 0 {
            break;
        }
        // Some items are false positives, so that the layer may need more items than its capacity.
        let items = (next..next + count).map(Item::Stored);
        call("BF.MADD", OTHER, items).exec(&mut server.connection)?;
        next += count;
    }
    for item in next.. {
        let add = call("BF.ADD", OTHER, std::iter::once(Item::Stored(item)));
        let (_, time) = clock::timed(server, &add)?;
        if layer_bytes(server, OTHER)?.len() > 1 {
            server.run("DEL other")?;
            return Ok(time);
        }
    }
    Err("the filter does not grow".into())
}

/// A filter with all of its generations. Each run drops one of them.
fn rotations(bench: &mut Bench, capacity: u64) -> Result<()> {
    bench.flush()?;
    let options = format!("GENERATIONS {GENERATIONS}");
    bench.server.run(&format!("BF.RESERVE filter 0.01 {capacity} {options}"))?;
    for _ in 0..GENERATIONS {
        bench.server.run("BF.ROTATE filter")?;
    }
    if bench.state == State::Filled {
        Bits::new(1).fill(bench.server, FILTER)?;
    }
    bench.rows(&[("BF.ROTATE, 9 generations", "", "BF.ROTATE filter", "")])
}

/// A cuckoo filter of this project's layout that does not grow, as after most deletions.
fn cuckoo(bench: &mut Bench, capacity: u64) -> Result<()> {
    bench.flush()?;
    // As many bytes: an item takes 17.4 bits, and 11.2 in the Bloom filter.
    let capacity = capacity * 64 / 100;
    let reserve = format!("CF.RESERVE filter {capacity} ERROR 0.0001 EXPANSION 0 LAYOUT bloomline");
    bench.rows(&[("CF.RESERVE", "", &reserve, "DEL filter")])?;
    bench.server.run(&reserve)?;
    for first in (0..capacity / 20).step_by(100_000) {
        let items = (first..(first + 100_000).min(capacity / 20)).map(Item::Stored);
        let data = Form::Fixed.pack(Kind::Bytes20, items);
        let call = Form::Fixed.call("CF.BULKADD", FILTER, Kind::Bytes20, &data);
        call.exec(&mut bench.server.connection)?;
    }
    bench.rows(&CUCKOO)
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
