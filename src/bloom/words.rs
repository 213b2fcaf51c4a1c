//! A boxed slice of words that is zeroed lazily, may fail to be had, and starts on a page when it is big.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::slice;

use super::error::Error;

/// Bytes of a page.
const PAGE: usize = 4096;
const WORD: usize = size_of::<u64>();

/// Bytes from which the words start on a page, at the price of up to a page.
///
/// 32 KiB: below, a page more would cost over an eighth, and nothing is gained that small.
const ALIGNED_FROM: usize = 32 * 1024;

/// Low bits of [`Words::shape`] that hold the words left free before the first one.
const SKIP_BITS: u32 = PAGE.trailing_zeros() - WORD.trailing_zeros();
const SKIP_MASK: u64 = (1 << SKIP_BITS) - 1;

/// An owned slice of 64-bit words.
///
/// It is the project's own since `vec![0; n]` aborts when memory is short, and since no allocator of a
/// server promises an alignment above 16.
pub struct Words {
    first: NonNull<u64>,
    /// The number of words above [`SKIP_BITS`]; below, the words between the allocation's start and `first`.
    shape: u64,
}

// SAFETY: `Words` owns what it points to, and words are `Send` and `Sync`.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    /// `len` words of zero, at least one; the system's pages behind them are touched when they are written.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] with the number of bytes.
    pub fn zeroed(len: u64) -> Result<Self, Error> {
        let failed = Error::OutOfMemory(len.saturating_mul(WORD as u64));
        let layout = allocation(len).ok_or(failed)?;
        // SAFETY: the layout has at least one word.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(failed)?;
        let skip = if layout.size() >= ALIGNED_FROM + PAGE { base.align_offset(PAGE) } else { 0 };
        // SAFETY: `allocation` added a page where `skip` may not be zero, and `skip` is less than one.
        let first = unsafe { base.byte_add(skip) }.cast();
        Ok(Self { first, shape: len << SKIP_BITS | (skip / WORD) as u64 })
    }

    /// The number of words.
    #[inline]
    pub fn len(&self) -> u64 {
        self.shape >> SKIP_BITS
    }

    /// Whether there is no word: never.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The words.
    #[inline]
    pub fn as_slice(&self) -> &[u64] {
        // SAFETY: `zeroed` allocated and initialised that many words; they live as long as `self`.
        unsafe { slice::from_raw_parts(self.first.as_ptr(), self.len() as usize) }
    }

    /// The words, to be written.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [u64] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.first.as_ptr(), self.len() as usize) }
    }

    /// The words as bytes, little-endian as every supported machine is.
    pub fn as_bytes(&self) -> &[u8] {
        let words = self.as_slice();
        // SAFETY: any word is eight valid bytes.
        unsafe { slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
    }

    /// The words as bytes, to be written.
    pub fn as_mut_bytes(&mut self) -> &mut [u8] {
        let words = self.as_mut_slice();
        // SAFETY: any eight bytes are a valid word, and `self` is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        let skip = (self.shape & SKIP_MASK) as usize;
        if let Some(layout) = allocation(self.len()) {
            // SAFETY: `zeroed` got this block with the same layout, and `first` lies `skip` words into it.
            unsafe { dealloc(self.first.as_ptr().sub(skip).cast(), layout) }
        }
    }
}

/// The allocation behind `len` words; none if there is no such amount of memory.
fn allocation(len: u64) -> Option<Layout> {
    let bytes = usize::try_from(len).ok()?.checked_mul(WORD)?;
    let bytes = if bytes >= ALIGNED_FROM { bytes.checked_add(PAGE)? } else { bytes };
    if len == 0 || len >> (u64::BITS - SKIP_BITS) != 0 {
        return None;
    }
    Layout::from_size_align(bytes, WORD).ok()
}
