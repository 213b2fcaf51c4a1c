//! Headers of all kinds. Most are valid in all but one or two fields.

use arbitrary::{Result, Unstructured};
use bloomline_core::bloomline::header::{EXTENDED_VERSION, MAGIC, VERSION};
use bloomline_core::bloomline::sizing::REVISION;
use bloomline_core::redisbloom::geometry::{MAX_HASHES, Options, Shape};

use super::number::{double, whole};

/// Any bytes, or a header of any kind. One header in 16 has a random byte, one is truncated,
/// and one has an additional byte.
pub fn any(u: &mut Unstructured) -> Result<Vec<u8>> {
    let mut header = match u.int_in_range(0..=7u8)? {
        0 => {
            let length = u.int_in_range(0..=200usize)?.min(u.len());
            return Ok(u.bytes(length)?.to_vec());
        }
        1 => own(u)?,
        2 => irregular(u)?,
        3..=4 => windowed(u)?,
        _ => foreign(u)?,
    };
    match u.int_in_range(0..=15u8)? {
        0 => {
            let at = u.choose_index(header.len())?;
            header[at] = u.arbitrary()?;
        }
        1 => header.truncate(u.choose_index(header.len())?),
        2 => header.push(u.arbitrary()?),
        _ => {}
    }
    Ok(header)
}

/// The value, or with probability 1/16 another one.
fn mostly<T>(
    u: &mut Unstructured,
    value: T,
    other: impl FnOnce(&mut Unstructured) -> Result<T>,
) -> Result<T> {
    if u.int_in_range(0..=15u8)? == 0 { other(u) } else { Ok(value) }
}

/// A header of this project's layout.
pub fn own(u: &mut Unstructured) -> Result<Vec<u8>> {
    let is_scaling = u.arbitrary::<bool>()?;
    let growth = mostly(u, u8::from(is_scaling), |u| u.arbitrary())?;
    let expansion = if is_scaling { u.int_in_range(1..=4)? } else { 0 };
    let expansion = mostly(u, expansion, |u| whole(u).map(|n| n as u32))?;
    let layers = if is_scaling { u.int_in_range(1..=8)? } else { 1 };
    let layers = mostly(u, layers, |u| whole(u).map(|n| n as u32))?;
    let capacity = u.int_in_range(1..=1000)?;
    let capacity = mostly(u, capacity, whole)?;
    let newest_len = u.int_in_range(0..=capacity)?;
    Ok([
        &MAGIC[..],
        &mostly(u, VERSION, |u| u.arbitrary())?.to_le_bytes(),
        &mostly(u, REVISION, |u| u.arbitrary())?.to_le_bytes(),
        &[growth, 0, 0, 0],
        &expansion.to_le_bytes(),
        &layers.to_le_bytes(),
        &capacity.to_le_bytes(),
        &double(u)?.to_le_bytes(),
        &u.arbitrary::<u64>()?.to_le_bytes(),
        &mostly(u, newest_len, whole)?.to_le_bytes(),
        &[0; 8],
    ]
    .concat())
}

/// The header of a filter that was compacted or merged.
pub fn irregular(u: &mut Unstructured) -> Result<Vec<u8>> {
    let mut bytes = own(u)?;
    let version = mostly(u, EXTENDED_VERSION, |u| u.arbitrary())?;
    bytes[8..10].copy_from_slice(&version.to_le_bytes());
    // Zeros before the number of items, and after the offset of the first byte.
    bytes.splice(48..48, [0; 8]);
    let first_byte = u64::from(u.int_in_range(0..=9u32)?) * ORIGIN_UNIT;
    let first_byte = mostly(u, first_byte, whole)?;
    bytes[64..72].copy_from_slice(&first_byte.to_le_bytes());
    bytes.extend([0; 8]);
    let layers = u32::from_le_bytes([bytes[20], bytes[21], bytes[22], bytes[23]]);
    let capacity = u64::from(bytes[24]) | u64::from(bytes[25]) << 8;
    records(u, layers, capacity, &mut bytes)?;
    Ok(bytes)
}

