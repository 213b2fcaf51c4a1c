//! A layer as valkey-bloom saves it, in RDB files and in the payload of BF.LOAD: a header, and the
//! bits.
//!
//! ```text
//! 0        1      9       13    45
//! version  bytes  hashes  seed  bits...
//! ```

use super::ValkeyFilter;
use super::layer::{ValkeyLayer, ValkeyParams, ValkeyShape};
use super::valid::{LayerChecks, check_seed};
use crate::bloom::scalable::request;
use crate::error::{Error, ValkeyError};
use crate::hash::siphash::Seed;
use crate::header_fields::FieldReader;
use crate::memory::lists::try_push;
use crate::memory::sparse::SparseBytes;
use crate::memory::words::copy_to_zeros;
use crate::permit::Permit;

/// Bytes before the bits.
pub const HEADER_BYTES: usize = 45;

const VERSION: u8 = 1;

/// The number of bytes of a layer.
pub(super) fn blob_bytes(shape: &ValkeyShape) -> u64 {
    shape.bytes.saturating_add(HEADER_BYTES as u64)
}

pub(super) fn encode(layer: &ValkeyLayer, seed: &Seed, to: &mut SparseBytes) {
    let shape = layer.shape();
    to.push(&[VERSION]);
    to.push(&shape.bytes.to_le_bytes());
    to.push(&shape.hashes.to_le_bytes());
    to.push(seed);
    to.push_words(&layer.words);
}

/// The numbers, the seed and the bits in the bytes of a layer.
///
/// # Errors
///
/// [`ValkeyError::Length`], [`ValkeyError::LayerVersion`].
fn decode(blob: &[u8], capacity: u64) -> Result<(ValkeyShape, Seed, &[u8]), ValkeyError> {
    let length = ValkeyError::Length(blob.len() as u64);
    let (header, bits) = blob.split_at_checked(HEADER_BYTES).ok_or(length)?;
    let mut header = FieldReader::new(header);
    let [version] = header.take();
    if version != VERSION {
        return Err(ValkeyError::LayerVersion(version));
    }
    let bytes = u64::from_le_bytes(header.take());
    let hashes = u32::from_le_bytes(header.take());
    if bytes != bits.len() as u64 {
        return Err(length);
    }
    Ok((ValkeyShape { capacity, bytes, hashes }, header.take(), bits))
}

/// A filter that is put together from the bytes of its layers, oldest first.
pub(super) struct Assembly<'p> {
    params: ValkeyParams,
    valid: LayerChecks,
    layers: Vec<ValkeyLayer>,
    newest_len: u64,
    /// Bytes of the bits of all layers.
    bytes: u64,
    permit: Permit<'p>,
}

impl<'p> Assembly<'p> {
    /// A filter of `count` layers. Their seed is that of the first layer.
    pub(super) fn new(params: ValkeyParams, count: u64, permit: Permit<'p>) -> Result<Self, Error> {
        let valid = LayerChecks::new(count, params.error_rate, params.tightening)?;
        Ok(Self { params, valid, layers: Vec::new(), newest_len: 0, bytes: 0, permit })
    }

    pub(super) fn count(&self) -> u32 {
        self.valid.count()
    }

    /// True if the next layer is the last one.
    pub(super) fn is_last(&self) -> bool {
        self.valid.is_last()
    }

    /// The number of bytes of the next layer, if it has this capacity.
    pub(super) fn next_bytes(&self, capacity: u64) -> Result<u64, Error> {
        self.valid.next_shape(capacity).map(|shape| blob_bytes(&shape))
    }

    /// Adds the next layer.
    ///
    /// # Errors
    ///
    /// Those of [`LayerChecks::check_next`], [`ValkeyError`], [`Error::Refused`] by the permit,
    /// [`Error::OutOfMemory`].
    pub(super) fn push(&mut self, capacity: u64, items: u64, blob: &[u8]) -> Result<(), Error> {
        let (shape, seed, bits) = decode(blob, capacity)?;
        let index = self.layers.len() as u32;
        if index == 0 {
            check_seed(self.params.is_random, &seed)?;
            self.params.seed = seed;
        }
        if self.params.seed != seed {
            return Err(ValkeyError::Seed(index).into());
        }
        self.valid.check_next(&shape, items)?;
        request::<ValkeyShape>(self.permit, [shape.bytes], self.bytes, index + 1)?;
        let mut layer = ValkeyLayer::build(&shape.into())?;
        copy_to_zeros(layer.words.as_mut_bytes(), bits);
        self.bytes = self.bytes.saturating_add(shape.bytes);
        self.newest_len = items;
        try_push(&mut self.layers, layer)
    }

    /// The filter.
    ///
    /// # Errors
    ///
    /// [`ValkeyError::Layers`] if layers are missing.
    pub(super) fn finish(self) -> Result<ValkeyFilter, Error> {
        let missing = ValkeyError::Layers(self.layers.len() as u64);
        if self.layers.len() != self.valid.count() as usize {
            return Err(missing.into());
        }
        let filter = ValkeyFilter::from_members(self.params, self.layers);
        let mut filter = filter.ok_or(missing)?;
        filter.newest_len = self.newest_len;
        Ok(filter)
    }
}
