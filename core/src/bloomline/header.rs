//! The header of a filter: everything but its bits, in 64 bytes.
//!
//! ```text
//! offset  0        8       10      12      13        16         20      24
//!         magic    version sizing  growth  reserved  expansion  layers
//!        24        32          40     48          56        64
//!         capacity  error_rate  seed   newest_len  reserved
//! ```
//!
//! All numbers are little-endian. The geometry is derived from the header and not stored in it, so
//! the header cannot contradict the geometry. `docs/format.md` describes the format.

use super::Filter;
use super::sizing::REVISION;
use crate::error::{Error, HeaderError};
use crate::fields::{Reader, Writer};
use crate::spec::{Growth, Permit, Spec};

/// Bytes of a header. RedisBloom's headers have 20 bytes and 53 bytes per layer, which is never 64,
/// so the length alone distinguishes the two.
pub const HEADER_BYTES: usize = 64;

/// The first bytes of a header. In RedisBloom's header they would be a count of 8.0e18 items.
pub const MAGIC: [u8; 8] = *b"bloomlin";

/// The version of the format.
pub const VERSION: u16 = 1;

/// The byte for [`Growth::Fixed`], whose expansion is stored as 0.
const FIXED: u8 = 0;
/// The byte for [`Growth::Scaling`].
const SCALING: u8 = 1;

impl Filter {
    /// The header: everything about the filter but its bits.
    pub fn encode_header(&self) -> [u8; HEADER_BYTES] {
        let spec = self.spec();
        let (growth, expansion) = encode_growth(spec.growth);
        let mut fields = Writer::<HEADER_BYTES>::new();
        fields.put(MAGIC);
        fields.put(VERSION.to_le_bytes());
        fields.put(REVISION.to_le_bytes());
        fields.put([growth, 0, 0, 0]);
        fields.put(expansion.to_le_bytes());
        fields.put(self.layer_count().to_le_bytes());
        fields.put(spec.capacity.to_le_bytes());
        fields.put(spec.error_rate.to_le_bytes());
        fields.put(self.seed().to_le_bytes());
        fields.put(self.newest_len().to_le_bytes());
        fields.finish()
    }

    /// The filter of a header, with all bits zero; [`Filter::write_chunk`] writes them.
    ///
    /// The bytes may come from anywhere. Nothing is allocated for bits before all numbers are
    /// valid.
    ///
    /// # Errors
    ///
    /// [`Error::Header`], and those of [`Filter::with_layers`].
    pub fn decode_header(bytes: &[u8], permit: Permit) -> Result<Self, Error> {
        if bytes.len() != HEADER_BYTES {
            return Err(HeaderError::Length(bytes.len()).into());
        }
        let mut fields = Reader::new(bytes);
        decode_start(&mut fields, VERSION)?;
        let [growth, reserved @ ..] = fields.take::<4>();
        let expansion = u32::from_le_bytes(fields.take());
        let layers = u32::from_le_bytes(fields.take());
        let capacity = u64::from_le_bytes(fields.take());
        let error_rate = f64::from_le_bytes(fields.take());
        let seed = u64::from_le_bytes(fields.take());
        let newest_len = u64::from_le_bytes(fields.take());
        if reserved != [0; 3] || fields.take() != [0; 8] {
            return Err(HeaderError::Reserved.into());
        }
        let growth = decode_growth(growth, expansion)?;
        Self::with_layers(Spec { capacity, error_rate, growth }, seed, layers, newest_len, permit)
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
