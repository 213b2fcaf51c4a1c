//! Cuckoo filters in this project's layout: what takes a time in proportion to their bytes.
//!
//! The filter does not grow, and its slots have 16 bits. Every 20th is occupied, as after the deletion
//! of 95 % of the items of a full filter. Additions would take minutes, so the entries are loaded as
//! chunks.

use redis::{Cmd, Value, cmd};

use super::bench::{Bench, OTHER};
use super::clock::Repeats;
use super::filters::{CHUNK, FILTER, scaled};
use super::rows::Row;
use crate::result::Result;
use crate::server::Server;

/// Bytes of a slot at an error rate of 0.0001.
const SLOT: u64 = 2;
/// One of this many slots is occupied: those whose number leaves half of it as remainder.
const DISTANCE: u64 = 20;

/// Offsets in the header, see `docs/format.md`: of the first table the windows, the occupied slots,
/// and the bits of a slot.
const WINDOWS: usize = 64;
const USED: usize = 72;
const WIDTH: usize = 96;

/// Measures all rows of cuckoo filters on one of about this many bytes.
pub fn measure(bench: &mut Bench, bytes: u64) -> Result<()> {
    let capacity = capacity_of(bench.server, bytes)?;
    let delete = [cmd("DEL").arg(OTHER).clone()];
    bench.timed_after(Row::CfReserve, &[], &reserve(OTHER, capacity), &delete)?;
    bench.execute(&reserve(FILTER, capacity))?;
    fill(bench.server)?;
    bench.timed_after(Row::CfSave, &[], &cmd("SAVE"), &[])?;
    let mut repeats = Repeats::of(bench.runs);
    let copy = cmd("COPY").arg(FILTER).arg(OTHER).clone();
    while repeats.next() {
        bench.timed::<Value>(Row::CfCopy, &copy)?;
        bench.timed::<Value>(Row::CfDel, cmd("DEL").arg(OTHER))?;
        bench.execute(&copy)?;
        bench.timed::<Value>(Row::CfUnlink, cmd("UNLINK").arg(OTHER))?;
        bench.all_freed()?;
        bench.execute(&copy)?;
        bench.timed::<Value>(Row::CfCompact, cmd("CF.COMPACT").arg(OTHER))?;
        bench.execute(cmd("DEL").arg(OTHER))?;
        bench.all_freed()?;
    }
    bench.flush()
}

fn reserve(key: &str, capacity: u64) -> Cmd {
    let mut command = cmd("CF.RESERVE");
    command.arg(key).arg(capacity).arg("ERROR").arg("0.0001").arg("EXPANSION").arg(0);
    command.arg("LAYOUT").arg("bloomline");
    command
}

/// The capacity of a filter of this many bytes.
fn capacity_of(server: &mut Server, bytes: u64) -> Result<u64> {
    const PROBE: u64 = 1_000_000;
    reserve("probe", PROBE).exec(&mut server.connection)?;
    let (size,): (u64,) = cmd("CF.INFO").arg("probe").arg("SIZE").query(&mut server.connection)?;
    cmd("DEL").arg("probe").exec(&mut server.connection)?;
    Ok(scaled(PROBE, bytes, size))
}

/// Loads the entries into the empty filter.
fn fill(server: &mut Server) -> Result<()> {
    let (_, mut header): (u64, Vec<u8>) =
        cmd("CF.SCANDUMP").arg(FILTER).arg(0).query(&mut server.connection)?;
    let windows = header.get(WINDOWS..).and_then(<[u8]>::first_chunk).copied();
    let slots = u64::from_le_bytes(windows.ok_or("the header is too short")?) + 1;
    if header.get(WIDTH).map(|bits| u64::from(*bits)) != Some(8 * SLOT) {
        return Err("the slots do not have 16 bits".into());
    }
    let used = (slots + DISTANCE / 2 - 1) / DISTANCE;
    header.get_mut(USED..USED + 8).ok_or("no table")?.copy_from_slice(&used.to_le_bytes());
    cmd("DEL").arg(FILTER).exec(&mut server.connection)?;
    load(1, &header).exec(&mut server.connection)?;
    let mut first = 0;
    while first < slots {
        let count = (slots - first).min(CHUNK as u64 / SLOT);
        let chunk: Vec<u8> =
            (first..first + count).flat_map(|slot| entry(slot).to_le_bytes()).collect();
        first += count;
        load(first * SLOT + 1, &chunk).exec(&mut server.connection)?;
    }
    Ok(())
}

/// The value of a slot: pseudo-random, or 0.
fn entry(slot: u64) -> u16 {
    match slot % DISTANCE == DISTANCE / 2 {
        true => (slot.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as u16 | 4,
        false => 0,
    }
}

fn load(iterator: u64, data: &[u8]) -> Cmd {
    let mut command = cmd("CF.LOADCHUNK");
    command.arg(FILTER).arg(iterator).arg(data);
    command
}
