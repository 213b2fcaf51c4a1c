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
pub(crate) const FIXED: u8 = 0;
/// The byte for [`Growth::Scaling`].
pub(crate) const SCALING: u8 = 1;

impl Filter {
    /// The header: everything about the filter but its bits.
    pub fn encode_header(&self) -> [u8; HEADER_BYTES] {
        let spec = self.spec();
        let (growth, expansion) = match spec.growth {
            Growth::Fixed => (FIXED, 0),
            Growth::Scaling { expansion } => (SCALING, expansion),
        };
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
        if fields.take() != MAGIC {
            return Err(HeaderError::Magic.into());
        }
        let version = u16::from_le_bytes(fields.take());
        if version != VERSION {
            return Err(HeaderError::Version(version).into());
        }
        let sizing = u16::from_le_bytes(fields.take());
        if sizing != REVISION {
            return Err(HeaderError::Sizing(sizing).into());
        }
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
        let growth = match (growth, expansion) {
            (FIXED, 0) => Growth::Fixed,
            (FIXED, _) => return Err(Error::Expansion(expansion)),
            (SCALING, _) => Growth::Scaling { expansion },
            (other, _) => return Err(HeaderError::Growth(other).into()),
        };
        Self::with_layers(Spec { capacity, error_rate, growth }, seed, layers, newest_len, permit)
    }
}
