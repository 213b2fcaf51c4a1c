//! The payload of BF.LOAD, which valkey-bloom writes to append-only files.
//!
//! ```text
//! 0        1          5           13          21         22      30
//! version  expansion  error_rate  tightening  is_random  layers  layers...
//!
//! of a layer: 8 bytes with the length of its string (see `blob`), the string, items, capacity
//! ```

use super::ValkeyFilter;
use super::blob::{Assembly, blob_bytes, encode};
use super::layer::ValkeyParams;
use super::valid::random_flag;
use crate::error::{Error, ValkeyError};
use crate::hash::siphash::FIXED_SEED;
use crate::header_fields::FieldReader;
use crate::memory::sparse::SparseBytes;
use crate::permit::Permit;

const VERSION: u8 = 1;
const FIRST_BYTES: usize = 30;
/// Bytes of a layer beside its string.
const LAYER_BYTES: u64 = 24;

impl ValkeyFilter {
    /// The payload. Pages of the bits that were never touched take no memory in it either.
    pub fn encode_payload(&self) -> Result<SparseBytes, Error> {
        let &ValkeyParams { expansion, error_rate, tightening, seed, is_random } = self.params();
        let of_layers = self.layers().map(|layer| blob_bytes(layer.shape()) + LAYER_BYTES);
        let length = of_layers.fold(FIRST_BYTES as u64, u64::saturating_add);
        let mut bytes = SparseBytes::with_capacity(length)?;
        bytes.push(&[VERSION]);
        bytes.push(&expansion.to_le_bytes());
        bytes.push(&error_rate.to_le_bytes());
        bytes.push(&tightening.to_le_bytes());
        bytes.push(&[is_random.into()]);
        bytes.push(&u64::from(self.layer_count()).to_le_bytes());
        for (layer, len) in self.layers_with_len() {
            bytes.push(&blob_bytes(layer.shape()).to_le_bytes());
            encode(layer, &seed, &mut bytes);
            bytes.push(&len.to_le_bytes());
            bytes.push(&layer.shape().capacity.to_le_bytes());
        }
        Ok(bytes)
    }

    /// The filter of a payload. The bytes may come from anywhere: what is accepted can be saved and
    /// loaded again, whatever is done with it.
    ///
    /// # Errors
    ///
    /// [`ValkeyError`], [`Error::ErrorRateTooSmall`], [`Error::Refused`] by `permit`, which gets a
    /// demand for each layer, [`Error::OutOfMemory`].
    pub fn decode_payload(bytes: &[u8], permit: Permit) -> Result<Self, Error> {
        let length = ValkeyError::Length(bytes.len() as u64);
        match bytes.first() {
            Some(&VERSION) => {}
            Some(&other) => return Err(ValkeyError::PayloadVersion(other).into()),
            None => return Err(length.into()),
        }
        let (first, mut rest) = bytes.split_at_checked(FIRST_BYTES).ok_or(length)?;
        let mut first = FieldReader::new(first);
        let [_version] = first.take();
        let expansion = u32::from_le_bytes(first.take());
        let error_rate = f64::from_le_bytes(first.take());
        let tightening = f64::from_le_bytes(first.take());
        let [is_random] = first.take();
        let is_random = random_flag(is_random.into())?;
        let count = u64::from_le_bytes(first.take());
        let params =
            ValkeyParams { expansion, error_rate, tightening, seed: FIXED_SEED, is_random };
        let mut filter = Assembly::new(params, count, permit)?;
        for _ in 0..filter.count() {
            let (size, blob) = rest.split_first_chunk().ok_or(length)?;
            let size = usize::try_from(u64::from_le_bytes(*size)).map_err(|_| length)?;
            let (blob, numbers) = blob.split_at_checked(size).ok_or(length)?;
            let (items, numbers) = numbers.split_first_chunk().ok_or(length)?;
            let (capacity, others) = numbers.split_first_chunk().ok_or(length)?;
            filter.push(u64::from_le_bytes(*capacity), u64::from_le_bytes(*items), blob)?;
            rest = others;
        }
        if rest.is_empty() { filter.finish() } else { Err(length.into()) }
    }
}
