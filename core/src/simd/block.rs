//! A block: 512 bits, which a backend tests or sets at once.

use std::slice;

pub const BLOCK_SECTORS: usize = 8;

/// 512 bits in eight sectors: 64 bytes, one cache line where the array is aligned to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Block(pub [u64; BLOCK_SECTORS]);

impl Block {
    /// The whole blocks of a bit array.
    #[inline(always)]
    pub fn of(words: &[u64]) -> &[Self] {
        let (blocks, _) = words.as_chunks::<BLOCK_SECTORS>();
        // SAFETY: `Block` is transparent over its sectors, so both slices have the same layout.
        unsafe { slice::from_raw_parts(blocks.as_ptr().cast(), blocks.len()) }
    }

    /// The whole blocks of a bit array, to be written.
    #[inline(always)]
    pub fn of_mut(words: &mut [u64]) -> &mut [Self] {
        let (blocks, _) = words.as_chunks_mut::<BLOCK_SECTORS>();
        // SAFETY: as in `of`, and `words` is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(blocks.as_mut_ptr().cast(), blocks.len()) }
    }
}
