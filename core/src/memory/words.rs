//! A boxed slice of words: zeroed lazily, fallible to allocate, and aligned to a page where it is
//! large.

use std::fmt;
use std::ops::{ControlFlow, Range};
use std::ptr::{self, NonNull};
use std::slice;

use super::allocation::{Allocation, Kind};
use super::pages::{PAGE, is_zero, visit_touched};
use bitvec::order::Lsb0;
use bitvec::slice::BitSlice;

use crate::error::Error;

const WORD: usize = size_of::<u64>();

/// Moves blocks of memory to better places.
pub struct Mover<'a> {
    move_block: &'a mut dyn FnMut(NonNull<u8>) -> Option<NonNull<u8>>,
}

impl<'a> Mover<'a> {
    /// A mover that does what `move_block` does.
    ///
    /// # Safety
    ///
    /// Given a block of the global allocator, it must return none, or a block of that allocator
    /// with the same size and content, and have freed the one that it was given.
    pub unsafe fn new(move_block: &'a mut dyn FnMut(NonNull<u8>) -> Option<NonNull<u8>>) -> Self {
        Self { move_block }
    }
}

/// Low bits of [`Words::shape`]: the words left free before the first one, then the kind of block.
const SKIP_BITS: u32 = PAGE.trailing_zeros() - WORD.trailing_zeros();
const SKIP_MASK: u64 = (1 << SKIP_BITS) - 1;
const LEN_SHIFT: u32 = SKIP_BITS + Kind::BITS;

/// An owned slice of 64-bit words.
///
/// It is the project's own since `vec![0; n]` aborts when memory is short, and since no allocator
/// of a server promises an alignment above 16.
pub struct Words {
    first: NonNull<u64>,
    /// The number of words from [`LEN_SHIFT`] on; below it the kind of block, and the words
    /// between the start of the block and `first`.
    shape: u64,
}

