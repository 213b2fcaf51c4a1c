//! The frame of a DUMP payload: the value's bytes, two bytes of RDB version, eight of checksum.

use crc::{CRC_64_REDIS, Crc};

/// What follows the value: the version (2 bytes) with the checksum (8 bytes), little-endian.
const FOOTER: usize = 10;

/// The value's bytes with the RDB version, without the checksum.
pub fn body_of_dump(dump: &[u8]) -> &[u8] {
    &dump[..dump.len() - 8]
}

/// Puts the right checksum behind a body, so that damage in it gets as far as the module.
pub fn seal_dump(body: &[u8]) -> Vec<u8> {
    let mut dump = body.to_vec();
    dump.extend(Crc::<u64>::new(&CRC_64_REDIS).checksum(body).to_le_bytes());
    dump
}

/// Cuts the value's bytes to `length`, keeping the version and sealing again.
pub fn truncate_dump(dump: &[u8], length: usize) -> Vec<u8> {
    let version = &dump[dump.len() - FOOTER..dump.len() - 8];
    seal_dump(&[&dump[..length], version].concat())
}
