//! Headers of all kinds: valid ones, valid ones of which one or two fields were changed, and any
//! bytes.

mod classic;
mod plain;
mod windowed;

use arbitrary::{Result, Unstructured};
use bloomline_core::bloom::bloomline::header::MAGIC;
use bloomline_core::host::AnyFilter;

use super::check::{LIMIT, MAX_OFFSET};

pub use classic::{Classic, Link};
pub use plain::Plain;
pub use windowed::{Generation, Windowed};

/// The unit of the offset of the first byte of a filter without a window.
const ORIGIN_UNIT: u64 = 4 << 20;

/// The length of headers of this project's layout is a multiple of this number of bytes.
const UNIT: usize = 64;

/// A header, field by field.
#[derive(Clone, Debug)]
pub enum Header {
    /// Of versions 1 and 2: a filter without a window.
    Plain(Plain),
    /// Of version 2: a windowed filter.
    Windowed(Windowed),
    /// Of RedisBloom's layout.
    Classic(Classic),
}

/// The record of an irregular layer.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub index: u32,
    pub pages: u32,
    pub capacity: u64,
}

/// Any bytes, or a header of any kind.
pub fn any(u: &mut Unstructured) -> Result<Vec<u8>> {
    if u.ratio(1, 8)? {
        let length = u.int_in_range(0..=200usize)?.min(u.len());
        return Ok(u.bytes(length)?.to_vec());
    }
    let header = Header::valid(u)?;
    damaged(header, u)
}

/// One to three headers whose filters can be merged, as far as they are valid.
pub fn family(u: &mut Unstructured) -> Result<Vec<Vec<u8>>> {
    let first = Header::valid(u)?;
    let mut headers = Vec::new();
    for _ in 0..u.int_in_range(0..=2u8)? {
        let member = first.member(u)?;
        headers.push(damaged(member, u)?);
    }
    headers.push(damaged(first, u)?);
    Ok(headers)
}

/// The bytes of a header. Every second one is valid. The others have a random byte, are truncated,
/// have one more byte, or one or two wrong fields.
fn damaged(mut header: Header, u: &mut Unstructured) -> Result<Vec<u8>> {
    if u.ratio(1, 5)? {
        header.move_to_limit(u)?;
    }
    let fields = match u.int_in_range(0..=15u8)? {
        0..=9 => 0,
        10..=13 => 1,
        _ => 2,
    };
    for _ in 0..fields {
        header.change_field(u)?;
    }
    let mut bytes = header.encode();
    match u.int_in_range(0..=31u8)? {
        0 => {
            let at = u.choose_index(bytes.len())?;
            bytes[at] = u.arbitrary()?;
        }
        1 => bytes.truncate(u.choose_index(bytes.len())?),
        2 => bytes.push(u.arbitrary()?),
        _ => {}
    }
    Ok(bytes)
}

impl From<Plain> for Header {
    fn from(header: Plain) -> Self {
        Self::Plain(header)
    }
}

impl From<Windowed> for Header {
    fn from(header: Windowed) -> Self {
        Self::Windowed(header)
    }
}

impl Header {
    /// A header of any kind, whose fields do not contradict each other.
    pub fn valid(u: &mut Unstructured) -> Result<Self> {
        Ok(match u.int_in_range(0..=7u8)? {
            0..=1 => Self::Plain(Plain::valid(u)?),
            2..=5 => Self::Windowed(Windowed::valid(u)?),
            _ => Self::Classic(Classic::valid(u)?),
        })
    }

    /// The bytes.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Plain(header) => header.encode(),
            Self::Windowed(header) => header.encode(),
            Self::Classic(header) => header.encode(),
        }
    }

    /// The header of a filter that was created with the same parameters, and used otherwise.
    fn member(&self, u: &mut Unstructured) -> Result<Self> {
        let mut member = self.clone();
        match &mut member {
            Self::Plain(header) => header.fill(u)?,
            Self::Windowed(header) => header.fill(u)?,
            Self::Classic(header) => header.grow(u)?,
        }
        Ok(member)
    }

    /// Moves the bits to the end of all offsets, or some bytes before it.
    fn move_to_limit(&mut self, u: &mut Unstructured) -> Result<()> {
        let blocks = u64::from(u.int_in_range(0..=200u32)?) * u.choose(&[0, 64, 4096])?;
        match self {
            Self::Plain(header) => {
                header.first_byte = (u64::from(u32::MAX) - blocks / 64) * ORIGIN_UNIT;
            }
            Self::Windowed(header) => {
                // The number of bytes follows from the other fields.
                let permit =
                    &mut |demand: bloomline_core::host::Demand| demand.filter_bytes <= LIMIT;
                let bits = AnyFilter::decode_header(&header.encode(), permit).map_or(0, |filter| {
                    let mut bits = 0;
                    filter.each_layer(|words| bits += words.bytes());
                    bits
                });
                header.dropped_bytes = MAX_OFFSET - bits - blocks;
            }
            Self::Classic(_) => {}
        }
        Ok(())
    }

    /// Gives one field any value.
    fn change_field(&mut self, u: &mut Unstructured) -> Result<()> {
        match self {
            Self::Plain(header) => header.change_field(u),
            Self::Windowed(header) => header.change_field(u),
            Self::Classic(header) => header.change_field(u),
        }
    }
}

fn change_record(records: &mut [Record], number: u64, u: &mut Unstructured) -> Result<()> {
    if !records.is_empty() {
        let at = u.choose_index(records.len())?;
        match u.int_in_range(0..=2u8)? {
            0 => records[at].index = number as u32,
            1 => records[at].pages = number as u32,
            _ => records[at].capacity = number,
        }
    }
    Ok(())
}

/// A capacity: layers of one block, of one page, or of some pages, which can be folded.
fn capacity(u: &mut Unstructured) -> Result<u64> {
    let most = *u.choose(&[20, 1000, 30_000])?;
    u.int_in_range(1..=most)
}

fn rate(u: &mut Unstructured) -> Result<f64> {
    Ok(*u.choose(&[0.25, 0.1, 0.01, 0.01, 0.005, 0.001, 1e-6, 1e-9])?)
}

fn growth(u: &mut Unstructured) -> Result<(u8, u32)> {
    Ok(if u.ratio(3, 4)? { (1, u.int_in_range(1..=4)?) } else { (0, 0) })
}

/// The start of a header up to the layers: magic, version, revision, and four more bytes.
fn start(version: u16, revision: u16, kinds: [u8; 4], expansion: u32, layers: u32) -> Vec<u8> {
    let numbers = [version.to_le_bytes(), revision.to_le_bytes()].concat();
    let layers = [expansion.to_le_bytes(), layers.to_le_bytes()].concat();
    [&MAGIC[..], &numbers, &kinds, &layers].concat()
}

/// Appends the zeros with which a header of version 2 ends.
fn end(mut bytes: Vec<u8>) -> Vec<u8> {
    let mut length = bytes.len().next_multiple_of(UNIT);
    // A header of RedisBloom's layout has 20 bytes and 53 per layer.
    if (length - 20).is_multiple_of(53) {
        length += UNIT;
    }
    bytes.resize(length, 0);
    bytes
}
