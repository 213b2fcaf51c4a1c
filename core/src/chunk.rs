//! The bits of a filter as bytes, in chunks.

use std::ops::{ControlFlow, Range};

use crate::error::{ChunkError, Error};
use crate::memory::words::{WordsRef, overwrite};

/// The largest number of bytes in a chunk that clients and other servers get: 16 MiB, as in
/// RedisBloom.
pub const MAX_CHUNK_BYTES: usize = 16 << 20;

/// Consecutive bytes of the bits of one layer.
#[derive(Clone)]
pub struct Chunk<'a> {
    words: WordsRef<'a>,
    range: Range<usize>,
    /// Where the chunk begins in the concatenated bytes of all layers, oldest first.
    pub offset: u64,
}

impl<'a> Chunk<'a> {
    /// The bytes: little-endian words of 64 bits, and in valkey-bloom's layout a rest.
    pub fn bytes(&self) -> &'a [u8] {
        self.words.as_bytes().get(self.range.clone()).unwrap_or_default()
    }

    /// True if no bit is set. Pages that were never touched are not read where the operating system
    /// reports which those are.
    pub fn is_zero(&self) -> bool {
        self.words.is_zero(self.range.clone())
    }

    /// Bytes that [`Chunk::is_zero`] reads at most: those that were touched, or all where the
    /// operating system does not report which those are.
    pub fn touched(&self) -> usize {
        let mut bytes = 0;
        self.words.visit_touched(self.range.clone(), |touched| {
            bytes += touched.len();
            ControlFlow::Continue(())
        });
        bytes
    }

    /// The number of bytes, at least 1.
    #[expect(clippy::len_without_is_empty, reason = "a chunk is never empty")]
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Where the next chunk begins in the concatenated bytes of all layers.
    pub fn end(&self) -> u64 {
        self.offset + self.range.len() as u64
    }

    /// The bytes, or an empty slice if no bit is set. Files and streams leave out zeros this way.
    pub fn set_bytes(&self) -> &'a [u8] {
        if self.is_zero() { &[] } else { self.bytes() }
    }
}

/// The bits of a filter, layer by layer, as bytes in chunks.
pub trait Bits {
    /// Where the bits begin. 0 until bits are dropped: by compacting, or because their generation
    /// is forgotten. Offsets are never used again, so a dump that began before finds no other bits.
    fn first_byte(&self) -> u64;

    /// The bits of each layer, oldest first.
    fn each_bits(&self) -> impl Iterator<Item = WordsRef<'_>>;

    /// The bits of each layer, oldest first, to be written.
    fn each_bits_mut(&mut self) -> impl Iterator<Item = &mut [u8]>;

    fn bits_bytes(&self) -> u64 {
        self.each_bits().map(|bits| bits.bytes()).sum()
    }

    /// The bits from byte `from` on of the concatenated bytes of all layers, oldest first. The
    /// first byte of the first layer is byte [`Bits::first_byte`].
    ///
    /// Each chunk ends at the end of its layer or after `max_bytes`, which is at least 1. Cost
    /// before the first chunk: one step per layer.
    fn chunks(&self, from: u64, max_bytes: usize) -> impl Iterator<Item = Chunk<'_>> {
        let mut layer_end = self.first_byte();
        self.each_bits().flat_map(move |words| {
            let offset = layer_end;
            layer_end += words.bytes();
            // If `from` lies past the end of this layer, the range is empty.
            let first = from.saturating_sub(offset).min(words.bytes()) as usize;
            let len = words.bytes() as usize;
            (first..len).step_by(max_bytes).map(move |start| {
                let range = start..len.min(start + max_bytes);
                Chunk { words, range, offset: offset + start as u64 }
            })
        })
    }

    /// The bytes of the first of [`Bits::chunks`], at most [`MAX_CHUNK_BYTES`]; `None` past the
    /// end.
    fn chunk(&self, offset: u64) -> Option<&[u8]> {
        self.chunks(offset, MAX_CHUNK_BYTES).next().map(|chunk| chunk.bytes())
    }

    /// Overwrites the bits from byte `offset` on of the concatenated bytes of all layers. True if
    /// that changes a bit.
    ///
    /// # Errors
    ///
    /// [`Error::Chunk`] if no layer has this byte, or if the chunk is longer than the rest of its
    /// layer. Nothing is written then.
    fn write_chunk(&mut self, offset: u64, chunk: &[u8]) -> Result<bool, Error> {
        let outside = ChunkError::Offset(offset);
        let mut at = offset.checked_sub(self.first_byte()).ok_or(outside)?;
        for bytes in self.each_bits_mut() {
            let len = bytes.len() as u64;
            if at < len {
                let end = at.saturating_add(chunk.len() as u64);
                let target = bytes.get_mut(at as usize..end as usize);
                let target = target.ok_or(ChunkError::TooLong(chunk.len() as u64))?;
                let is_changed = target != chunk;
                if is_changed {
                    overwrite(target, chunk);
                }
                return Ok(is_changed);
            }
            at -= len;
        }
        Err(outside.into())
    }
}
