//! Filters of one layer, by their bytes. Cells that are left out cannot be measured or would take
//! too long.

use redis::{Cmd, cmd};

use super::State;
use super::calls::{BATCH, FILTER, Line, OTHER, OVERVIEW, call, capacity_of, items, line};
use crate::bits::{Bits, CHUNK, layer_bytes, load};
use crate::column::{Column, Planned};
use crate::items::{Item, Kind};
use crate::packed::Form;
use crate::result::Result;
use crate::row::{Figures, Group, Row};
use crate::sample::blocked;
use crate::server::{Server, command};
use crate::sizes::show;
use crate::workloads::GENERATIONS;

/// The largest filter that is filled. COPY then takes 8 GB, and SAVE a minute.
const LARGEST_FILLED: u64 = 4_000_000_000;

/// The largest filter of the other rows that take long: in RedisBloom's layout, which holds at most
/// 2^30 items, 1.5 GB at 1 %; of DUMP if it is filled, which takes five times the filter; of
/// merges, compactions, rotations and cuckoo filters.
const LARGEST_SLOW: u64 = 1_000_000_000;

/// The largest payload that a server accepts, `proto-max-bulk-len`.
const LARGEST_ARGUMENT: usize = 512 << 20;

/// The largest `EXPANSION`.
const LARGEST_EXPANSION: u64 = 32_768;

/// What reads, writes or frees the whole filter.
const WHOLE: [Line; 6] = [
    ("BF.SCANDUMP, header", "", "BF.SCANDUMP filter 0", ""),
    ("BF.SCANDUMP, a chunk", "", "BF.SCANDUMP filter 1", ""),
    ("COPY", "", "COPY filter other", "DEL other"),
    ("DEL", "COPY filter other", "DEL other", ""),
    ("UNLINK", "COPY filter other", "UNLINK other", ""),
    ("DEBUG DIGEST-VALUE", "", "DEBUG DIGEST-VALUE filter", ""),
];

/// On a filter of which 34.4 % of the bits are set.
const SPARSE: Line =
    ("BF.COMPACT, 60 % full", "COPY filter other", "BF.COMPACT other", "DEL other");

/// On a cuckoo filter of which 5 % of the slots are occupied.
const CUCKOO: [Line; 5] = [
    ("SAVE of a cuckoo filter", "", "SAVE", ""),
    ("COPY of a cuckoo filter", "", "COPY filter other", "DEL other"),
    ("DEL of a cuckoo filter", "COPY filter other", "DEL other", ""),
    ("UNLINK of a cuckoo filter", "COPY filter other", "UNLINK other", ""),
    ("CF.COMPACT, 5 % full", "COPY filter other", "CF.COMPACT other", "DEL other"),
];

/// The groups of filters of about this many bytes.
pub fn groups(bytes: u64) -> Vec<Group> {
    let is_slow = bytes > LARGEST_SLOW;
    let group = |state: State, rows| {
        Group::new(state.title("one layer of", &show(bytes)), Planned::is_own_layout, rows)
    };
    let mut groups = Vec::new();
    for state in State::BOTH {
        let is_filled = state.is_filled();
        if is_filled && bytes > LARGEST_FILLED {
            continue;
        }
        let has = if is_slow { Planned::is_own_layout } else { Planned::is_latency };
        let rows = whole(state, bytes);
        groups.push(
            Group { has, ..group(state, rows) }
                .with(move |server| reserve(server, bytes, is_filled.then_some(Bits::HALF))),
        );
        if is_filled && !is_slow {
            let sparse = group(state, vec![line(SPARSE)]);
            groups.push(sparse.with(move |server| reserve(server, bytes, Some(Bits::SPARSE))));
            let reserving = move |server: &mut Server, _| {
                Ok(reserve_cuckoo(OTHER, cuckoo_capacity(server, bytes)?))
            };
            let reserving = Row::blocking("CF.RESERVE", reserving, "DEL other");
            let rows = [reserving].into_iter().chain(CUCKOO.map(line)).collect();
            let cuckoo = group(state, rows);
            groups.push(cuckoo.with(move |server| fill_cuckoo(server, bytes)));
        }
        if !is_filled {
            groups.push(group(state, vec![reserving(bytes), growth(bytes)]));
        }
        if !is_slow {
            let rotated = line(("BF.ROTATE, 9 generations", "", "BF.ROTATE filter", ""));
            groups.push(
                group(state, vec![rotated]).with(move |server| rotate(server, bytes, is_filled)),
            );
        }
    }
    groups
}

/// Reserves the filter, and sets bits in it.
fn reserve(server: &mut Server, bytes: u64, share: Option<u32>) -> Result<()> {
    let capacity = capacity_of(server, bytes)?;
    server.run(&format!("BF.RESERVE filter 0.01 {capacity}"))?;
    share.map_or(Ok(()), |share| Bits::new(share).fill(server, FILTER).map(|_| ()))
}

