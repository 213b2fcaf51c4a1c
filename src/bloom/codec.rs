//! A filter as bytes: a header of constant size, then the bits of its layers in chunks.
//!
//! ```text
//! offset  0        8       10      12      13        16         20      24
//!         magic    version sizing  growth  reserved  expansion  layers
//!        24        32          40     48          56        64
//!         capacity  error_rate  seed   newest_len  reserved
//! ```
//!
//! All little-endian. The geometry is derived, never read, so that a header can't contradict
//! itself. `docs/format.md` says more.

use std::ops::Range;

use super::error::{ChunkError, Error, HeaderError};
use super::filter::Filter;
use super::member::Member;
use super::sizing::REVISION;
use super::spec::{Growth, Permit, Spec};
use super::words::{Words, overwrite};

/// Bytes of a header. RedisBloom's have 20 + 53 a layer, so that the length alone tells them apart.
pub const HEADER_BYTES: usize = 64;

/// First bytes of a header. In RedisBloom's they would be a count of 3.1e18 items.
pub const MAGIC: [u8; 8] = *b"bloomlin";

/// Version of the format.
pub const VERSION: u16 = 1;

/// Bytes of a chunk at most: 16 MiB, as in RedisBloom.
pub const MAX_CHUNK_BYTES: usize = 16 << 20;

/// The byte that stands for [`Growth::Fixed`]; its expansion is 0.
const FIXED: u8 = 0;
/// The byte that stands for [`Growth::Scaling`].
const SCALING: u8 = 1;

impl Filter {
    /// The header: everything about the filter but its bits.
    pub fn encode_header(&self) -> [u8; HEADER_BYTES] {
        let spec = self.spec();
        let (growth, expansion) = match spec.growth {
            Growth::Fixed => (FIXED, 0),
            Growth::Scaling { expansion } => (SCALING, expansion),
        };
        let mut fields = Writer { bytes: [0; HEADER_BYTES], at: 0 };
        fields.put(MAGIC);
        fields.put(VERSION.to_le_bytes());
        fields.put(REVISION.to_le_bytes());
        fields.put([growth, 0, 0, 0]);
        fields.put(expansion.to_le_bytes());
        fields.put(self.layer_count().to_le_bytes());
        fields.put(spec.capacity.to_le_bytes());
        fields.put(spec.error_rate.to_le_bytes());
        fields.put(self.seed().to_le_bytes());
        fields.put(self.newest_len().to_le_bytes());
        fields.bytes
    }

    /// The filter of a header, its bits all zero; they come by [`Filter::write_chunk`].
    ///
    /// # Errors
    ///
    /// [`Error::Header`], or a number out of range, or memory refused by `permit` or not to be had.
    /// Total: any bytes may be given, and nothing is allocated before all numbers agree.
    pub fn decode_header(bytes: &[u8], permit: Permit) -> Result<Self, Error> {
        if bytes.len() != HEADER_BYTES {
            return Err(HeaderError::Length(bytes.len()).into());
        }
        let mut fields = Reader { bytes };
        if fields.take() != MAGIC {
            return Err(HeaderError::Magic.into());
        }
        let version = u16::from_le_bytes(fields.take());
        if version != VERSION {
            return Err(HeaderError::Version(version).into());
        }
        let sizing = u16::from_le_bytes(fields.take());
        if sizing != REVISION {
            return Err(HeaderError::Sizing(sizing).into());
        }
        let [growth, reserved @ ..] = fields.take::<4>();
        let expansion = u32::from_le_bytes(fields.take());
        let layers = u32::from_le_bytes(fields.take());
        let capacity = u64::from_le_bytes(fields.take());
        let error_rate = f64::from_le_bytes(fields.take());
        let seed = u64::from_le_bytes(fields.take());
        let newest_len = u64::from_le_bytes(fields.take());
        if reserved != [0; 3] || fields.take() != [0; 8] {
            return Err(HeaderError::Reserved.into());
        }
        let growth = match (growth, expansion) {
            (FIXED, 0) => Growth::Fixed,
            (FIXED, _) => return Err(Error::Expansion(expansion)),
            (SCALING, _) => Growth::Scaling { expansion },
            (other, _) => return Err(HeaderError::Growth(other).into()),
        };
        Self::with_layers(Spec { capacity, error_rate, growth }, seed, layers, newest_len, permit)
    }
}

