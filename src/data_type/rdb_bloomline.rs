//! A filter of the Bloomline layout in an RDB file.
//!
//! ```text
//! unsigned 2^64-1   written and read by `rdb`
//! string            the header, 64 bytes; more for a windowed filter
//! string...         the bits, oldest layer first: each layer in strings of 2 MiB and a shorter
//!                   last one; an empty string stands for as many zeros
//! ```

use std::ops::ControlFlow;

use super::load::{BITS_STRING, LoadError, Loader};
use crate::server::rdb::Writer;
use bloomline_core::Layout;
use bloomline_core::host::AnyFilter;

/// Saves header and bits.
pub fn save(writer: &Writer, filter: &AnyFilter) {
    writer.string(&filter.encode_header());
    filter.each_chunk(0, BITS_STRING, |chunk| {
        writer.string(chunk.set_bytes());
        ControlFlow::Continue(())
    });
}

/// Loads header and bits.
///
/// # Errors
///
/// A header or a string of bits that is not valid, a limit, or lack of memory.
pub fn load(loader: &mut Loader) -> Result<AnyFilter, LoadError> {
    let header = loader.reader.string()?;
    let decoded = AnyFilter::decode_header(header.bytes(), &mut loader.limits.permit());
    let mut filter = decoded.map_err(|error| loader.reason(error))?;
    if filter.layout() != Layout::Bloomline {
        return Err("the header is of another layout".to_owned().into());
    }
    filter.try_each_layer_mut(|bits| loader.bits(bits))?;
    Ok(filter)
}
