//! A boxed slice of words that is zeroed lazily, may fail to be had, and starts on a page when it is big.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::{self, NonNull};
use std::slice;

use bitvec::order::Lsb0;
use bitvec::slice::BitSlice;

use super::error::Error;

/// Bytes of a page.
const PAGE: usize = 4096;
const WORD: usize = size_of::<u64>();

/// Pages in which [`Words::fill`] counts.
const SAMPLED_PAGES: usize = 4096;

/// Moves blocks of memory to better places.
pub struct Mover<'a> {
    move_block: &'a mut dyn FnMut(NonNull<u8>) -> Option<NonNull<u8>>,
}

impl<'a> Mover<'a> {
    /// A mover that does what `move_block` does.
    ///
    /// # Safety
    ///
    /// Given a block of the global allocator, it must return none, or a block of that allocator with the same size and content, and
    /// have freed the one that it was given.
    pub unsafe fn new(move_block: &'a mut dyn FnMut(NonNull<u8>) -> Option<NonNull<u8>>) -> Self {
        Self { move_block }
    }
}

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
        let over = base.addr().get() % PAGE;
        let skip = if layout.size() >= ALIGNED_FROM + PAGE && over != 0 { PAGE - over } else { 0 };
        // SAFETY: `allocation` added a page where `skip` may not be zero, and `skip` is less than one.
        let first = unsafe { base.byte_add(skip) }.cast();
        Ok(Self { first, shape: len << SKIP_BITS | (skip / WORD) as u64 })
    }

    /// Takes over a block of bytes that another part of the program has allocated; none if they are no whole words.
    ///
    /// # Safety
    ///
    /// `block` must be `bytes` long, aligned to a word, initialised, from the global allocator or from one whose blocks that can free
    /// without knowing their layout, and nobody else's.
    pub unsafe fn adopt(block: NonNull<u8>, bytes: u64) -> Option<Self> {
        let whole = bytes != 0 && bytes.is_multiple_of(WORD as u64) && block.cast::<u64>().is_aligned();
        // Not `then_some`: a value made in vain would be dropped, and free the block that the caller still owns.
        whole.then(|| Self { first: block.cast(), shape: (bytes / WORD as u64) << SKIP_BITS })
    }

    /// Words equal to these; pages of zeros are not touched.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn try_clone(&self) -> Result<Self, Error> {
        let mut copy = Self::zeroed(self.len())?;
        copy_to_zeros(copy.as_mut_bytes(), self.as_bytes());
        Ok(copy)
    }

    /// The block of the allocator that holds the words.
    pub fn block(&self) -> NonNull<u8> {
        let skip = (self.shape & SKIP_MASK) as usize;
        // SAFETY: the block begins `skip` words before the first one.
        unsafe { self.first.sub(skip).cast() }
    }

    /// Lets the block be moved to a better place.
    pub fn relocate(&mut self, mover: &mut Mover) {
        let skip = (self.shape & SKIP_MASK) as usize;
        let Some(block) = (mover.move_block)(self.block()) else { return };
        // SAFETY: the new block has the size of the old one. The words stay where they are within it, whether they start
        // on a page there or not: only their speed depends on that.
        self.first = unsafe { block.cast().add(skip) };
    }

    /// The number of words.
    #[inline]
    pub fn len(&self) -> u64 {
        self.shape >> SKIP_BITS
    }

    /// The number of bytes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.len() * WORD as u64
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

    /// Share of the bits that are set, in [0, 1].
    ///
    /// Counted in at most 4,096 pages spread evenly: a millisecond at most, and exact up to 16 MiB; above, the
    /// standard error is below 0.0001.
    pub fn fill(&self) -> f64 {
        let pages = self.as_slice().chunks(PAGE / WORD);
        let step = pages.len().div_ceil(SAMPLED_PAGES).max(1);
        let (mut ones, mut bits) = (0, 0);
        for page in pages.step_by(step) {
            let page = BitSlice::<u64, Lsb0>::from_slice(page);
            ones += page.count_ones();
            bits += page.len();
        }
        ones as f64 / bits as f64
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
        if let Some(layout) = allocation(self.len()) {
            // SAFETY: `zeroed` got this block with the same layout.
            unsafe { dealloc(self.block().as_ptr(), layout) }
        }
    }
}

/// Copies bytes to as many zeros; pages of zeros are not touched, and so take no memory if they never were.
pub fn copy_to_zeros(to: &mut [u8], from: &[u8]) {
    for (to, from) in to.chunks_mut(PAGE).zip(from.chunks(PAGE)) {
        if from.iter().any(|&byte| byte != 0) {
            to.copy_from_slice(from);
        }
    }
}

/// Lets the block of a boxed slice be moved to a better place.
pub fn relocate_slice<T>(slice: &mut Box<[T]>, mover: &mut Mover) {
    if size_of_val(&**slice) == 0 {
        return;
    }
    let len = slice.len();
    let old = Box::into_raw(std::mem::take(slice));
    let moved = NonNull::new(old.cast()).and_then(|block| (mover.move_block)(block));
    let start = moved.map_or(old.cast(), |block| block.as_ptr().cast::<T>());
    // SAFETY: either the old block or, byte by byte, its copy, of which there is no other owner.
    *slice = unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(start, len)) };
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
