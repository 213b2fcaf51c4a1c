//! The header in valkey-bloom's layout, for BF.SCANDUMP and BF.LOADCHUNK: everything about a filter
//! but its bits. valkey-bloom has no such commands, so the header is this project's.
//!
//! ```text
//! 0      8        10         11  12      16         20  24          32          40    72
//! magic  version  is_random  0   layers  expansion  0   error_rate  tightening  seed  newest_len
//!
//! of a layer, from 80 on:
//! 0         8      16      20
//! capacity  bytes  hashes  0
//! ```
//!
//! All numbers are little-endian. Zeros follow up to a multiple of 64 bytes, as in the other
//! headers of this project.

use super::ValkeyFilter;
use super::layer::{ValkeyParams, ValkeyShape};
use super::valid::{LayerChecks, check_params, random_flag};
use crate::bloom::length::{pad_header, padded_len};
use crate::bloom::scalable::Description;
use crate::error::{Error, HeaderError};
use crate::header_fields::FieldReader;
use crate::memory::lists::try_push;
use crate::permit::Permit;

const MAGIC: [u8; 8] = *b"valkeybf";
const VERSION: u16 = 1;
const FIRST_BYTES: usize = 80;
const LAYER_BYTES: usize = 24;

impl ValkeyFilter {
    /// True if the bytes are a header in this layout, of any version.
    pub(crate) fn has_header(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }

    /// The header: everything about the filter but its bits.
    pub fn encode_header(&self) -> Vec<u8> {
        let params = self.params();
        let mut bytes = Vec::with_capacity(FIRST_BYTES + LAYER_BYTES * self.layer_count() as usize);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend([params.is_random.into(), 0]);
        bytes.extend(self.layer_count().to_le_bytes());
        bytes.extend(params.expansion.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(params.error_rate.to_le_bytes());
        bytes.extend(params.tightening.to_le_bytes());
        bytes.extend(params.seed);
        bytes.extend(self.newest_len().to_le_bytes());
        for layer in self.layers() {
            let shape = layer.shape();
            bytes.extend(shape.capacity.to_le_bytes());
            bytes.extend(shape.bytes.to_le_bytes());
            bytes.extend(shape.hashes.to_le_bytes());
            bytes.extend([0; 4]);
        }
        pad_header(&mut bytes);
        bytes
    }

    /// The filter of a header, with all bits zero.
    ///
    /// The bytes may come from anywhere. Nothing is allocated for bits before all numbers are
    /// valid.
    ///
    /// # Errors
    ///
    /// [`Error::Header`], [`Error::Valkey`], [`Error::ErrorRateTooSmall`], [`Error::Refused`] by
    /// `permit`, [`Error::OutOfMemory`].
    pub fn decode_header(bytes: &[u8], permit: Permit) -> Result<Self, Error> {
        Self::describe(bytes)?.build(permit)
    }

    /// What a header describes. This is the definition of a valid filter of this layout: one that
    /// is described by a header which this function accepts.
    ///
    /// # Errors
    ///
    /// Those of [`ValkeyFilter::decode_header`] without those of memory.
    pub(crate) fn describe(bytes: &[u8]) -> Result<Description<ValkeyShape>, Error> {
        let length = HeaderError::Length(bytes.len());
        let (first, rest) = bytes.split_at_checked(FIRST_BYTES).ok_or(length)?;
        let mut first = FieldReader::new(first);
        if first.take() != MAGIC {
            return Err(HeaderError::Magic.into());
        }
        let version = u16::from_le_bytes(first.take());
        if version != VERSION {
            return Err(HeaderError::Version(version).into());
        }
        let [is_random, reserved] = first.take();
        let count = u32::from_le_bytes(first.take());
        let expansion = u32::from_le_bytes(first.take());
        let also_reserved: [u8; 4] = first.take();
        let error_rate = f64::from_le_bytes(first.take());
        let tightening = f64::from_le_bytes(first.take());
        let seed = first.take();
        let newest_len = u64::from_le_bytes(first.take());
        let is_random = random_flag(is_random.into())?;
        let params = ValkeyParams { expansion, error_rate, tightening, seed, is_random };
        check_params(&params)?;
        let mut layers = LayerChecks::new(count.into(), error_rate, tightening)?;
        let used = LAYER_BYTES * count as usize;
        let (records, padding) = rest.split_at_checked(used).ok_or(length)?;
        if bytes.len() != padded_len(FIRST_BYTES + used) {
            return Err(length.into());
        }
        let mut is_reserved_zero = (reserved, also_reserved) == (0, [0; 4]);
        let mut plans = Vec::new();
        for record in records.as_chunks::<LAYER_BYTES>().0 {
            let mut record = FieldReader::new(record);
            let capacity = u64::from_le_bytes(record.take());
            let bytes = u64::from_le_bytes(record.take());
            let hashes = u32::from_le_bytes(record.take());
            let shape = ValkeyShape { capacity, bytes, hashes };
            let items = if layers.is_last() { newest_len } else { capacity };
            layers.check_next(&shape, items)?;
            is_reserved_zero &= record.take() == [0; 4];
            try_push(&mut plans, shape.into())?;
        }
        if !is_reserved_zero || padding.iter().any(|&byte| byte != 0) {
            return Err(HeaderError::Reserved.into());
        }
        Ok(Description { params, plans, newest_len })
    }
}
