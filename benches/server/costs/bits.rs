//! Filters of a given size whose bits are set without adding items.

use redis::cmd;

use crate::items::mix;
use crate::result::Result;
use crate::server::Server;

/// The most bytes of one chunk.
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
    let connection = &mut server.connection;
    cmd("BF.RESERVE").arg(key).arg("0.01").arg(capacity).exec(connection)?;
    let layers: Vec<String> = cmd("BF.DEBUG").arg(key).query(connection)?;
    // After the number of items there is a line for each layer.
    let bytes = layers.get(1).and_then(|line| line.strip_prefix("bytes:")?.split(' ').next());
    let bytes: u64 = bytes.ok_or_else(|| format!("no bytes in {layers:?}"))?.parse()?;
    for start in (0..bytes).step_by(CHUNK as usize) {
        let end = (start + CHUNK).min(bytes);
        let chunk = random((end - start) as usize, start + 1, thinning);
        // An iterator is the offset after the chunk, counted from 1.
        cmd("BF.LOADCHUNK").arg(key).arg(end + 1).arg(chunk).exec(connection)?;
    }
    let held = server.process().resident()?;
    if held < bytes {
        return Err(format!("the process holds {held} bytes and a filter of {bytes}").into());
    }
    Ok(bytes)
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
