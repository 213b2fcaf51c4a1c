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
//! [windowed filters](crate::bloom::window::header):
//!
//! ```text
//! offset  0        8       10      12      13        16         20      24
//!         magic    version sizing  growth  zeros     expansion  layers
//!        24        32          40     48     56          64          72        80
//!         capacity  error_rate  seed   zeros  newest_len  first_byte  zeros     records...
//! ```
//!
//! Records of [irregular] layers follow, then zeros.
//!
//! Version 3 is that of [lists](crate::bloom::small): version 1, and the hash of each item. No
//! bits follow.
//!
//! All numbers are little-endian. The geometry is derived from the header and not stored in it, so
//! the header cannot contradict the geometry. `docs/format.md` describes the format.

use std::iter;

use super::growth::BlockedParams;
use super::irregular::{self, IrregularRecords};
use super::sizing::REVISION;
use super::{BlockedLayer, BlockedPlan, BlockedShape, Filter};
pub use crate::bloom::length::{EXTENDED_BYTES, HEADER_BYTES};
use crate::bloom::length::{LISTED_BYTES, is_length, listed, pad_header};
use crate::bloom::scalable::Description;
use crate::bloom::small::{SmallFilter, SmallHeader};
use crate::error::{Error, HeaderError};
use crate::header_fields::{FieldReader, FieldWriter};
use crate::permit::Permit;
use crate::spec::{Growth, Spec};

/// The first bytes of a header. In RedisBloom's header they would be a count of 8.0e18 items.
pub const MAGIC: [u8; 8] = *b"bloomlin";

/// The version of the format, for filters that follow from what they were created with.
pub const VERSION: u16 = 1;

/// The version of the format for lists.
pub const LISTED_VERSION: u16 = 3;

/// The version of the format for all other filters.
pub const EXTENDED_VERSION: u16 = 2;

/// The byte for [`Growth::Fixed`], whose expansion is stored as 0.
const FIXED: u8 = 0;
/// The byte for [`Growth::Scaling`].
const SCALING: u8 = 1;

/// The header of a filter of these layers, oldest first, with this number of items in the newest.
fn encode(
    params: &BlockedParams,
    layers: impl ExactSizeIterator<Item = BlockedPlan>,
    newest_len: u64,
) -> Vec<u8> {
    let (count, mut records) = (layers.len() as u32, Vec::new());
    irregular::encode(params, layers, &mut records);
    let first_byte = params.first_byte();
    let is_extended = !records.is_empty() || first_byte != 0;
    let (version, numbers) = if is_extended {
        (EXTENDED_VERSION, [0, newest_len, first_byte, 0])
    } else {
        (VERSION, [newest_len, 0, 0, 0])
    };
    let fixed = Fixed { spec: params.spec(), window: [0; 3], count, seed: params.seed, numbers };
    let mut bytes = fixed.encode(version).to_vec();
    if is_extended {
        bytes.extend(records);
        pad_header(&mut bytes);
    } else {
        bytes.truncate(HEADER_BYTES);
    }
    bytes
}

impl Filter {
    /// The header: everything about the filter but its bits.
    pub fn encode_header(&self) -> Vec<u8> {
        let older = self.older.iter().map(BlockedLayer::plan);
        let plans: Vec<_> = older.chain(iter::once(self.newest.plan())).collect();
        encode(&self.params, plans.into_iter(), self.newest_len())
    }

    /// The filter of a header, with all bits zero;
    /// [`Bits::write_chunk`](crate::chunk::Bits::write_chunk) writes them.
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
    pub(crate) fn describe(bytes: &[u8]) -> Result<Description<BlockedShape>, Error> {
        let is_extended = bytes.len() >= EXTENDED_BYTES;
        if !is_length(bytes.len()) {
            return Err(HeaderError::Length(bytes.len()).into());
        }
        let (fixed, records) =
            bytes.split_at(if is_extended { EXTENDED_BYTES } else { HEADER_BYTES });
        let fixed = Fixed::decode(fixed, if is_extended { EXTENDED_VERSION } else { VERSION })?;
        let Fixed { spec, window, count: layers, seed, numbers } = fixed;
        let (newest_len, first_byte, zeros) = match numbers {
            [zero, newest_len, first_byte, other] if is_extended => {
                (newest_len, first_byte, [zero, other])
            }
            [newest_len, zero, ..] => (newest_len, 0, [zero, 0]),
        };
        if window != [0; 3] || zeros != [0; 2] {
            return Err(HeaderError::Reserved.into());
        }
        let mut irregular = IrregularRecords::new(records, bytes.len())?;
        let mut plans = Vec::new();
        let (params, first) = BlockedParams::new(spec, seed)?;
        let params = irregular::layers((params, first), layers, &mut irregular, &mut plans)?;
        let is_regular = !irregular.had_any() && first_byte == 0;
        irregular.finish(bytes.len())?;
        if is_extended && is_regular {
            return Err(HeaderError::Version(EXTENDED_VERSION).into());
        }
        let params = params.with_first_byte(first_byte).ok_or(HeaderError::Offset(first_byte))?;
        if newest_len > plans.last().map_or(0, BlockedPlan::capacity) {
            return Err(HeaderError::Len(newest_len).into());
        }
        Ok(Description { params, plans, newest_len })
    }
}