/// The unit of the offset of the first byte.
const ORIGIN_UNIT: u64 = 4 << 20;

/// Appends records of some of the first layers, mostly in order, and zeros.
fn records(u: &mut Unstructured, layers: u32, capacity: u64, bytes: &mut Vec<u8>) -> Result<()> {
    for index in 0..layers.min(8) {
        if u.arbitrary()? {
            let pages = u.int_in_range(1..=3u32)?;
            // Mostly fewer items than the layer was made for.
            let most = capacity / 2 + 1;
            let items = u.int_in_range(1..=most)?;
            bytes.extend(mostly(u, index, |u| whole(u).map(|n| n as u32))?.to_le_bytes());
            bytes.extend(mostly(u, pages, |u| whole(u).map(|n| n as u32))?.to_le_bytes());
            bytes.extend(mostly(u, items, whole)?.to_le_bytes());
        }
    }
    bytes.resize(bytes.len().next_multiple_of(64), 0);
    Ok(())
}

/// The header of a filter that forgets.
pub fn windowed(u: &mut Unstructured) -> Result<Vec<u8>> {
    let is_scaling = u.arbitrary::<bool>()?;
    let growth = mostly(u, u8::from(is_scaling), |u| u.arbitrary())?;
    let expansion = if is_scaling { u.int_in_range(1..=4)? } else { 0 };
    let expansion = mostly(u, expansion, |u| whole(u).map(|n| n as u32))?;
    let generations = u.int_in_range(2..=8u8)?;
    let generations = mostly(u, generations, |u| u.int_in_range(0..=66))?;
    let count = u.int_in_range(1..=u32::from(generations) + 1)?;
    let present = mostly(u, count, |u| whole(u).map(|n| n as u32))?;
    let capacity = u.int_in_range(1..=1000)?;
    let capacity = mostly(u, u64::max(capacity, generations.into()), whole)?;
    let window = u.int_in_range(1..=3u8)?;
    let refreshes = u8::from(u.arbitrary::<bool>()?);
    let millis = if window == 1 { u.int_in_range(1..=10_000)? } else { 0 };
    let number = u64::from(count) - 1 + if u.arbitrary()? { u.int_in_range(0..=9)? } else { 0 };
    // A generation takes at least one block, so this is more often possible than not.
    let dropped = number - (u64::from(count) - 1);
    let dropped_bytes = dropped * u.int_in_range(1..=300u64)? * 64;
    let regular = capacity.div_ceil(u64::from(generations).max(1));
    let mut opened = u.int_in_range(0..=10_000u64)?;
    let mut bytes = [
        &MAGIC[..],
        &mostly(u, EXTENDED_VERSION, |u| u.arbitrary())?.to_le_bytes(),
        &mostly(u, REVISION, |u| u.arbitrary())?.to_le_bytes(),
        &[growth, mostly(u, window, |u| u.arbitrary())?],
        &[mostly(u, refreshes, |u| u.arbitrary())?, generations],
        &expansion.to_le_bytes(),
        &present.to_le_bytes(),
        &capacity.to_le_bytes(),
        &double(u)?.to_le_bytes(),
        &u.arbitrary::<u64>()?.to_le_bytes(),
        &mostly(u, millis, whole)?.to_le_bytes(),
        &mostly(u, number, whole)?.to_le_bytes(),
        &mostly(u, dropped_bytes, whole)?.to_le_bytes(),
        &mostly(u, opened, whole)?.to_le_bytes(),
    ]
    .concat();
    for _ in 0..count {
        let overflow = if is_scaling && u.ratio(1, 4)? { u.int_in_range(1..=3)? } else { 0 };
        let len = u.int_in_range(0..=regular)?;
        let live = u.int_in_range(0..=len)?;
        bytes.extend(mostly(u, opened, whole)?.to_le_bytes());
        bytes.extend(mostly(u, len, whole)?.to_le_bytes());
        bytes.extend(mostly(u, live, whole)?.to_le_bytes());
        bytes.extend(mostly(u, overflow, |u| whole(u).map(|n| n as u32))?.to_le_bytes());
        bytes.extend([0; 4]);
        opened += u.int_in_range(0..=5_000)?;
    }
    let layers = if u.ratio(1, 3)? { count } else { 0 };
    records(u, layers, regular, &mut bytes)?;
    Ok(bytes)
}