/// The rows on a filter that was reserved, and filled in one state.
fn whole(state: State, bytes: u64) -> Vec<Row> {
    // RedisBloom's layout has no windowed filters.
    let is_ours = Column::has_windows;
    let mut rows = Vec::new();
    rows.extend(OVERVIEW.into_iter().chain(WHOLE).map(|row| line(row).only_on(is_ours)));
    rows.push(load_chunk(state, bytes).only_on(is_ours));
    if !state.is_filled() || bytes <= LARGEST_SLOW {
        rows.push(line(("DUMP", "", "DUMP filter", "")));
        rows.push(Row::of("RESTORE", restore));
    }
    if state.is_filled() && bytes <= LARGEST_SLOW {
        let merge = "BF.MERGE into a filled filter";
        let merge = line((merge, "COPY filter other", "BF.MERGE other filter", "DEL other"));
        rows.push(merge.only_on(is_ours));
    }
    rows.push(line(("SAVE", "", "SAVE", "")));
    // A fork does not depend on the layout.
    rows.push(
        Row::of("BGSAVE, fork", |server, _| {
            server.run("BGSAVE")?;
            server.wait_for_save()?;
            let fork: f64 = server.info("stats", "latest_fork_usec")?;
            Ok(vec![fork / 1000.0])
        })
        .only_on(is_ours),
    );
    // These come last, because an item writes to untouched pages.
    rows.extend(items());
    rows
}

/// BF.LOADCHUNK of a first chunk: of the filled filter, or of one that was just reserved.
fn load_chunk(state: State, bytes: u64) -> Row {
    let call = move |server: &mut Server, _| {
        let layer = layer_bytes(server, FILTER)?.first().copied().unwrap_or(bytes);
        let len = CHUNK.min(usize::try_from(layer)?);
        let key = if state.is_filled() { FILTER } else { OTHER };
        if !state.is_filled() {
            server.run("COPY filter other")?;
        }
        Ok(load(key, len as u64 + 1, Bits::new(Bits::HALF).chunk(0, len)?))
    };
    Row::blocking("BF.LOADCHUNK, first chunk", call, "DEL other")
}

/// RESTORE of what DUMP replies with, if a server accepts it.
fn restore(server: &mut Server, _run: u32) -> Result<Figures> {
    let payload: Vec<u8> = cmd("DUMP").arg(FILTER).query(&mut server.connection)?;
    if payload.len() > LARGEST_ARGUMENT {
        return Ok(Figures::new());
    }
    let time = blocked(server, cmd("RESTORE").arg(OTHER).arg(0).arg(payload))?;
    server.run("DEL other")?;
    Ok(vec![time])
}

/// BF.RESERVE of a filter of this many bytes.
fn reserving(bytes: u64) -> Row {
    let call = move |server: &mut Server, _| {
        let capacity = capacity_of(server, bytes)?;
        Ok(command(&format!("BF.RESERVE filter 0.01 {capacity}")))
    };
    Row::blocking("BF.RESERVE", call, "DEL filter")
}

/// The addition that makes a filter grow by a layer of about this many bytes.
fn growth(bytes: u64) -> Row {
    Row::of("BF.ADD that adds a layer", move |server, _| {
        let capacity = capacity_of(server, bytes)?;
        let first = capacity.div_ceil(LARGEST_EXPANSION);
        let expansion = capacity / first;
        server.run(&format!("BF.RESERVE filter 0.01 {first} EXPANSION {expansion}"))?;
        let mut next = 0;
        loop {
            let held: u64 = cmd("BF.CARD").arg(FILTER).query(&mut server.connection)?;
            let count = BATCH.min(first - held);
            if count == 0 {
                break;
            }
            // Some items are false positives, so that the layer may need more items than its
            // capacity.
            let items = (next..next + count).map(Item::Stored);
            call("BF.MADD", FILTER, items).exec(&mut server.connection)?;
            next += count;
        }
        for item in next.. {
            let add = call("BF.ADD", FILTER, std::iter::once(Item::Stored(item)));
            let time = blocked(server, &add)?;
            if layer_bytes(server, FILTER)?.len() > 1 {
                server.run("DEL filter")?;
                return Ok(vec![time]);
            }
        }
        Err("the filter does not grow".into())
    })
}

/// A filter with all of its generations. Each rotation drops one of them.
fn rotate(server: &mut Server, bytes: u64, is_filled: bool) -> Result<()> {
    let capacity = capacity_of(server, bytes)?;
    server.run(&format!("BF.RESERVE filter 0.01 {capacity} GENERATIONS {GENERATIONS}"))?;
    for _ in 0..GENERATIONS {
        server.run("BF.ROTATE filter")?;
    }
    if is_filled {
        Bits::new(Bits::HALF).fill(server, FILTER)?;
    }
    Ok(())
}

/// The items of a cuckoo filter of this many bytes: an item takes 17.4 bits, and 11.2 in the Bloom
/// filter.
fn cuckoo_capacity(server: &mut Server, bytes: u64) -> Result<u64> {
    Ok(capacity_of(server, bytes)? * 64 / 100)
}

/// CF.RESERVE of such a filter, which does not grow.
fn reserve_cuckoo(key: &str, capacity: u64) -> Cmd {
    command(&format!("CF.RESERVE {key} {capacity} ERROR 0.0001 EXPANSION 0"))
}

/// A cuckoo filter as after most deletions.
fn fill_cuckoo(server: &mut Server, bytes: u64) -> Result<()> {
    let capacity = cuckoo_capacity(server, bytes)?;
    reserve_cuckoo(FILTER, capacity).exec(&mut server.connection)?;
    for first in (0..capacity / 20).step_by(100_000) {
        let items = (first..(first + 100_000).min(capacity / 20)).map(Item::Stored);
        let data = Form::Fixed.pack(Kind::Bytes20, items);
        let call = Form::Fixed.call("CF.BULKADD", FILTER, Kind::Bytes20, &data);
        call.exec(&mut server.connection)?;
    }
    Ok(())
}
