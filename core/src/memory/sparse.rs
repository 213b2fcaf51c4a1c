//! Bytes that are put together from the front in memory of zeros, so that the copy of a mostly
//! empty filter takes as little memory as the filter.

use std::ops::Deref;

use super::words::Words;
use crate::error::Error;

/// Bytes of a known number at most. What is zero in them, and was never touched where it comes
/// from, is not touched here either.
pub struct SparseBytes {
    words: Words,
    len: usize,
}

impl SparseBytes {
    /// No bytes, with memory for `most`, which is at least 1.
    pub fn with_capacity(most: u64) -> Result<Self, Error> {
        Ok(Self { words: Words::for_bytes(most)?, len: 0 })
    }

    /// The memory after the bytes so far, which is zero. `len` bytes more belong to them now.
    fn extend(&mut self, len: usize) -> &mut [u8] {
        let start = self.len;
        self.len += len;
        let next = self.words.as_mut_bytes().get_mut(start..start + len);
        debug_assert!(next.is_some(), "more bytes than were requested");
        next.unwrap_or_default()
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let to = self.extend(bytes.len());
        to.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    }

    /// Adds the bytes of words. Pages that were never touched are neither read nor written.
    pub fn push_words(&mut self, words: &Words) {
        words.copy_touched(self.extend(words.bytes() as usize));
    }
}

impl Deref for SparseBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.words.as_bytes().get(..self.len).unwrap_or_default()
    }
}
