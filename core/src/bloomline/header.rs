//! The header of a filter: everything but its bits.
//!
//! Version 1 has 64 bytes:
//!
//! ```text
//! offset  0        8       10      12      13        16         20      24
//!         magic    version sizing  growth  reserved  expansion  layers
//!        24        32          40     48          56        64
//!         capacity  error_rate  seed   newest_len  reserved
//! ```
//!
//! Version 2 is that of filters that were compacted, or merged above their capacity, and of
//! [windowed filters](crate::window::header):
//!
//! ```text
//! offset  0        8       10      12      13        16         20      24
//!         magic    version sizing  growth  zeros     expansion  layers
//!        24        32          40     48     56          64          72        80
//!         capacity  error_rate  seed   zeros  newest_len  first_byte  zeros     records...
//! ```
//!
//! Records of [irregular] layers follow, then zeros. All numbers are
//! little-endian. The geometry is derived from the header and not stored in it, so the header cannot
//! contradict the geometry. `docs/format.md` describes the format.

use super::growth::{Common, Shape};
use super::irregular::{self, Records, is_length, pad_header};
use super::sizing::REVISION;
use super::{BlockedLayer, Filter};
use crate::error::{Error, HeaderError};
use crate::fields::{Reader, Writer};
use crate::scalable::Description;
use crate::spec::{Growth, Permit, Spec};

/// Bytes of a header of version 1.
pub const HEADER_BYTES: usize = 64;

/// Bytes of a header of version 2 before its records.
pub const EXTENDED_BYTES: usize = 80;

/// The first bytes of a header. In RedisBloom's header they would be a count of 8.0e18 items.
pub const MAGIC: [u8; 8] = *b"bloomlin";

/// The version of the format, for filters that follow from what they were created with.
pub const VERSION: u16 = 1;

/// The version of the format for all other filters.
pub const EXTENDED_VERSION: u16 = 2;

/// The byte for [`Growth::Fixed`], whose expansion is stored as 0.
const FIXED: u8 = 0;
/// The byte for [`Growth::Scaling`].
const SCALING: u8 = 1;

impl Filter {
    /// The header: everything about the filter but its bits.
    pub fn encode_header(&self) -> Vec<u8> {
        let spec = self.spec();
        let mut records = Vec::new();
        irregular::encode(spec, self.layers().map(BlockedLayer::shape), 0, &mut records);
        let is_extended = !records.is_empty() || self.common.first_byte() != 0;
        let version = if is_extended { EXTENDED_VERSION } else { VERSION };
        let (growth, expansion) = encode_growth(spec.growth);
        let mut fields = Writer::<EXTENDED_BYTES>::new();
        fields.put(MAGIC);
        fields.put(version.to_le_bytes());
        fields.put(REVISION.to_le_bytes());
        fields.put([growth, 0, 0, 0]);
        fields.put(expansion.to_le_bytes());
        fields.put(self.layer_count().to_le_bytes());
        fields.put(spec.capacity.to_le_bytes());
        fields.put(spec.error_rate.to_le_bytes());
        fields.put(self.seed().to_le_bytes());
        if is_extended {
            fields.put([0; 8]);
        }
        fields.put(self.newest_len().to_le_bytes());
        fields.put(self.common.first_byte().to_le_bytes());
        let mut bytes = fields.finish().to_vec();
        if is_extended {
            bytes.extend(records);
            pad_header(&mut bytes);
        } else {
            bytes.truncate(HEADER_BYTES);
        }
        bytes
    }

    /// The filter of a header, with all bits zero; [`Bits::write_chunk`](crate::chunk::Bits::write_chunk) writes them.
    ///
    /// The bytes may come from anywhere. Nothing is allocated for bits before all numbers are
    /// valid.
    ///
    /// # Errors
    ///
    /// [`Error::Header`], and those of [`Filter::new`].
    pub fn decode_header(bytes: &[u8], permit: Permit) -> Result<Self, Error> {
        Self::describe(bytes)?.build(permit)
    }