// SAFETY: `Words` owns what it points to, and words are `Send` and `Sync`.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    /// `len` words of zero, at least one. Large ones touch no page until they are used.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] with the number of bytes.
    pub fn zeroed(len: u64) -> Result<Self, Error> {
        let bytes = len.saturating_mul(WORD as u64);
        let is_countable = len >> (u64::BITS - LEN_SHIFT) == 0;
        let content = usize::try_from(bytes).ok().filter(|_| is_countable);
        let block = content.and_then(Allocation::zeroed).ok_or(Error::OutOfMemory(bytes))?;
        Ok(Self::in_block(block))
    }

    /// The words that are the content of a block, all of which are initialised.
    fn in_block(block: Allocation) -> Self {
        let (skip, len) = (block.skip(), block.content as u64 / WORD as u64);
        // SAFETY: a block is as much longer than its content as it may skip.
        let first = unsafe { block.start.byte_add(skip) }.cast();
        let low = block.kind.to_bits() << SKIP_BITS | (skip / WORD) as u64;
        Self { first, shape: len << LEN_SHIFT | low }
    }

    /// Takes over a block of bytes that the host has allocated; none if they are no whole words.
    ///
    /// # Safety
    ///
    /// `block` must be `bytes` long and initialised, the global allocator must be able to free it
    /// as a block of `bytes` bytes with the alignment of a word, and nobody else may use it.
    pub unsafe fn adopt(block: NonNull<u8>, bytes: u64) -> Option<Self> {
        let is_whole =
            bytes != 0 && bytes.is_multiple_of(WORD as u64) && block.cast::<u64>().is_aligned();
        let content = usize::try_from(bytes).ok().filter(|_| is_whole)?;
        // SAFETY: promised by the caller.
        Some(Self::in_block(unsafe { Allocation::adopt(block, content) }))
    }

    /// Words equal to these. Pages of zeros are not written, and pages that were never touched not
    /// read where the operating system tells.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn try_clone(&self) -> Result<Self, Error> {
        let mut copy = Self::zeroed(self.len())?;
        let (to, from) = (copy.as_mut_bytes(), self.as_bytes());
        self.visit_touched(0..from.len(), |range| {
            if let (Some(to), Some(from)) = (to.get_mut(range.clone()), from.get(range)) {
                copy_to_zeros(to, from);
            }
            ControlFlow::Continue(())
        });
        Ok(copy)
    }

    /// True if all bytes of the range are zero; bytes past the end count as zero.
    ///
    /// Pages that were never touched are not read where the operating system tells.
    pub fn is_zero(&self, range: Range<usize>) -> bool {
        let mut all = true;
        self.visit_touched(range, |touched| {
            all = self.as_bytes().get(touched).is_none_or(is_zero);
            if all { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        all
    }

    /// Calls `visit` with those parts of a range that may differ from zero, in order.
    fn visit_touched(
        &self,
        range: Range<usize>,
        mut visit: impl FnMut(Range<usize>) -> ControlFlow<()>,
    ) {
        let range = range.start..range.end.min(self.bytes() as usize);
        let at = range.start;
        match self.as_bytes().get(range.clone()) {
            Some(bytes) if self.block().kind == Kind::Lazy => {
                visit_touched(bytes, |touched| visit(at + touched.start..at + touched.end));
            }
            Some(_) => drop(visit(range)),
            None => {}
        }
    }

    /// The block of the allocator that holds the words.
    pub fn block(&self) -> Allocation {
        // SAFETY: the block begins `skip` words before the first one.
        let start = unsafe { self.first.sub(self.skip()) }.cast();
        let kind = Kind::from_bits(self.shape >> SKIP_BITS);
        Allocation { start, kind, content: self.bytes() as usize }
    }

    /// Words between the start of the block and the first one.
    fn skip(&self) -> usize {
        (self.shape & SKIP_MASK) as usize
    }

    /// Lets the block be moved to a better place.
    pub fn relocate(&mut self, mover: &mut Mover) {
        let Some(start) = (mover.move_block)(self.block().start) else { return };
        // SAFETY: the new block has the size of the old one. The words stay where they are within
        // it, whether they start on a page there or not: only their speed depends on that.
        self.first = unsafe { start.cast().add(self.skip()) };
        if self.block().kind == Kind::Lazy {
            // Nothing is known of the pages of the new block.
            let others = self.shape & !(Kind::Lazy.to_bits() << SKIP_BITS);
            self.shape = others | Kind::Padded.to_bits() << SKIP_BITS;
        }
    }

    /// The number of words.
    #[inline]
    pub fn len(&self) -> u64 {
        self.shape >> LEN_SHIFT
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

    /// Share of the bits that are set, in [0, 1], counted in `sample` pages spread evenly, at least
    /// one.
    ///
    /// Exact if the words have no more pages than that.
    pub fn fill(&self, sample: usize) -> f64 {
        let pages = self.as_slice().chunks(PAGE / WORD);
        let step = pages.len().div_ceil(sample.max(1)).max(1);
        let (mut ones, mut bits) = (0, 0);
        for page in pages.step_by(step) {
            let page = as_bits(page);
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

impl fmt::Debug for Words {
    /// Their number.
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.debug_struct("Words").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        // SAFETY: the words own their block, and end here.
        unsafe { self.block().free() }
    }
}

/// The bits of words, in the machine's own words: the only ones of which bits can be counted on
/// every machine.
fn as_bits(words: &[u64]) -> &BitSlice<usize, Lsb0> {
    let count = size_of_val(words) / size_of::<usize>();
    // SAFETY: a `u64` is one or two words of the machine, without padding.
    BitSlice::from_slice(unsafe { slice::from_raw_parts(words.as_ptr().cast(), count) })
}

/// Copies bytes to as many zeros. Pages of zeros are not written, and so take no memory if they
/// never were.
pub fn copy_to_zeros(to: &mut [u8], from: &[u8]) {
    for (to, from) in to.chunks_mut(PAGE).zip(from.chunks(PAGE)) {
        if !is_zero(from) {
            to.copy_from_slice(from);
        }
    }
}

/// Copies bytes over as many others. Pages that are zeros already are not written.
pub fn overwrite(to: &mut [u8], from: &[u8]) {
    for (to, from) in to.chunks_mut(PAGE).zip(from.chunks(PAGE)) {
        if !is_zero(from) || !is_zero(to) {
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
