//! The fields of a filter in an RDB file, as valkey-bloom writes them.
//!
//! ```text
//! unsigned layers, unsigned expansion, double error_rate, double tightening, unsigned is_random
//! and for each layer, oldest first:
//! unsigned capacity, unsigned items (only of the newest layer), string (see `blob`)
//! ```

use super::ValkeyFilter;
use super::blob::{Assembly, blob_bytes, encode};
use super::layer::ValkeyParams;
use super::valid::random_flag;
use crate::error::{Error, ValkeyError};
use crate::hash::siphash::FIXED_SEED;
use crate::memory::sparse::SparseBytes;
use crate::permit::Permit;
use crate::stream::{ReadFields, WriteFields};

impl ValkeyFilter {
    /// Writes all fields.
    ///
    /// A layer is one string, so its bits are copied, but for pages that were never touched: one
    /// copy of a layer at a time.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; not all fields were written then.
    pub fn encode_fields(&self, to: &mut impl WriteFields) -> Result<(), Error> {
        let &ValkeyParams { expansion, error_rate, tightening, seed, is_random } = self.params();
        to.unsigned(self.layer_count().into());
        to.unsigned(expansion.into());
        to.number(error_rate);
        to.number(tightening);
        to.unsigned(is_random.into());
        let last = self.layer_count();
        for (layer, number) in self.layers().zip(1..) {
            to.unsigned(layer.shape().capacity);
            if number == last {
                to.unsigned(self.newest_len());
            }
            let mut blob = SparseBytes::with_capacity(blob_bytes(layer.shape()))?;
            encode(layer, &seed, &mut blob);
            to.string(&blob);
        }
        Ok(())
    }

    /// Reads all fields. They may come from anywhere: what is accepted can be saved and loaded
    /// again, whatever is done with it.
    ///
    /// `permit` gets a demand for each layer, for bytes that were read: nothing is requested for a
    /// size that the fields only claim.
    ///
    /// # Errors
    ///
    /// Those of the stream, [`ValkeyError`], [`Error::ErrorRateTooSmall`], [`Error::Refused`] by
    /// `permit`, [`Error::OutOfMemory`].
    pub fn decode_fields<R: ReadFields>(from: &mut R, permit: Permit) -> Result<Self, R::Error> {
        let count = from.unsigned()?;
        let expansion = from.unsigned()?;
        let expansion =
            u32::try_from(expansion).map_err(|_| Error::from(ValkeyError::Expansion(expansion)))?;
        let (error_rate, tightening) = (from.number()?, from.number()?);
        let is_random = random_flag(from.unsigned()?).map_err(Error::from)?;
        let params =
            ValkeyParams { expansion, error_rate, tightening, seed: FIXED_SEED, is_random };
        let mut filter = Assembly::new(params, count, permit)?;
        for _ in 0..filter.count() {
            let capacity = from.unsigned()?;
            let items = if filter.is_last() { from.unsigned()? } else { capacity };
            let blob = from.long_string(filter.next_bytes(capacity)?)?;
            filter.push(capacity, items, blob.as_ref())?;
        }
        Ok(filter.finish()?)
    }
}