/// At most [`MAX_CHUNK_BYTES`] of the bits of one layer.
#[derive(Clone)]
pub struct Chunk<'a> {
    words: &'a Words,
    range: Range<usize>,
    /// Where it begins in the bytes of all layers, oldest first.
    pub offset: u64,
}

impl<'a> Chunk<'a> {
    /// The bytes, little-endian words.
    pub fn bytes(&self) -> &'a [u8] {
        self.words.as_bytes().get(self.range.clone()).unwrap_or_default()
    }

    /// True if no bit is set. Pages that were never touched are not read where the operating system
    /// reports which those are.
    pub fn is_zero(&self) -> bool {
        self.words.is_zero(self.range.clone())
    }

    /// The number of bytes: at least one.
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Where the next chunk begins in the bytes of all layers.
    pub fn end(&self) -> u64 {
        self.offset + self.range.len() as u64
    }

    /// The bytes, or none at all where no bit is set: how files and streams leave out zeros.
    pub fn set_bytes(&self) -> &'a [u8] {
        if self.is_zero() { &[] } else { self.bytes() }
    }
}

impl<L: Member> Filter<L> {
    /// The bits from byte `from` of all layers' bytes together, oldest first, in chunks that end
    /// with their layer or at [`MAX_CHUNK_BYTES`]. Cost before the first: one step per layer.
    pub fn chunks(&self, from: u64) -> impl Iterator<Item = Chunk<'_>> {
        let mut layer_end = 0;
        self.layers().flat_map(move |layer| {
            let words = layer.words();
            let offset = layer_end;
            layer_end += words.bytes();
            // Past the end of an older layer there is nothing left of it.
            let first = from.saturating_sub(offset).min(words.bytes()) as usize;
            let len = words.bytes() as usize;
            (first..len).step_by(MAX_CHUNK_BYTES).map(move |start| {
                let range = start..len.min(start + MAX_CHUNK_BYTES);
                Chunk { words, range, offset: offset + start as u64 }
            })
        })
    }

    /// The bytes of the first of [`Filter::chunks`]; none past the end.
    pub fn chunk(&self, offset: u64) -> Option<&[u8]> {
        self.chunks(offset).next().map(|chunk| chunk.bytes())
    }

    /// Overwrites the bits from byte `offset` on.
    ///
    /// # Errors
    ///
    /// [`Error::Chunk`]: no layer has this byte, or the chunk is longer than the rest of its layer. Nothing is written then.
    pub fn write_chunk(&mut self, offset: u64, chunk: &[u8]) -> Result<(), Error> {
        let mut at = offset;
        for layer in self.layers_mut() {
            let bytes = layer.words_mut().as_mut_bytes();
            let len = bytes.len() as u64;
            if at < len {
                let end = at.saturating_add(chunk.len() as u64);
                let target = bytes.get_mut(at as usize..end as usize);
                overwrite(target.ok_or(ChunkError::TooLong(chunk.len() as u64))?, chunk);
                return Ok(());
            }
            at -= len;
        }
        Err(ChunkError::Offset(offset).into())
    }
}

/// Puts fields one behind the other.
struct Writer {
    bytes: [u8; HEADER_BYTES],
    at: usize,
}

impl Writer {
    fn put<const N: usize>(&mut self, field: [u8; N]) {
        let target = self.bytes.get_mut(self.at..self.at + N);
        debug_assert!(target.is_some(), "the fields are longer than the header");
        if let Some(target) = target {
            target.copy_from_slice(&field);
        }
        self.at += N;
    }
}

/// Takes fields one after the other.
pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
}

impl Reader<'_> {
    /// The next field; zeros past the end, where no caller reads: the length was checked.
    pub(super) fn take<const N: usize>(&mut self) -> [u8; N] {
        match self.bytes.split_first_chunk() {
            Some((field, rest)) => {
                self.bytes = rest;
                *field
            }
            None => {
                debug_assert!(false, "the fields are longer than the header");
                [0; N]
            }
        }
    }
}
