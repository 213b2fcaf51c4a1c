//! Filters of a given size, untouched and filled.

use redis::cmd;

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

/// The capacity of a filter of this many bytes, from the bytes of one that `make` creates.
pub fn capacity_of(
    server: &mut Server,
    bytes: u64,
    make: impl FnOnce(&mut Server, &str, u64) -> Result<u64>,
) -> Result<u64> {
    const PROBE: u64 = 1_000_000;
    let size = make(server, "probe", PROBE)?;
    server.run("DEL probe")?;
    Ok(scaled(PROBE, bytes, size))
}

/// `items` times `bytes / of`, at least 1.
pub fn scaled(items: u64, bytes: u64, of: u64) -> u64 {
    ((items as f64 * bytes as f64 / of.max(1) as f64) as u64).max(1)
}

/// The header of a filter, as BF.SCANDUMP or CF.SCANDUMP returns it.
pub fn header(server: &mut Server, family: &str, key: &str) -> Result<Vec<u8>> {
    let mut command = cmd(&format!("{family}.SCANDUMP"));
    let (_, header): (u64, Vec<u8>) = command.arg(key).arg(0).query(&mut server.connection)?;
    Ok(header)
}

/// Writes a number into a header, see `docs/format.md`.
pub fn put(header: &mut [u8], offset: usize, number: &[u8]) -> Result<()> {
    let field = header.get_mut(offset..offset + number.len());
    field.ok_or("the header is too short")?.copy_from_slice(number);
    Ok(())
}
