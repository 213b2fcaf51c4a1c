//! Filters of a given size whose bits are set without adding items.

use redis::cmd;

use crate::Result;
use crate::items::mix;
use crate::server::Server;

/// Reserves `key` at 1 %, able to grow, and sets each bit with probability 2^-`thinning`; returns
/// the bytes of its bits.
///
/// It reads the chunks and writes them back with other bits, so it works in every layout that has
/// the two commands.
pub fn reserve_filled(server: &mut Server, key: &str, capacity: u64, thinning: u32) -> Result<u64> {
    let connection = &mut server.connection;
    cmd("BF.RESERVE").arg(key).arg("0.01").arg(capacity).exec(connection)?;
    // Iterator 0 is the header, 1 is the first byte.
    let mut iterator = 1_u64;
    let mut bytes = 0;
    loop {
        let (next, chunk): (u64, Vec<u8>) =
            cmd("BF.SCANDUMP").arg(key).arg(iterator).query(connection)?;
        if next == 0 {
            return Ok(bytes);
        }
        let chunk = random(chunk.len(), iterator, thinning);
        bytes += chunk.len() as u64;
        cmd("BF.LOADCHUNK").arg(key).arg(next).arg(chunk).exec(connection)?;
        iterator = next;
    }
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
