//! Filters of a given size, untouched and filled.

use crate::bits::layer_bytes;
use crate::result::Result;
use crate::server::Server;

/// The key of the filter that is measured.
pub const FILTER: &str = "filter";

/// A second key, for the filters that commands make.
pub const OTHER: &str = "other";

/// How items are mapped to bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    Bloomline,
    RedisBloom,
}

/// Whether the filter's pages are backed by memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Untouched,
    Filled,
}

/// BF.RESERVE at 1 %, able to grow.
pub fn reserve(key: &str, capacity: u64, layout: Layout) -> String {
    format!("BF.RESERVE {key} 0.01 {capacity} LAYOUT {layout:?}")
}

/// The capacity of a filter of this many bytes.
pub fn capacity_of(server: &mut Server, bytes: u64, layout: Layout) -> Result<u64> {
    const PROBE: u64 = 1_000_000;
    server.run(&reserve("probe", PROBE, layout))?;
    let size = layer_bytes(server, "probe")?.iter().sum();
    server.run("DEL probe")?;
    Ok(scaled(PROBE, bytes, size))
}

/// `items` times `bytes / of`, at least 1.
pub fn scaled(items: u64, bytes: u64, of: u64) -> u64 {
    ((items as f64 * bytes as f64 / of.max(1) as f64) as u64).max(1)
}
