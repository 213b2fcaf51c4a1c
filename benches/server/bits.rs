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

    /// Bits each of which is set with probability 2^-`thinning`.
    pub fn new(thinning: u32) -> Bits {
        Bits(random(CHUNK + 8 * Bits::OFFSETS, 1, thinning))
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

/// Reserves the key `filter` at 1 %, able to grow, and sets each bit with probability
/// 2^-`thinning`; returns the bytes of its bits.
///
/// # Errors
///
/// The process of the server does not hold the bytes afterwards.
pub fn reserve_filled(server: &mut Server, capacity: u64, thinning: u32) -> Result<u64> {
    server.run(&format!("BF.RESERVE filter 0.01 {capacity}"))?;
    let bytes = Bits::new(thinning).fill(server, "filter")?;
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

/// This many bytes, each bit set with probability 2^-`thinning`. Another `seed` gives other bytes.
fn random(len: usize, seed: u64, thinning: u32) -> Vec<u8> {
    let mut number = seed << 32;
    let mut word = || {
        (0..thinning).fold(u64::MAX, |word, _| {
            number += 1;
            word & mix(number)
        })
    };
    let mut bytes: Vec<u8> = (0..len.div_ceil(8)).flat_map(|_| word().to_le_bytes()).collect();
    bytes.truncate(len);
    bytes
}
