//! The frame of a DUMP payload: the value, then the RDB version (2 bytes, little-endian), then a
//! CRC-64 checksum (8 bytes, little-endian).

use crc::{CRC_64_REDIS, Crc};

/// Made once: it holds a table.
static CHECKSUM: Crc<u64> = Crc::<u64>::new(&CRC_64_REDIS);

/// Bytes after the value: version and checksum.
pub const DUMP_FOOTER: usize = 10;

/// A payload without its checksum: the value and the RDB version.
pub fn body_of_dump(dump: &[u8]) -> &[u8] {
    &dump[..dump.len() - 8]
}

/// Appends the correct checksum to a body, so that the server passes a damaged value on to the
/// module.
pub fn seal_dump(body: &[u8]) -> Vec<u8> {
    let mut dump = body.to_vec();
    dump.extend(CHECKSUM.checksum(body).to_le_bytes());
    dump
}

/// Truncates the value to `length` bytes; keeps the version, and computes the checksum again.
pub fn truncate_dump(dump: &[u8], length: usize) -> Vec<u8> {
    let version = &dump[dump.len() - DUMP_FOOTER..dump.len() - 8];
    seal_dump(&[&dump[..length], version].concat())
}
