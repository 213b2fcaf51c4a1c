//! Filters of a given size, untouched and filled.

use redis::{Cmd, cmd};

use crate::bits::{layer_bytes, random};
use crate::result::Result;
use crate::server::Server;

/// The key of the filter that is measured.
pub const FILTER: &str = "filter";

/// A second key, for the filters that commands make.
pub const OTHER: &str = "other";

/// Bytes of the longest chunk of BF.SCANDUMP.
pub const CHUNK: usize = 16 << 20;

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

/// Pseudo-random bits, half of them set, from which every chunk is cut at another offset.
pub struct Bits(Vec<u8>);

impl Bits {
    /// Chunks differ in their offset into the buffer, modulo this many words.
    const OFFSETS: usize = 1 << 13;

    pub fn new() -> Bits {
        Bits(random(CHUNK + 8 * Bits::OFFSETS, 1, 1))
    }

    /// Bits of which 0.344 are set, as in a filter that is 60 % full.
    pub fn sparse() -> Bits {
        let mut bits = Bits(random(CHUNK + 8 * Bits::OFFSETS, 2, 1));
        let others = [3, 4, 5, 6].map(|seed| random(bits.0.len(), seed, 1));
        let [b, c, d, e] = others.each_ref().map(|bytes| bytes.iter());
        for ((((a, b), c), d), e) in bits.0.iter_mut().zip(b).zip(c).zip(d).zip(e) {
            *a &= b | (c & (d | e));
        }
        bits
    }

    /// The chunk with this number.
    pub fn chunk(&self, number: usize, len: usize) -> Result<&[u8]> {
        let start = number % Bits::OFFSETS * 8;
        self.0.get(start..start + len).ok_or_else(|| format!("a chunk of {len} bytes").into())
    }

    /// Writes all pages of `key`.
    pub fn fill(&self, server: &mut Server, key: &str) -> Result<()> {
        let (mut end, mut number) = (0, 0);
        for layer in layer_bytes(server, key)? {
            let mut left = layer;
            while left > 0 {
                let len = left.min(CHUNK as u64);
                end += len;
                left -= len;
                let chunk = load("BF", key, end + 1, self.chunk(number, len as usize)?);
                chunk.exec(&mut server.connection)?;
                number += 1;
            }
        }
        Ok(())
    }
}

/// BF.LOADCHUNK or CF.LOADCHUNK.
pub fn load(family: &str, key: &str, iterator: u64, data: &[u8]) -> Cmd {
    let mut command = cmd(&format!("{family}.LOADCHUNK"));
    command.arg(key).arg(iterator).arg(data);
    command
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
