//! Filters of a given size whose bits are set without adding items.

use redis::cmd;

use crate::items::mix;
use crate::result::Result;
use crate::server::Server;

/// The most bytes of one chunk that is loaded.
const CHUNK: u64 = 10_000_000;

/// Reserves `key` at 1 %, able to grow, and sets each bit with probability 2^-`thinning`; returns
/// the bytes of its bits.
///
/// Writes chunks at their offsets, and does not read them: a server may leave out chunks that were
/// never written.
///
/// # Errors
///
/// The process of the server does not hold the bytes afterwards.
pub fn reserve_filled(server: &mut Server, key: &str, capacity: u64, thinning: u32) -> Result<u64> {
    server.run(&format!("BF.RESERVE {key} 0.01 {capacity}"))?;
    let bytes = layer_bytes(server, key)?.first().copied().ok_or("a filter without layers")?;
    for start in (0..bytes).step_by(CHUNK as usize) {
        let end = (start + CHUNK).min(bytes);
        let chunk = random((end - start) as usize, start + 1, thinning);
        // An iterator is the offset after the chunk, counted from 1.
        let mut load = cmd("BF.LOADCHUNK");
        load.arg(key).arg(end + 1).arg(chunk).exec(&mut server.connection)?;
    }
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
pub fn random(len: usize, seed: u64, thinning: u32) -> Vec<u8> {
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
