//! Headers that no filter has: the findings of fuzzers and tests, byte by byte. And filters of many
//! layers, without the items that they count.

use bloomline_core::Error;
use bloomline_core::host::{Demand, Filter, Spec};

/// Layers of capacity 5, 10, 20 and 40 that hold 2^64 - 1, 10, 20 and 12 items. The total in the
/// header is 2^64 - 1. RedisBloom replies "received bad data".
const OVERFLOWING: &str = "\
    ffffffffffffffff040000000500000002000000\
    08000000000000004000000000000000ffffffffffffffff7b14ae47e17a743fe9862fb2350e2640\
    08000000050000000000000000\
    100000000000000080000000000000000a000000000000007b14ae47e17a643f4af7d49edef02840\
    090000000a0000000000000000\
    2800000000000000400100000000000014000000000000007b14ae47e17a543faa677a8b87d32b40\
    0a000000140000000000000000\
    500000000000000080020000000000000c000000000000007b14ae47e17a443f0bd81f7830b62e40\
    0b000000280000000000000000";

/// A layer of RedisBloom's layout that holds 2^64 - 1 items.
const MOST_ITEMS: &str = "\
    ffffffffffffffff01000000040000000300000000200000000000000000010000000000ffffffffffffffff9b2ba186\
    9b84063db8d3d82c1bc650402f000000d00300000000000010";

/// Two generations of a regular layer each, whose bits begin at byte 0.
const REGULAR: &str = "\
    626c6f6f6d6c696e0200030001030102020000000200000064000000000000007b14ae47e17a843f0700000000000000\
    0000000000000000010000000000000000000000000000000000000000000000e8030000000000000a00000000000000\
    0a000000000000000000000000000000d0070000000000000a000000000000000a000000000000000000000000000000\
    000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000";

/// The same generations with an overflow layer each.
const OVERFLOWED: &str = "\
    626c6f6f6d6c696e0200030001030102020000000200000064000000000000007b14ae47e17a843f0700000000000000\
    0000000000000000010000000000000000000000000000000000000000000000e8030000000000000a00000000000000\
    0a000000000000000100000000000000d0070000000000000a000000000000000a000000000000000100000000000000\
    000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000";

/// A filter of `layers` layers whose bits are all zero. The older layers count as full, and the
/// newest one as empty.
pub fn with_layers(
    spec: Spec,
    layers: u32,
    permit: &mut dyn FnMut(Demand) -> bool,
) -> Result<Filter, Error> {
    let mut header = Filter::new(spec, 7, &mut |_| true)?.encode_header();
    header[20..24].copy_from_slice(&layers.to_le_bytes());
    Filter::decode_header(&header, permit)
}

/// More items in the layers together than a total can count.
pub fn overflowing_header() -> Vec<u8> {
    decoded(OVERFLOWING)
}

/// A layer that holds the most items.
pub fn most_items() -> Vec<u8> {
    decoded(MOST_ITEMS)
}

/// A ring without overflow layers whose bits begin at byte `first`.
pub fn ring_at(first: u64) -> Vec<u8> {
    let mut header = decoded(REGULAR);
    header[64..72].copy_from_slice(&first.to_le_bytes());
    header
}

/// A ring with overflow layers.
pub fn overflowed_ring() -> Vec<u8> {
    decoded(OVERFLOWED)
}

fn decoded(digits: &str) -> Vec<u8> {
    let digits = digits.as_bytes().as_chunks::<2>().0;
    let byte = |pair: &[u8; 2]| {
        let digits = str::from_utf8(pair).expect("digits");
        u8::from_str_radix(digits, 16).expect("hexadecimal digits")
    };
    digits.iter().map(byte).collect()
}
