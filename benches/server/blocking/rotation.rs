//! Windowed filters: the calls that open a generation and drop the oldest.

use std::time::{SystemTime, UNIX_EPOCH};

use redis::{Value, cmd};

use super::bench::{Bench, LARGEST_PAYLOAD, OTHER};
use super::clock::Repeats;
use super::filters::{self, Bits, FILTER, State};
use super::rows::Row;
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
pub fn measure(bench: &mut Bench, bytes: u64, state: State) -> Result<()> {
    if state == State::Filled && bytes > LARGEST_PAYLOAD {
        return Ok(());
    }
    let bits = Bits::new();
    let capacity = capacity_of(bench.server, bytes)?;
    reserve(bench.server, FILTER, capacity)?;
    let header = filters::header(bench.server, FILTER)?;
    if state == State::Filled {
        filters::fill(bench.server, FILTER, &bits)?;
    }
    // Each run drops another generation. There are more of them than runs.
    bench.timed_after(Row::Rotate, &[], cmd("BF.ROTATE").arg(FILTER), &[])?;
    bench.flush()?;

    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as u64;
    let header = due(header, now)?;
    bench.execute(&filters::load(FILTER, 1, &header))?;
    if state == State::Filled {
        filters::fill(bench.server, FILTER, &bits)?;
    }
    let mut repeats = Repeats::of(bench.runs);
    while repeats.next() {
        bench.execute(cmd("COPY").arg(FILTER).arg(OTHER))?;
        if bench.timed::<Value>(Row::AddRotates, cmd("BF.ADD").arg(OTHER).arg("item"))?.is_none() {
            break;
        }
        let (newest,): (u64,) =
            cmd("BF.INFO").arg(OTHER).arg("NEWEST").query(&mut bench.server.connection)?;
        if newest < now {
            return Err("the addition opened no generation".into());
        }
        bench.execute(cmd("DEL").arg(OTHER))?;
        bench.all_freed()?;
    }
    bench.flush()
}

/// A filter that is rotated by hand, with all of its generations.
fn reserve(server: &mut Server, key: &str, capacity: u64) -> Result<()> {
    let mut command = cmd("BF.RESERVE");
    command.arg(key).arg("0.01").arg(capacity).arg("GENERATIONS").arg(GENERATIONS);
    command.exec(&mut server.connection)?;
    (0..GENERATIONS).try_for_each(|_| Ok(cmd("BF.ROTATE").arg(key).exec(&mut server.connection)?))
}

/// The capacity of a filter of this many bytes in all generations together.
fn capacity_of(server: &mut Server, bytes: u64) -> Result<u64> {
    const PROBE: u64 = 1_000_000;
    reserve(server, "probe", PROBE)?;
    let size: u64 = filters::layer_bytes(server, "probe")?.iter().sum();
    cmd("DEL").arg("probe").exec(&mut server.connection)?;
    Ok(filters::scaled(PROBE, bytes, size))
}

/// The header of a filter with a window of time, the next addition to which opens a generation and
/// drops the oldest.
fn due(mut header: Vec<u8>, now: u64) -> Result<Vec<u8>> {
    *header.get_mut(KIND).ok_or("the header is too short")? = KIND_TIME;
    let mut put = |offset: usize, number: u64| {
        let field = header.get_mut(offset..offset + 8).ok_or("the header is too short")?;
        field.copy_from_slice(&number.to_le_bytes());
        Ok::<_, &str>(())
    };
    put(MILLIS, WINDOW)?;
    // The slot of the newest generation has just passed, and so has the window of the oldest.
    for age in 0..=GENERATIONS {
        let generation = (GENERATIONS - age) as usize;
        put(OPENED + generation * GENERATION_BYTES, now - (age + 1) * SLOT)?;
    }
    Ok(header)
}
