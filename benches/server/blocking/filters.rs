//! Filters of a given size, untouched and filled.

use redis::{Cmd, cmd};

use crate::costs::bits::random;
use crate::result::Result;
use crate::server::Server;

/// The key of the filter that is measured.
pub const FILTER: &str = "filter";

/// Bytes of the longest chunk of BF.SCANDUMP.
pub const CHUNK: usize = 16 << 20;

/// How items are mapped to bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
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
pub fn reserve(key: &str, capacity: u64, layout: Layout) -> Cmd {
    let mut command = cmd("BF.RESERVE");
    command.arg(key).arg("0.01").arg(capacity);
    command.arg("LAYOUT").arg(match layout {
        Layout::Bloomline => "bloomline",
        Layout::RedisBloom => "redisbloom",
    });
    command
}

/// The capacity of a first layer of this many bytes.
pub fn capacity_of(server: &mut Server, bytes: u64, layout: Layout) -> Result<u64> {
    const PROBE: u64 = 1_000_000;
    reserve("probe", PROBE, layout).exec(&mut server.connection)?;
    let size: u64 = layer_bytes(server, "probe")?.iter().sum();
    cmd("DEL").arg("probe").exec(&mut server.connection)?;
    Ok(scaled(PROBE, bytes, size))
}

/// `items` times `bytes / of`, at least 1.
pub fn scaled(items: u64, bytes: u64, of: u64) -> u64 {
    ((items as f64 * bytes as f64 / of.max(1) as f64) as u64).max(1)
}

/// The bytes of each layer, oldest first, by BF.DEBUG.
pub fn layer_bytes(server: &mut Server, key: &str) -> Result<Vec<u64>> {
    let lines: Vec<String> = cmd("BF.DEBUG").arg(key).query(&mut server.connection)?;
    let bytes = |line: &String| {
        let text = line.strip_prefix("bytes:").and_then(|rest| rest.split(' ').next());
        text.and_then(|text| text.parse().ok())
            .ok_or_else(|| format!("BF.DEBUG returned {line:?}").into())
    };
    lines.iter().skip(1).map(bytes).collect()
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
}

/// Writes all pages of `key`.
pub fn fill(server: &mut Server, key: &str, bits: &Bits) -> Result<()> {
    let mut end = 0;
    let mut number = 0;
    for layer in layer_bytes(server, key)? {
        let mut left = layer;
        while left > 0 {
            let len = left.min(CHUNK as u64);
            end += len;
            left -= len;
            load(key, end + 1, bits.chunk(number, len as usize)?).exec(&mut server.connection)?;
            number += 1;
        }
    }
    Ok(())
}

/// BF.LOADCHUNK.
pub fn load(key: &str, iterator: u64, data: &[u8]) -> Cmd {
    let mut command = cmd("BF.LOADCHUNK");
    command.arg(key).arg(iterator).arg(data);
    command
}

/// The header of a filter, as BF.SCANDUMP returns it.
pub fn header(server: &mut Server, key: &str) -> Result<Vec<u8>> {
    let (_, header): (u64, Vec<u8>) =
        cmd("BF.SCANDUMP").arg(key).arg(0).query(&mut server.connection)?;
    Ok(header)
}
