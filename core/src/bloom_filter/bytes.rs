//! A filter as bytes: a start of 16 bytes, the header, the bits.
//!
//! ```text
//! 0      8        10     12      16
//! magic  version  zeros  length  header...  bits of all layers, oldest first...
//! ```
//!
//! All numbers are little-endian; `length` is that of the header, which determines the number of
//! bits. `docs/format.md` describes the format.

use std::io::{self, Read, Write};
use std::ops::ControlFlow;

use super::{BloomFilter, within};
use crate::any::AnyFilter;
use crate::chunk::MAX_CHUNK_BYTES;
use crate::error::{Error, HeaderError, ReadError};
use crate::fields::{Reader, Writer};
use crate::memory::words::copy_to_zeros;
use crate::permit::Permit;
use crate::redisbloom::header::MAX_HEADER_BYTES;

const START_BYTES: usize = 16;
const MAGIC: [u8; 8] = *b"bloomfil";
const VERSION: u16 = 1;

/// Bytes of the buffer on the stack through which bits are read: pages of zeros in it are not
/// written to the filter, so that they take no memory there.
const BUFFER_BYTES: usize = 16 << 10;

impl BloomFilter {
    /// Writes the filter: 16 bytes, the header, and the bits. [`BloomFilter::read_from`] reads it,
    /// in this and any later release, on any machine.
    ///
    /// The memory limit is not written. There is no checksum. The calls of `writer` get the bits
    /// from where they lie, at most 16 MiB each, so nothing is copied. A buffered writer is not
    /// flushed.
    ///
    /// # Errors
    ///
    /// Those of `writer`.
    pub fn write_to(&self, mut writer: impl Write) -> io::Result<()> {
        let header = self.filter.encode_header();
        let mut start = Writer::<START_BYTES>::new();
        start.put(MAGIC);
        start.put(VERSION.to_le_bytes());
        start.put([0; 2]);
        start.put((header.len() as u32).to_le_bytes());
        writer.write_all(&start.finish())?;
        writer.write_all(&header)?;
        let mut written = Ok(());
        self.filter.each_chunk(0, MAX_CHUNK_BYTES, |chunk| {
            written = writer.write_all(chunk.bytes());
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        written
    }

    /// The number of bytes that [`BloomFilter::write_to`] writes. Cost: one step per layer.
    pub fn serialized_len(&self) -> u64 {
        let mut bytes = (START_BYTES + self.filter.encode_header().len()) as u64;
        self.filter.each_layer(|bits| bytes += bits.bytes());
        bytes
    }

    /// Reads a filter that [`BloomFilter::write_to`] has written, up to the end of the input, which
    /// may come from anywhere.
    ///
    /// The filter gets the limit of `memory_limit` bytes, as by
    /// [`Builder::memory_limit`](super::Builder::memory_limit). Nothing larger is allocated,
    /// whatever the input says; the header, which is smaller than its filter, is in memory until
    /// the bits are read. To read a part of a longer input, pass a
    /// [`Take`](io::Take) of its [length](BloomFilter::serialized_len). An unbuffered `reader` gets
    /// calls for 16 KiB each.
    ///
    /// # Errors
    ///
    /// [`ReadError`], each of its kinds. So an input that was cut, or has bytes after its end, is
    /// refused.
    pub fn read_from(reader: impl Read, memory_limit: u64) -> Result<Self, ReadError> {
        let filter = read(reader, memory_limit, &mut within(memory_limit))?;
        Ok(Self { filter, memory_limit })
    }
}

/// The filter of an input, which must end after it. Its header has at most `most` bytes, and
/// `permit` decides about its bits.
pub(super) fn read(
    mut reader: impl Read,
    most: u64,
    permit: Permit,
) -> Result<AnyFilter, ReadError> {
    let mut start = [0; START_BYTES];
    reader.read_exact(&mut start)?;
    let mut fields = Reader::new(&start);
    if fields.take() != MAGIC {
        return Err(ReadError::Magic);
    }
    let version = u16::from_le_bytes(fields.take());
    if version != VERSION {
        return Err(ReadError::Version(version));
    }
    if fields.take() != [0; 2] {
        return Err(HeaderError::Reserved.into());
    }
    let len = u32::from_le_bytes(fields.take());
    if len as usize > MAX_HEADER_BYTES {
        return Err(HeaderError::Length(len as usize).into());
    }
    // A header is smaller than its filter.
    if u64::from(len) > most {
        return Err(Error::Refused(len.into()).into());
    }
    let mut header = Vec::new();
    header.try_reserve_exact(len as usize).map_err(|_| Error::OutOfMemory(len.into()))?;
    header.resize(len as usize, 0);
    reader.read_exact(&mut header)?;
    let mut filter = AnyFilter::decode_header(&header, permit)?;
    let mut buffer = [0; BUFFER_BYTES];
    filter.try_each_layer_mut(|bits| {
        bits.chunks_mut(BUFFER_BYTES).try_for_each(|to| {
            let read = buffer.get_mut(..to.len()).unwrap_or_default();
            reader.read_exact(read)?;
            copy_to_zeros(to, read);
            Ok::<_, ReadError>(())
        })
    })?;
    match reader.read_exact(&mut [0]) {
        Ok(()) => Err(ReadError::TooLong),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(filter),
        Err(error) => Err(error.into()),
    }
}