    /// What a header describes. This is the definition of a valid filter of this layout: one that
    /// is described by a header which this function accepts.
    ///
    /// # Errors
    ///
    /// [`Error::Header`], and the errors of [`Filter::new`] for a parameter out of range.
    pub(crate) fn describe(bytes: &[u8]) -> Result<Description<BlockedLayer>, Error> {
        let is_extended = bytes.len() >= EXTENDED_BYTES;
        if !is_length(bytes.len()) {
            return Err(HeaderError::Length(bytes.len()).into());
        }
        let (fixed, records) =
            bytes.split_at(if is_extended { EXTENDED_BYTES } else { HEADER_BYTES });
        let mut fields = Reader::new(fixed);
        decode_start(&mut fields, if is_extended { EXTENDED_VERSION } else { VERSION })?;
        let [growth, reserved @ ..] = fields.take::<4>();
        let expansion = u32::from_le_bytes(fields.take());
        let layers = u32::from_le_bytes(fields.take());
        let capacity = u64::from_le_bytes(fields.take());
        let error_rate = f64::from_le_bytes(fields.take());
        let seed = u64::from_le_bytes(fields.take());
        let mut zeros = u64::from_le_bytes(if is_extended { fields.take() } else { [0; 8] });
        let newest_len = u64::from_le_bytes(fields.take());
        let mut first_byte = u64::from_le_bytes(fields.take());
        if is_extended {
            zeros |= u64::from_le_bytes(fields.take());
        } else {
            zeros |= std::mem::take(&mut first_byte);
        }
        if reserved != [0; 3] || zeros != 0 {
            return Err(HeaderError::Reserved.into());
        }
        let spec = Spec { capacity, error_rate, growth: decode_growth(growth, expansion)? };
        let mut irregular = Records::new(records, bytes.len())?;
        let mut shapes = Vec::new();
        let common =
            irregular::layers(Common::first(spec, seed)?, layers, &mut irregular, &mut shapes)?;
        let is_regular = !irregular.had_any() && first_byte == 0;
        irregular.finish(bytes.len())?;
        if is_extended && is_regular {
            return Err(HeaderError::Version(EXTENDED_VERSION).into());
        }
        let common = common.with_first_byte(first_byte).ok_or(HeaderError::Offset(first_byte))?;
        if newest_len > shapes.last().map_or(0, Shape::capacity) {
            return Err(HeaderError::Len(newest_len).into());
        }
        Ok(Description { common, shapes, newest_len })
    }
}

/// Reads the fields with which headers of all versions begin: magic, version, sizing revision.
///
/// # Errors
///
/// They are not those of a header of this version.
pub(crate) fn decode_start(fields: &mut Reader, version: u16) -> Result<(), HeaderError> {
    if fields.take() != MAGIC {
        return Err(HeaderError::Magic);
    }
    match u16::from_le_bytes(fields.take()) {
        found if found == version => {}
        other => return Err(HeaderError::Version(other)),
    }
    match u16::from_le_bytes(fields.take()) {
        REVISION => Ok(()),
        other => Err(HeaderError::Sizing(other)),
    }
}

/// The byte for a kind of growth, and the expansion.
pub(crate) fn encode_growth(growth: Growth) -> (u8, u32) {
    match growth {
        Growth::Fixed => (FIXED, 0),
        Growth::Scaling { expansion } => (SCALING, expansion),
    }
}

/// The growth of a byte and an expansion, which may be out of range.
///
/// # Errors
///
/// [`HeaderError::Growth`] for another byte, [`Error::Expansion`] for a fixed filter with one.
pub(crate) fn decode_growth(kind: u8, expansion: u32) -> Result<Growth, Error> {
    match (kind, expansion) {
        (FIXED, 0) => Ok(Growth::Fixed),
        (FIXED, _) => Err(Error::Expansion(expansion)),
        (SCALING, _) => Ok(Growth::Scaling { expansion }),
        (other, _) => Err(HeaderError::Growth(other).into()),
    }
}
