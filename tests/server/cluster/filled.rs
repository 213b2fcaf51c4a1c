//! Filters with random bits instead of millions of items, so that all their bytes are backed by
//! memory.

use bloomline_harness::{Random, show};
use redis::Value;

/// Bytes of the chunks with which the filter is filled.
const CHUNK: usize = 16 << 20;

/// Makes a filter for `capacity` items at 1 % (eleven bits per item) in which half of the bits are
/// set, as in a full one; returns the bytes of its bits.
///
/// `run` sends a command to the server that has the key.
pub fn fill(run: &mut dyn FnMut(&[&[u8]]) -> Value, key: &str, capacity: u64) -> usize {
    let capacity = capacity.to_string();
    let made = run(&[b"BF.RESERVE", key.as_bytes(), b"0.01", capacity.as_bytes()]);
    assert_eq!(show(&made), "+OK");
    let debug = show(&run(&[b"BF.DEBUG", key.as_bytes()]));
    let bytes =
        debug.split_once("bytes:").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
    let bytes: usize = bytes.unwrap_or_else(|| panic!("no bytes in {debug}"));

    let mut random = Random(bytes as u64);
    let chunk: Vec<u8> =
        (0..bytes.min(CHUNK).div_ceil(8)).flat_map(|_| random.next().to_le_bytes()).collect();
    let mut end = 0;
    while end < bytes {
        let part = &chunk[..chunk.len().min(bytes - end)];
        end += part.len();
        // The iterator of a chunk is the offset of its end, plus one.
        let iterator = (end + 1).to_string();
        let loaded = run(&[b"BF.LOADCHUNK", key.as_bytes(), iterator.as_bytes(), part]);
        assert_eq!(show(&loaded), "+OK");
    }
    bytes
}
