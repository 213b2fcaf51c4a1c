//! A header of RedisBloom's layout whose layers hold more than 2^64 - 1 items together.

/// Layers of capacity 5, 10, 20 and 40 that hold 2^64 - 1, 10, 20 and 12 items. The total in the
/// header is 2^64 - 1. RedisBloom replies "received bad data".
const HEADER: &str = "\
    ffffffffffffffff040000000500000002000000\
    08000000000000004000000000000000ffffffffffffffff7b14ae47e17a743fe9862fb2350e2640\
    08000000050000000000000000\
    100000000000000080000000000000000a000000000000007b14ae47e17a643f4af7d49edef02840\
    090000000a0000000000000000\
    2800000000000000400100000000000014000000000000007b14ae47e17a543faa677a8b87d32b40\
    0a000000140000000000000000\
    500000000000000080020000000000000c000000000000007b14ae47e17a443f0bd81f7830b62e40\
    0b000000280000000000000000";

/// The header as bytes.
pub fn overflowing_header() -> Vec<u8> {
    let digits = HEADER.as_bytes().as_chunks::<2>().0;
    let byte = |pair: &[u8; 2]| {
        let digits = str::from_utf8(pair).expect("digits");
        u8::from_str_radix(digits, 16).expect("hexadecimal digits")
    };
    digits.iter().map(byte).collect()
}