/// The numbers of a layer in RedisBloom's header, which may contradict each other.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// All numbers but the number of bytes.
    pub shape: Shape,
    /// The number of bytes, which should be an eighth of the number of bits.
    pub bytes: u64,
}

/// The numbers of a layer. In most cases one or two of them are changed.
pub fn link(u: &mut Unstructured, options: u32) -> Result<Link> {
    let capacity = u.int_in_range(1..=1000)?;
    let capacity = mostly(u, capacity, whole)?;
    let error = double(u)?;
    let mut shape = Shape::new(Options::from_bits(options), capacity, error).unwrap_or(Shape {
        capacity,
        error,
        bits_per_item: 10.0,
        hashes: 7,
        bits: 1024,
        log2_bits: 0,
        len: 0,
    });
    shape.len = u.int_in_range(0..=shape.capacity)?;
    match u.int_in_range(0..=15u8)? {
        0 => shape.capacity = whole(u)?,
        1 => shape.error = double(u)?,
        2 => {
            // Any number of hashes, with the number of bits per item that belongs to it.
            shape.hashes = u.int_in_range(0..=MAX_HASHES + 2)?;
            shape.bits_per_item = (f64::from(shape.hashes) - 0.5) / 0.693_147_180_559_945;
        }
        3 => shape.bits_per_item = double(u)?,
        4 => shape.bits = whole(u)?,
        5 => shape.bits = whole(u)? % 4096 * 64,
        6 => shape.log2_bits = u.arbitrary()?,
        7 => shape.log2_bits = u.int_in_range(0..=64)?,
        8..=9 => shape.len = whole(u)?,
        10 => shape.hashes = whole(u)? as u32,
        _ => {}
    }
    let bytes = shape.bits / 8;
    Ok(Link { shape, bytes: mostly(u, bytes, whole)? })
}

/// A header of RedisBloom's layout.
pub fn foreign(u: &mut Unstructured) -> Result<Vec<u8>> {
    let options = u.int_in_range(0..=15u32)?;
    let options = mostly(u, options, |u| whole(u).map(|n| n as u32))?;
    let count = u.int_in_range(1..=4u32)?;
    let links = (0..count).map(|_| link(u, options)).collect::<Result<Vec<_>>>()?;
    let total = links.iter().map(|link| link.shape.len).fold(0, u64::wrapping_add);
    let expansion = u.int_in_range(0..=4u32)?;
    let mut bytes = Vec::new();
    bytes.extend(mostly(u, total, whole)?.to_le_bytes());
    bytes.extend(mostly(u, count, |u| whole(u).map(|n| n as u32))?.to_le_bytes());
    bytes.extend(options.to_le_bytes());
    bytes.extend(mostly(u, expansion, |u| whole(u).map(|n| n as u32))?.to_le_bytes());
    for Link { shape, bytes: byte_count } in links {
        bytes.extend(byte_count.to_le_bytes());
        bytes.extend(shape.bits.to_le_bytes());
        bytes.extend(shape.len.to_le_bytes());
        bytes.extend(shape.error.to_le_bytes());
        bytes.extend(shape.bits_per_item.to_le_bytes());
        bytes.extend(shape.hashes.to_le_bytes());
        bytes.extend(shape.capacity.to_le_bytes());
        bytes.push(shape.log2_bits);
    }
    Ok(bytes)
}
