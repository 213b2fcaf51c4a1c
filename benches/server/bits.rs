//! Filters of a given size whose bits are set without adding items.

use redis::{Cmd, cmd};

use crate::items::mix;
use crate::result::Result;
use crate::server::Server;

/// Bytes of the longest chunk of BF.SCANDUMP.
pub const CHUNK: usize = 16 << 20;

/// Pseudo-random bits, from which every chunk is cut at another offset.
pub struct Bits(Vec<u8>);

impl Bits {
    /// Chunks differ in their offset into the buffer, modulo this many words.
    const OFFSETS: usize = 1 << 13;

    /// Half of the bits are set, as in a full filter.
    pub const HALF: u32 = 16;

    /// 0.344 of the bits are set, as in a filter that is 60 % full.
    pub const SPARSE: u32 = 11;

    /// Bits each of which is set with a probability of `share` / 32.
    pub fn new(share: u32) -> Bits {
        let mut number = 0;
        let mut word = || {
            // The binary digits of the share, the least one first.
            (0..5).fold(0, |word, digit| {
                number += 1;
                if share >> digit & 1 == 1 { word | mix(number) } else { word & mix(number) }
            })
        };
        let words = CHUNK / 8 + Bits::OFFSETS;
        Bits((0..words).flat_map(|_| word().to_le_bytes()).collect())
    }

    /// The chunk with this number.
    pub fn chunk(&self, number: usize, len: usize) -> Result<&[u8]> {
        let start = number % Bits::OFFSETS * 8;
        self.0.get(start..start + len).ok_or_else(|| format!("a chunk of {len} bytes").into())
    }

    /// Writes all pages of `key`; returns the bytes of its bits.
    ///
    /// Writes chunks at their offsets, and does not read them: a server may leave out chunks that
    /// were never written.
    pub fn fill(&self, server: &mut Server, key: &str) -> Result<u64> {
        let (mut end, mut number) = (0, 0);
        for layer in layer_bytes(server, key)? {
            let mut left = layer;
            while left > 0 {
                let len = left.min(CHUNK as u64);
                end += len;
                left -= len;
                let chunk = load(key, end + 1, self.chunk(number, len as usize)?);
                chunk.exec(&mut server.connection)?;
                number += 1;
            }
        }
        Ok(end)
    }
}

/// BF.LOADCHUNK. An iterator is the offset after the chunk, counted from 1.
pub fn load(key: &str, iterator: u64, data: &[u8]) -> Cmd {
    let mut command = cmd("BF.LOADCHUNK");
    command.arg(key).arg(iterator).arg(data);
    command
}

/// Reserves the key `filter` at 1 %, able to grow, and sets each bit with a probability of `share`
/// 32nds; returns the bytes of its bits.
///
/// # Errors
///
/// The process of the server does not hold the bytes afterwards.
pub fn reserve_filled(server: &mut Server, capacity: u64, share: u32) -> Result<u64> {
    server.run(&format!("BF.RESERVE filter 0.01 {capacity}"))?;
    let bytes = Bits::new(share).fill(server, "filter")?;
    let held = server.harness.process().resident()?;
    if held < bytes {
        return Err(format!("the process holds {held} bytes and a filter of {bytes}").into());
    }
    Ok(bytes)
}

/// The bytes of each layer, oldest first, by BF.DEBUG.
pub fn layer_bytes(server: &mut Server, key: &str) -> Result<Vec<u64>> {
    let lines: Vec<String> = cmd("BF.DEBUG").arg(key).query(&mut server.connection)?;
    let bytes = |line: &String| {
        let text = line.strip_prefix("bytes:").and_then(|rest| rest.split(' ').next());
        text.and_then(|text| text.parse().ok())
            .ok_or_else(|| format!("BF.DEBUG returned {line:?}").into())
    };
    // After the number of items there is a line for each layer.
    lines.iter().skip(1).map(bytes).collect()
}
