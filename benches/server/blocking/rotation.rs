//! Windowed filters: the calls that open a generation and drop the oldest.

use std::time::{SystemTime, UNIX_EPOCH};

use redis::cmd;

use super::bench::Bench;
use super::filters::{FILTER, OTHER, State, capacity_of, header, put};
use crate::bits::{Bits, layer_bytes, load};
use crate::result::Result;
use crate::server::Server;
use crate::workloads::GENERATIONS;

/// Milliseconds of the window, of which a slot is one eighth: a day.
const WINDOW: u64 = 24 * 60 * 60 * 1000;
const SLOT: u64 = WINDOW / GENERATIONS;

/// Offsets in the header, see `docs/format.md`: how the filter forgets, the milliseconds of its
/// window, and the opening time of the oldest generation.
const KIND: usize = 13;
const MILLIS: usize = 48;
const OPENED: usize = 80;
/// The value at `KIND` of a filter with a window of time.
const KIND_TIME: u8 = 1;
/// Bytes of a generation in the header.
const GENERATION_BYTES: usize = 32;

/// Measures both rows on filters of about this many bytes in all generations together.
pub fn measure(bench: &mut Bench, bytes: u64) -> Result<()> {
    let bits = (bench.state == State::Filled).then(|| Bits::new(1));
    let fill = |server: &mut Server| {
        bits.iter().try_for_each(|bits| bits.fill(server, FILTER).map(|_| ()))
    };
    let capacity = capacity_of(bench.server, bytes, |server, key, capacity| {
        reserve(server, key, capacity)?;
        Ok(layer_bytes(server, key)?.iter().sum())
    })?;
    reserve(bench.server, FILTER, capacity)?;
    let mut header = header(bench.server, "BF", FILTER)?;
    fill(bench.server)?;
    // Each run drops another generation. There are more of them than runs.
    bench.rows(&[("BF.ROTATE, 9 generations", "", "BF.ROTATE filter", "")])?;
    bench.flush()?;

    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as u64;
    make_due(&mut header, now)?;
    load("BF", FILTER, 1, &header).exec(&mut bench.server.connection)?;
    fill(bench.server)?;
    let (copy, add) = ("COPY filter other", "BF.ADD other item");
    bench.rows(&[("BF.ADD that rotates, 9 generations", copy, add, "DEL other")])?;
    // The runs were of calls that rotate.
    bench.server.run(copy)?;
    bench.server.run(add)?;
    let mut info = cmd("BF.INFO");
    let (newest,): (u64,) = info.arg(OTHER).arg("NEWEST").query(&mut bench.server.connection)?;
    if newest < now {
        return Err("the addition opened no generation".into());
    }
    bench.flush()
}

/// A filter that is rotated by hand, with all of its generations.
fn reserve(server: &mut Server, key: &str, capacity: u64) -> Result<()> {
    server.run(&format!("BF.RESERVE {key} 0.01 {capacity} GENERATIONS {GENERATIONS}"))?;
    (0..GENERATIONS).try_for_each(|_| server.run(&format!("BF.ROTATE {key}")))
}

/// Changes the header to that of a filter with a window of time, the next addition to which opens a
/// generation and drops the oldest.
fn make_due(header: &mut [u8], now: u64) -> Result<()> {
    put(header, KIND, &[KIND_TIME])?;
    put(header, MILLIS, &WINDOW.to_le_bytes())?;
    // The slot of the newest generation has just passed, and so has the window of the oldest.
    for age in 0..=GENERATIONS {
        let generation = (GENERATIONS - age) as usize;
        let opened = now - (age + 1) * SLOT;
        put(header, OPENED + generation * GENERATION_BYTES, &opened.to_le_bytes())?;
    }
    Ok(())
}
