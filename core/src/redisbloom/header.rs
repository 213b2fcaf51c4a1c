//! RedisBloom's header: everything about a filter but its bits, for BF.SCANDUMP and BF.LOADCHUNK.
//!
//! ```text
//! 0      8       12       16      20      20 + 53 links
//! items  links   options  growth  links...
//!
//! 0      8     16    24     32             40      44        52   53
//! bytes  bits  len   error  bits_per_item  hashes  capacity  log2_bits
//! ```
//!
//! Little-endian, nothing between the fields. `bytes` is `bits / 8`.

use super::ClassicFilter;
use super::geometry::{Options, Shape};
use super::layer::{ClassicLayer, Common};
use crate::error::{Error, HeaderError};
use crate::fields::Reader;
use crate::scalable::try_push;
use crate::spec::{MAX_LAYERS, Permit};

const FIRST_BYTES: usize = 20;
const LINK_BYTES: usize = 53;

impl ClassicFilter {
    /// An empty filter as a command makes it.
    ///
    /// # Errors
    ///
    /// A number out of range, memory refused by `permit` or not to be had.
    pub fn new(
        capacity: u64,
        error_rate: f64,
        common: Common,
        permit: Permit,
    ) -> Result<Self, Error> {
        let first_error = if common.options.is_fixed() { error_rate } else { error_rate * 0.5 };
        Self::with_shape(common, &Shape::new(common.options, capacity, first_error)?, permit)
    }

    /// The header.
    pub fn encode_header(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FIRST_BYTES + LINK_BYTES * self.layer_count() as usize);
        bytes.extend(self.len().to_le_bytes());
        bytes.extend(self.layer_count().to_le_bytes());
        bytes.extend(self.common().options.bits().to_le_bytes());
        bytes.extend(self.common().expansion.to_le_bytes());
        for (link, len) in self.layers_with_len() {
            let shape = link.shape();
            bytes.extend((shape.bits / 8).to_le_bytes());
            bytes.extend(shape.bits.to_le_bytes());
            bytes.extend(len.to_le_bytes());
            bytes.extend(shape.error.to_le_bytes());
            bytes.extend(shape.bits_per_item.to_le_bytes());
            bytes.extend(shape.hashes.to_le_bytes());
            bytes.extend(shape.capacity.to_le_bytes());
            bytes.push(shape.log2_bits);
        }
        bytes
    }

    /// The filter of a header, its bits all zero.
    ///
    /// # Errors
    ///
    /// [`Error::Header`], or memory refused by `permit` or not to be had. Total: any bytes may be
    /// given, and nothing is allocated for bits before all numbers agree.
    pub fn decode_header(bytes: &[u8], permit: Permit) -> Result<Self, Error> {
        let length = HeaderError::Length(bytes.len());
        let (first, links) = bytes.split_at_checked(FIRST_BYTES).ok_or(length)?;
        let mut first = Reader::new(first);
        let total = u64::from_le_bytes(first.take());
        let count = u32::from_le_bytes(first.take());
        let options = Options::from_bits(u32::from_le_bytes(first.take()));
        let expansion = u32::from_le_bytes(first.take());
        let (links, rest) = links.as_chunks::<LINK_BYTES>();
        if !rest.is_empty() || links.len() != count as usize {
            return Err(length.into());
        }
        if !(1..=MAX_LAYERS).contains(&count) {
            return Err(HeaderError::Layers(count).into());
        }
        if !options.are_known() {
            return Err(HeaderError::Options(options.unknown_bits()).into());
        }
        let mut shapes = Vec::new();
        let mut items = 0u64;
        for link in links {
            let shape = decode_link(link).ok_or(HeaderError::Layer(shapes.len() as u32))?;
            // More items than can be counted are refused, as RedisBloom does.
            items = items.checked_add(shape.len).ok_or(HeaderError::Total(total))?;
            try_push(&mut shapes, shape)?;
        }
        if items != total {
            return Err(HeaderError::Total(total).into());
        }
        let newest_len = shapes.last().map_or(0, |shape| shape.len);
        Self::with_shapes(Common { options, expansion }, &shapes, newest_len, permit)
    }

    /// A filter of links that were read one by one, oldest first; none if there is none.
    pub fn from_links(common: Common, links: Vec<ClassicLayer>) -> Option<ClassicFilter> {
        Self::from_members(common, links)
    }
}

fn decode_link(bytes: &[u8; LINK_BYTES]) -> Option<Shape> {
    let mut fields = Reader::new(bytes);
    let byte_count = u64::from_le_bytes(fields.take());
    let bits = u64::from_le_bytes(fields.take());
    let shape = Shape {
        bits,
        len: u64::from_le_bytes(fields.take()),
        error: f64::from_le_bytes(fields.take()),
        bits_per_item: f64::from_le_bytes(fields.take()),
        hashes: u32::from_le_bytes(fields.take()),
        capacity: u64::from_le_bytes(fields.take()),
        log2_bits: u8::from_le_bytes(fields.take()),
    };
    (byte_count.checked_mul(8) == Some(bits) && shape.is_sound()).then_some(shape)
}
