//! A filter of the Bloomline layout in an RDB file.
//!
//! ```text
//! unsigned 2^64-1   written and read by `rdb`
//! string            the header, 64 bytes; more for a windowed filter
//! string...         the bits, oldest layer first: each layer in strings of 2 MiB and a shorter
//!                   last one; an empty string stands for as many zeros
//! ```

use std::ops::ControlFlow;

use super::load::{LoadError, Loader};
use crate::server::rdb::Writer;
use bloomline_core::Layout;
use bloomline_core::host::{AnyFilter, copy_to_zeros};

/// Bytes of a string of bits, except the last one of a layer.
///
/// The server reads a string into its own memory, from which it is copied. Strings of 2 MiB get
/// the same memory again and again. Those of 16 MiB got fresh pages each, which took more than half
/// of the time of a load.
const STRING_BYTES: usize = 2 << 20;

/// Saves header and bits.
pub fn save(writer: &Writer, filter: &AnyFilter) {
    writer.string(&filter.encode_header());
    filter.each_chunk(0, STRING_BYTES, |chunk| {
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
    filter.try_each_layer_mut(|bits| -> Result<(), LoadError> {
        for chunk in bits.chunks_mut(STRING_BYTES) {
            let string = loader.reader.string()?;
            match string.bytes() {
                // A new layer is zero already.
                [] => {}
                bytes if bytes.len() == chunk.len() => copy_to_zeros(chunk, bytes),
                bytes => {
                    let (got, expected) = (bytes.len(), chunk.len());
                    return Err(format!("{got} bytes of bits instead of {expected}").into());
                }
            }
        }
        Ok(())
    })?;
    Ok(filter)
}
