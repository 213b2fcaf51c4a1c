//! A filter of RedisBloom's layout as the numbers and strings of a value, as RedisBloom writes it:
//!
//! ```text
//! unsigned items                         written and read by `any::fields`
//! unsigned layers, options, growth
//! and for each layer, oldest first:
//! unsigned capacity, double error, unsigned hashes, double bits_per_item,
//! unsigned bits, unsigned log2_bits, string the bits, unsigned items
//! ```
//!
//! This is version 4. Versions 3 and 2 have no growth, version 1 also has no options, and version 0
//! also has neither bits nor log2_bits.

use super::RedisBloomFilter;
use super::geometry::{Options, RedisBloomShape};
use super::layer::{RedisBloomLayer, RedisBloomParams};
use crate::bloom::scalable::request;
use crate::error::{Error, HeaderError};
use crate::memory::lists::try_push;
use crate::permit::Permit;
use crate::spec::MAX_LAYERS;
use crate::stream::{ReadFields, WriteFields, read_words, within};

/// The growth of filters of versions that do not store it.
const OLD_GROWTH: u32 = 2;

impl RedisBloomFilter {
    /// Writes all after the number of items.
    pub(crate) fn encode_fields(&self, to: &mut impl WriteFields) {
        let params = self.params();
        to.unsigned(self.layer_count().into());
        to.unsigned(params.options.bits().into());
        to.unsigned(params.expansion.into());
        for (layer, len) in self.layers_with_len() {
            let shape = layer.shape();
            to.unsigned(shape.capacity);
            to.number(shape.error);
            to.unsigned(shape.hashes.into());
            to.number(shape.bits_per_item);
            to.unsigned(shape.bits);
            to.unsigned(shape.log2_bits.into());
            // RedisBloom reads a layer as one string, so the bits are not split.
            to.string(layer.as_bytes());
            to.unsigned(len);
        }
    }

    /// Reads all after the number of items. Options without a meaning are dropped.
    ///
    /// The words of a layer keep the memory of its string if they can. `permit` gets a demand for
    /// each layer before its string is read.
    ///
    /// # Errors
    ///
    /// Those of the stream, [`Error::Header`], [`Error::Refused`] by `permit`,
    /// [`Error::OutOfMemory`].
    pub(crate) fn decode_fields<R: ReadFields>(
        from: &mut R,
        version: u32,
        permit: Permit,
    ) -> Result<Self, R::Error> {
        let count = within("layers", from.unsigned()?)?;
        if !(1..=MAX_LAYERS).contains(&count) {
            return Err(Error::from(HeaderError::Layers(count)).into());
        }
        let options = if version >= 2 { within("options", from.unsigned()?)? } else { 0 };
        let mut options = Options::from_bits(options);
        if !options.are_known() {
            // A header with them would be refused.
            let unknown = options.unknown_bits();
            from.repaired(format_args!("options {unknown:#x} without a meaning are dropped"));
            options = options.without_unknown_bits();
        }
        let expansion = if version >= 4 { within("growth", from.unsigned()?)? } else { OLD_GROWTH };
        let (mut layers, mut bytes) = (Vec::new(), 0u64);
        for index in 0..count {
            let layer = decode_layer(from, version, |new| {
                let older = bytes;
                bytes = older.saturating_add(new);
                request::<RedisBloomShape>(permit, [new], older, index + 1)
            })?;
            let layer = layer.ok_or(Error::from(HeaderError::Layer(index)))?;
            try_push(&mut layers, layer)?;
        }
        let filter = Self::from_members(RedisBloomParams { options, expansion }, layers);
        Ok(filter.ok_or(Error::from(HeaderError::Layers(0)))?)
    }
}

/// Reads a layer. `grant` gets the bytes of its bits. None if its numbers contradict each other.
fn decode_layer<R: ReadFields>(
    from: &mut R,
    version: u32,
    grant: impl FnOnce(u64) -> Result<(), Error>,
) -> Result<Option<RedisBloomLayer>, R::Error> {
    let capacity = from.unsigned()?;
    let error = from.number()?;
    let hashes = within("hashes", from.unsigned()?)?;
    let bits_per_item = from.number()?;
    let (bits, log2_bits) = match version {
        0 => ((capacity as f64 * bits_per_item) as u64, 0),
        _ => (from.unsigned()?, within("log2_bits", from.unsigned()?)?),
    };
    grant(bits / 8)?;
    let words = read_words(from, bits / 8)?;
    let len = from.unsigned()?;
    let shape = RedisBloomShape { capacity, error, bits_per_item, hashes, bits, log2_bits, len };
    Ok(words
        .filter(|_| shape.is_sound())
        .and_then(|words| RedisBloomLayer::with_words(shape, words)))
}
