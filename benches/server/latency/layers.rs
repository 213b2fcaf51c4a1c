//! Filters of many layers: commands that report or test each layer take longest on these.

use redis::cmd;

use super::bench::Bench;
use super::filters::{self, FILTER, Layout, State, scaled};
use super::rows;
use crate::bits::{Bits, layer_bytes, load};
use crate::result::Result;
use crate::scale::Scale;
use crate::server::Server;

/// A filter of layers of one size: their number, the bytes of one on average, and whether the
/// filter is also filled. Layers of more than 16 MiB would not be read completely, so filters with
/// such layers are not filled.
pub type Shape = (u32, u64, bool);

/// The filters of a run.
pub fn shapes(scale: Scale) -> [Shape; 3] {
    match scale {
        Scale::Smoke => [(20, 10_000, true), (4096, 8_000, true), (3, 1_000_000, false)],
        _ => [(600, 1_000_000, true), (4096, 100_000, true), (600, 16_000_000, false)],
    }
}

/// Measures the rows on one of them.
pub fn measure(bench: &mut Bench, (layers, bytes, is_filled_too): Shape) -> Result<()> {
    if bench.state == State::Filled && !is_filled_too {
        return Ok(());
    }
    const PROBE: u64 = 10_000;
    make(bench.server, layers, PROBE)?;
    let probe = layer_bytes(bench.server, FILTER)?.iter().sum();
    make(bench.server, layers, scaled(PROBE, u64::from(layers) * bytes, probe))?;
    if bench.state == State::Filled {
        Bits::new(1).fill(bench.server, FILTER)?;
    }
    bench.rows(&rows::OVERVIEW)?;
    rows::items(bench)?;
    bench.flush()
}

/// A filter with this number of layers for `capacity` items each. Later layers have lower error
/// rates and more bytes. It is made from its header alone: additions would take millions of items.
fn make(server: &mut Server, layers: u32, capacity: u64) -> Result<()> {
    server.run("FLUSHALL")?;
    server.run(&(filters::reserve("probe", capacity, Layout::Bloomline) + " EXPANSION 1"))?;
    let mut dump = cmd("BF.SCANDUMP");
    let (_, mut header): (u64, Vec<u8>) = dump.arg("probe").arg(0).query(&mut server.connection)?;
    // Offset 20 is the number of layers, see docs/format.md.
    let field = header.get_mut(20..24).ok_or("the header is too short")?;
    field.copy_from_slice(&layers.to_le_bytes());
    server.run("DEL probe")?;
    Ok(load(FILTER, 1, &header).exec(&mut server.connection)?)
}