impl SmallFilter {
    /// The header, which has the items of a list too.
    pub fn encode_header(&self) -> Vec<u8> {
        let SmallHeader { params, shape, len } = self.header();
        if !self.is_listed() {
            let plan = BlockedPlan::new(shape.capacity, shape.geometry);
            return encode(&params, iter::once(plan), len);
        }
        let fixed = Fixed {
            spec: params.spec(),
            window: [0; 3],
            count: 1,
            seed: params.seed,
            numbers: [len, 0, 0, 0],
        };
        let mut bytes = fixed.encode(LISTED_VERSION).to_vec();
        bytes.truncate(HEADER_BYTES);
        bytes.extend(self.hashes().iter().flat_map(|hash| hash.to_le_bytes()));
        bytes
    }

    /// True if the header is one of a list.
    pub fn has_listed_header(bytes: &[u8]) -> bool {
        let version = bytes.get(MAGIC.len()..MAGIC.len() + size_of::<u16>());
        bytes.starts_with(&MAGIC)
            && listed(bytes.len()).is_some()
            && version == Some(&LISTED_VERSION.to_le_bytes())
    }

    /// The filter of the header of a list. The bytes may come from anywhere.
    ///
    /// # Errors
    ///
    /// [`Error::Header`], and those of [`Filter::new`].
    pub fn decode_listed(bytes: &[u8], permit: Permit) -> Result<Self, Error> {
        let (params, plan, list) = Self::describe_listed(bytes)?;
        let hashes = list.chunks_exact(LISTED_BYTES).map(|hash| FieldReader::new(hash).take());
        let filter = Self::with_hashes(params, &plan, hashes.map(u64::from_le_bytes), permit)?;
        filter.ok_or(HeaderError::Len(list.len() as u64 / LISTED_BYTES as u64).into())
    }

    /// What the header of a list describes: the layer, and the hashes.
    fn describe_listed(bytes: &[u8]) -> Result<(BlockedParams, BlockedPlan, &[u8]), Error> {
        let (Some(items), Some((fixed, list))) =
            (listed(bytes.len()), bytes.split_at_checked(HEADER_BYTES))
        else {
            return Err(HeaderError::Length(bytes.len()).into());
        };
        let Fixed { spec, window, count, seed, numbers: [len, zero, ..] } =
            Fixed::decode(fixed, LISTED_VERSION)?;
        if window != [0; 3] || zero != 0 {
            return Err(HeaderError::Reserved.into());
        }
        if count != 1 {
            return Err(HeaderError::Layers(count).into());
        }
        if len != items as u64 {
            return Err(HeaderError::Len(len).into());
        }
        let (params, plan) = BlockedParams::new(spec, seed)?;
        Ok((params, plan, list))
    }
}

/// The fields of fixed length of a header, in their order.
pub(crate) struct Fixed {
    pub spec: Spec,
    /// Kind, refreshes and generations of a window; zeros in a header of a filter without one.
    pub window: [u8; 3],
    /// Layers; of a windowed filter, generations.
    pub count: u32,
    pub seed: u64,
    /// What follows. A header of version 1 or 3 has the first two.
    pub numbers: [u64; 4],
}

impl Fixed {
    /// The fields as bytes, of which a header of version 1 has the first [`HEADER_BYTES`].
    pub(crate) fn encode(&self, version: u16) -> [u8; EXTENDED_BYTES] {
        let Spec { capacity, error_rate, growth } = self.spec;
        let (growth, expansion) = match growth {
            Growth::Fixed => (FIXED, 0),
            Growth::Scaling { expansion } => (SCALING, expansion),
        };
        let mut fields = FieldWriter::new();
        fields.put(MAGIC);
        fields.put(version.to_le_bytes());
        fields.put(REVISION.to_le_bytes());
        fields.put([growth]);
        fields.put(self.window);
        fields.put(expansion.to_le_bytes());
        fields.put(self.count.to_le_bytes());
        fields.put(capacity.to_le_bytes());
        fields.put(error_rate.to_le_bytes());
        fields.put(self.seed.to_le_bytes());
        for number in self.numbers {
            fields.put(number.to_le_bytes());
        }
        fields.finish()
    }

    /// The fields of a header of this version. Its numbers may be out of range.
    ///
    /// # Errors
    ///
    /// [`HeaderError::Magic`], [`HeaderError::Version`], [`HeaderError::Sizing`] and
    /// [`HeaderError::Growth`]; [`Error::Expansion`] for a fixed filter with one.
    pub(crate) fn decode(bytes: &[u8], version: u16) -> Result<Self, Error> {
        let mut fields = FieldReader::new(bytes);
        if fields.take() != MAGIC {
            return Err(HeaderError::Magic.into());
        }
        match u16::from_le_bytes(fields.take()) {
            found if found == version => {}
            other => return Err(HeaderError::Version(other).into()),
        }
        match u16::from_le_bytes(fields.take()) {
            REVISION => {}
            other => return Err(HeaderError::Sizing(other).into()),
        }
        let [kind] = fields.take();
        let window = fields.take();
        let expansion = u32::from_le_bytes(fields.take());
        let count = u32::from_le_bytes(fields.take());
        let capacity = u64::from_le_bytes(fields.take());
        let error_rate = f64::from_le_bytes(fields.take());
        let seed = u64::from_le_bytes(fields.take());
        let mut numbers = [0; 4];
        let present = if version == EXTENDED_VERSION { numbers.len() } else { 2 };
        for number in numbers.iter_mut().take(present) {
            *number = u64::from_le_bytes(fields.take());
        }
        let growth = match (kind, expansion) {
            (FIXED, 0) => Growth::Fixed,
            (FIXED, _) => return Err(Error::Expansion(expansion)),
            (SCALING, _) => Growth::Scaling { expansion },
            (other, _) => return Err(HeaderError::Growth(other).into()),
        };
        Ok(Self { spec: Spec { capacity, error_rate, growth }, window, count, seed, numbers })
    }
}
