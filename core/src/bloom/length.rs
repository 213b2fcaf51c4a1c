//! The lengths of headers, which differ from those of RedisBloom's headers.

/// Bytes of a header of version 1.
pub const HEADER_BYTES: usize = 64;

/// Bytes of a header of version 2 before its records.
pub const EXTENDED_BYTES: usize = 80;

/// The length of every header of version 1 or 2 is a multiple of this number of bytes.
const UNIT: usize = 64;

/// The most items of a header of version 3: the time of a test grows with their number.
pub const MOST_LISTED: usize = 16;

/// Bytes of an item in a header of version 3.
pub(crate) const LISTED_BYTES: usize = 8;

/// The number of items in a header of version 3 that has this length. None of RedisBloom's headers
/// has such a length.
pub(crate) fn listed(len: usize) -> Option<usize> {
    let list = len.checked_sub(HEADER_BYTES)?;
    let is_list = list.is_multiple_of(LISTED_BYTES) && list <= MOST_LISTED * LISTED_BYTES;
    is_list.then_some(list / LISTED_BYTES)
}

/// True if a header of version 1 or 2 can have this length: a whole number of units, which
/// RedisBloom's headers of 20 bytes and 53 bytes per layer do not have.
pub(crate) fn is_length(len: usize) -> bool {
    len >= UNIT && len.is_multiple_of(UNIT) && !(len - 20).is_multiple_of(53)
}

/// The length of a header of version 2 with `len` bytes before the zeros at its end.
pub(crate) fn padded_len(len: usize) -> usize {
    let padded = len.next_multiple_of(UNIT);
    if is_length(padded) { padded } else { padded + UNIT }
}

/// Ends a header of version 2 with zeros.
pub(crate) fn pad_header(bytes: &mut Vec<u8>) {
    bytes.resize(padded_len(bytes.len()), 0);
}
