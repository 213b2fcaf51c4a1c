//! The header in RedisBloom's layout: everything about a filter but its bits, as BF.SCANDUMP
//! returns it and BF.LOADCHUNK takes it.
//!
//! ```text
//! 0      8       12       16         20         20 + 53 * layers
//! items  layers  options  expansion  layers...
//!
//! of a layer:
//! 0      8     16    24     32             40      44        52   53
//! bytes  bits  len   error  bits_per_item  hashes  capacity  log2_bits
//! ```
//!
//! All numbers are little-endian, without padding between the fields. `bytes` is `bits / 8`.

use super::RedisBloomFilter;
use super::geometry::{Options, RedisBloomShape};
use super::layer::{RedisBloomLayer, RedisBloomParams};
use crate::bloom::scalable::Description;
use crate::error::{Error, HeaderError};
use crate::header_fields::FieldReader;
use crate::memory::lists::try_push;
use crate::permit::Permit;
use crate::spec::{Growth, MAX_LAYERS, Spec};

const FIRST_BYTES: usize = 20;
const LAYER_BYTES: usize = 53;

impl RedisBloomFilter {
    /// An empty filter, as a command creates it.
    ///
    /// # Errors
    ///
    /// Those of [`RedisBloomShape::new`], [`Error::Refused`] by `permit`, [`Error::OutOfMemory`].
    pub fn new(
        capacity: u64,
        error_rate: f64,
        params: RedisBloomParams,
        permit: Permit,
    ) -> Result<Self, Error> {
        let first_error = if params.options.is_fixed() { error_rate } else { error_rate * 0.5 };
        let shape = RedisBloomShape::new(params.options, capacity, first_error)?;
        Self::with_plan(params, &shape.into(), permit)
    }

    /// The capacity and the target rate that the first layer stands for, and the growth.
    pub fn spec(&self) -> Spec {
        let &RedisBloomParams { options, expansion } = self.params();
        let first = self.layers().next().map(RedisBloomLayer::shape);
        let (capacity, first_error) = first.map_or((0, 0.0), |it| (it.capacity, it.error));
        if options.is_fixed() {
            Spec { capacity, error_rate: first_error, growth: Growth::Fixed }
        } else {
            Spec { capacity, error_rate: first_error * 2.0, growth: Growth::Scaling { expansion } }
        }
    }

    /// The header: everything about the filter but its bits.
    pub fn encode_header(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FIRST_BYTES + LAYER_BYTES * self.layer_count() as usize);
        bytes.extend(self.len().to_le_bytes());
        bytes.extend(self.layer_count().to_le_bytes());
        bytes.extend(self.params().options.bits().to_le_bytes());
        bytes.extend(self.params().expansion.to_le_bytes());
        for (layer, len) in self.layers_with_len() {
            let shape = layer.shape();
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

    /// The filter of a header, with all bits zero;
    /// [`Bits::write_chunk`](crate::chunk::Bits::write_chunk) writes them.
    ///
    /// The bytes may come from anywhere. Nothing is allocated for bits before all numbers are
    /// valid.
    ///
    /// # Errors
    ///
    /// [`Error::Header`], [`Error::Refused`] by `permit`, [`Error::OutOfMemory`].
    pub fn decode_header(bytes: &[u8], permit: Permit) -> Result<Self, Error> {
        Self::describe(bytes)?.build(permit)
    }

    /// What a header describes. This is the definition of a valid filter of this layout: one that
    /// is described by a header which this function accepts.
    ///
    /// # Errors
    ///
    /// [`Error::Header`].
    pub(crate) fn describe(bytes: &[u8]) -> Result<Description<RedisBloomShape>, Error> {
        let length = HeaderError::Length(bytes.len());
        let (first, layers) = bytes.split_at_checked(FIRST_BYTES).ok_or(length)?;
        let mut first = FieldReader::new(first);
        let total = u64::from_le_bytes(first.take());
        let count = u32::from_le_bytes(first.take());
        let options = Options::from_bits(u32::from_le_bytes(first.take()));
        let expansion = u32::from_le_bytes(first.take());
        let (layers, rest) = layers.as_chunks::<LAYER_BYTES>();
        if !rest.is_empty() || layers.len() != count as usize {
            return Err(length.into());
        }
        if !(1..=MAX_LAYERS).contains(&count) {
            return Err(HeaderError::Layers(count).into());
        }
        if !options.are_known() {
            return Err(HeaderError::Options(options.unknown_bits()).into());
        }
        let mut plans = Vec::new();
        let (mut items, mut newest_len) = (0u64, 0);
        for layer in layers {
            let shape = decode_layer(layer).ok_or(HeaderError::Layer(plans.len() as u32))?;
            // A sum above 2^64 - 1 is refused, as in RedisBloom.
            items = items.checked_add(shape.len).ok_or(HeaderError::Total(total))?;
            try_push(&mut plans, shape.into())?;
            newest_len = shape.len;
        }
        if items != total {
            return Err(HeaderError::Total(total).into());
        }
        Ok(Description { params: RedisBloomParams { options, expansion }, plans, newest_len })
    }
}

/// The shape in the bytes of a layer; `None` if its numbers contradict each other.
fn decode_layer(bytes: &[u8; LAYER_BYTES]) -> Option<RedisBloomShape> {
    let mut fields = FieldReader::new(bytes);
    let byte_count = u64::from_le_bytes(fields.take());
    let bits = u64::from_le_bytes(fields.take());
    let shape = RedisBloomShape {
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
