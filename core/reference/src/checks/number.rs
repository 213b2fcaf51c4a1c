//! Numbers at the edges of types, limits and formats.

use arbitrary::{Result, Unstructured};

/// Numbers at the edges of integer widths, of this project's limits, and of the integers that a
/// double represents exactly.
const EDGES: [u64; 32] = [
    0,
    1,
    2,
    3,
    7,
    8,
    63,
    64,
    65,
    100,
    255,
    256,
    1075,
    1076,
    4095,
    4096,
    4097,
    32_768,
    65_536,
    1 << 24,
    1 << 30,
    1 << 31,
    (1 << 32) - 1,
    1 << 40,
    1 << 53,
    u32::MAX as u64 * (4 << 20),
    (1 << 62) - 4096,
    (1 << 62) - 64,
    1 << 62,
    (1 << 63) - 1,
    1 << 63,
    u64::MAX,
];

/// A whole number: an edge, the neighbour of one, a small number, or any number.
pub fn whole(u: &mut Unstructured) -> Result<u64> {
    Ok(match u.int_in_range(0..=7u8)? {
        0..=1 => *u.choose(&EDGES)?,
        2 => u.choose(&EDGES)?.wrapping_add(1),
        3 => u.choose(&EDGES)?.wrapping_sub(1),
        4..=6 => u.int_in_range(0..=300)?,
        _ => u.arbitrary()?,
    })
}

/// A double: a plausible error rate, an edge, or any bits.
pub fn double(u: &mut Unstructured) -> Result<f64> {
    const RATES: [f64; 8] = [0.01, 0.005, 0.25, 0.1, 0.001, 1e-6, 1e-9, 1e-14];
    const DOUBLES: [f64; 16] = [
        0.0,
        -0.0,
        5e-324,
        f64::MIN_POSITIVE,
        1e-300,
        1e-15,
        1e-16,
        0.25,
        0.250_000_000_000_000_06,
        0.5,
        1.0 - f64::EPSILON / 2.0,
        1.0,
        -1.0,
        f64::INFINITY,
        f64::NAN,
        f64::MAX,
    ];
    Ok(match u.int_in_range(0..=7u8)? {
        0..=3 => *u.choose(&RATES)?,
        4 => *u.choose(&DOUBLES)?,
        5 => 1.0 / (1.0 + u.int_in_range(0..=100_000u32)? as f64),
        6 => f64::from_bits(whole(u)?),
        _ => f64::from_bits(u.arbitrary()?),
    })
}
