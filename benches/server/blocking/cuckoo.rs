//! Cuckoo filters in this project's layout: what takes a time in proportion to their bytes.
//!
//! The filter does not grow, and its slots have 16 bits. Every 20th is occupied, as after the deletion
//! of 95 % of the items of a full filter. Additions would take minutes, so the entries are loaded as
//! chunks.

use redis::cmd;

use super::bench::Bench;
use super::filters::{FILTER, capacity_of, header, put};
use crate::bits::{CHUNK, load};
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
    let capacity = capacity_of(bench.server, bytes, |server, key, capacity| {
        server.run(&reserve(key, capacity))?;
        let mut info = cmd("CF.INFO");
        let (size,) = info.arg(key).arg("SIZE").query(&mut server.connection)?;
        Ok(size)
    })?;
    bench.rows(&[("CF.RESERVE", "", &reserve("other", capacity), "DEL other")])?;
    bench.server.run(&reserve(FILTER, capacity))?;
    fill(bench.server)?;
    let copy = "COPY filter other";
    bench.rows(&[
        ("SAVE of a cuckoo filter", "", "SAVE", ""),
        ("COPY of a cuckoo filter", "", copy, "DEL other"),
        ("DEL of a cuckoo filter", copy, "DEL other", ""),
        ("UNLINK of a cuckoo filter", copy, "UNLINK other", ""),
        ("CF.COMPACT, 5 % full", copy, "CF.COMPACT other", "DEL other"),
    ])?;
    bench.flush()
}

fn reserve(key: &str, capacity: u64) -> String {
    format!("CF.RESERVE {key} {capacity} ERROR 0.0001 EXPANSION 0 LAYOUT bloomline")
}

/// Loads the entries into the empty filter.
fn fill(server: &mut Server) -> Result<()> {
    let mut header = header(server, "CF", FILTER)?;
    let windows = header.get(WINDOWS..).and_then(<[u8]>::first_chunk).copied();
    let slots = u64::from_le_bytes(windows.ok_or("the header is too short")?) + 1;
    if header.get(WIDTH).map(|bits| u64::from(*bits)) != Some(8 * SLOT) {
        return Err("the slots do not have 16 bits".into());
    }
    put(&mut header, USED, &((slots + DISTANCE / 2 - 1) / DISTANCE).to_le_bytes())?;
    server.run("DEL filter")?;
    load("CF", FILTER, 1, &header).exec(&mut server.connection)?;
    for first in (0..slots).step_by(CHUNK / SLOT as usize) {
        let end = slots.min(first + CHUNK as u64 / SLOT);
        let chunk: Vec<u8> = (first..end).flat_map(|slot| entry(slot).to_le_bytes()).collect();
        load("CF", FILTER, end * SLOT + 1, &chunk).exec(&mut server.connection)?;
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
