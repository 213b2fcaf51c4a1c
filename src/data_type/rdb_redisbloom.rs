//! A filter of RedisBloom's layout in an RDB file, as RedisBloom writes it.
//!
//! ```text
//! unsigned items                         written and read by `rdb`
//! unsigned links, options, growth
//! and for each link, oldest first:
//! unsigned capacity, double error, unsigned hashes, double bits_per_item,
//! unsigned bits, unsigned log2_bits, string the bits, unsigned items
//! ```
//!
//! This is version 4. Versions 3 and 2 have no growth, version 1 also has no options, and version 0
//! also has neither bits nor log2_bits. RedisBloom calls a layer a link.

use std::ffi::c_int;

use super::load::{LoadError, Loader};
use crate::server::rdb::Writer;
use bloomline_core::Layout;
use bloomline_core::host::redisbloom::{ClassicFilter, ClassicLayer, Common, Options, Shape};
use bloomline_core::host::{Demand, Layer, MAX_LAYERS};

/// The growth of filters of versions that do not store it.
const OLD_GROWTH: u64 = 2;

/// Saves all after the number of items.
pub fn save(writer: &Writer, filter: &ClassicFilter) {
    let common = filter.common();
    writer.unsigned(filter.layer_count().into());
    writer.unsigned(common.options.bits().into());
    writer.unsigned(common.expansion.into());
    for (layer, len) in filter.layers_with_len() {
        let shape = layer.shape();
        writer.unsigned(shape.capacity);
        writer.number(shape.error);
        writer.unsigned(shape.hashes.into());
        writer.number(shape.bits_per_item);
        writer.unsigned(shape.bits);
        writer.unsigned(shape.log2_bits.into());
        // RedisBloom reads a layer as one string, so the bits are not split into chunks.
        writer.string(layer.as_bytes());
        writer.unsigned(len);
    }
}

/// Loads all after the number of items.
///
/// # Errors
///
/// Numbers that contradict each other, a limit, or lack of memory.
pub fn load(loader: &mut Loader, encver: c_int) -> Result<ClassicFilter, LoadError> {
    let count = loader.reader.unsigned()?;
    if !(1..=u64::from(MAX_LAYERS)).contains(&count) {
        return Err(format!("{count} links").into());
    }
    let options = if encver >= 2 { loader.reader.unsigned()? } else { 0 };
    let mut options = Options::from_bits(within("options", options)?);
    if !options.are_known() {
        // A header with them would be refused.
        let unknown = options.unknown_bits();
        loader.warn(&format!("repaired: options {unknown:#x} without a meaning are dropped"));
        options = options.without_unknown_bits();
    }
    let expansion = if encver >= 4 { loader.reader.unsigned()? } else { OLD_GROWTH };
    let expansion = within("growth", expansion)?;
    let (mut layers, mut bytes) = (Vec::new(), 0u64);
    for index in 0..count {
        let layer = load_layer(loader, encver, index as u32, bytes)?
            .ok_or_else(|| format!("link {index}: numbers that contradict each other"))?;
        bytes = bytes.saturating_add(layer.words().bytes());
        layers.push(layer);
    }
    let filter = ClassicFilter::from_links(Common { options, expansion }, layers);
    filter.ok_or_else(|| LoadError::Bytes("no link".into()))
}

/// A number of a field that is narrower than what a file can hold.
fn within<T: TryFrom<u64>>(field: &str, number: u64) -> Result<T, LoadError> {
    T::try_from(number).map_err(|_| format!("{field} {number} is out of range").into())
}

/// Loads layer number `index`; the bits of the older layers take `older_bytes`. None if the numbers
/// of the layer contradict each other.
fn load_layer(
    loader: &mut Loader,
    encver: c_int,
    index: u32,
    older_bytes: u64,
) -> Result<Option<ClassicLayer>, LoadError> {
    let reader = &mut loader.reader;
    let capacity = reader.unsigned()?;
    let error = reader.number()?;
    let hashes = within("hashes", reader.unsigned()?)?;
    let bits_per_item = reader.number()?;
    let (bits, log2_bits) = match encver {
        0 => ((capacity as f64 * bits_per_item) as u64, 0),
        _ => (reader.unsigned()?, within("log2_bits", reader.unsigned()?)?),
    };
    let bytes = bits / 8;
    let words = loader.words(Demand {
        new_bytes: bytes,
        largest_layer: bytes,
        filter_bytes: ClassicLayer::size_bytes(older_bytes.saturating_add(bytes), index + 1),
        layout: Layout::RedisBloom,
        tables: 0,
    })?;
    let len = loader.reader.unsigned()?;
    let shape = Shape { capacity, error, bits_per_item, hashes, bits, log2_bits, len };
    Ok(words.filter(|_| shape.is_sound()).and_then(|words| ClassicLayer::with_words(shape, words)))
}
