//! An owned slice of 64-bit words: zeroed lazily, aligned to pages if it is large, and with an
//! error instead of an abort if there is no memory.

use std::fmt;
use std::iter;
use std::mem::ManuallyDrop;
use std::ops::{ControlFlow, Range};
use std::ptr::{self, NonNull};
use std::slice;

use super::allocation::{Allocation, Kind};
use super::fill::fill_of_union;
use super::pages::{PAGE, discard, is_zero, populate, visit_touched};
use crate::error::Error;

pub(super) const WORD: usize = size_of::<u64>();

/// Moves allocations, as a host does against fragmentation.
pub struct Mover<'a> {
    move_block: &'a mut dyn FnMut(NonNull<u8>) -> Option<NonNull<u8>>,
}

impl<'a> Mover<'a> {
    /// A mover that calls `move_block` with the start of each allocation.
    ///
    /// # Safety
    ///
    /// Given an allocation of the global allocator, `move_block` must return `None` and keep it, or
    /// return an allocation of the same allocator with the same size and content, and free the
    /// given one.
    pub unsafe fn new(move_block: &'a mut dyn FnMut(NonNull<u8>) -> Option<NonNull<u8>>) -> Self {
        Self { move_block }
    }

    /// The start of an allocation after it was moved, if it was.
    ///
    /// # Safety
    ///
    /// `start` must be that of an allocation of the global allocator, and the result must replace
    /// all of its addresses.
    pub(crate) unsafe fn relocate(&mut self, start: NonNull<u8>) -> NonNull<u8> {
        (self.move_block)(start).unwrap_or(start)
    }
}

/// Number of the low bits of [`Words::shape`] that hold the skipped words; the kind follows them,
/// and then the unused bytes.
const SKIP_BITS: u32 = PAGE.trailing_zeros() - WORD.trailing_zeros();
const SKIP_MASK: u64 = (1 << SKIP_BITS) - 1;
const UNUSED_SHIFT: u32 = SKIP_BITS + Kind::BITS;
const UNUSED_MASK: u64 = WORD as u64 - 1;
const LEN_SHIFT: u32 = UNUSED_SHIFT + UNUSED_MASK.count_ones();

/// An owned slice of 64-bit words, the last of which may have unused bytes: as bytes they end
/// before these, which stay zero.
///
/// A `Vec` does not suffice: `vec![0; n]` aborts if there is no memory, and no server's allocator
/// guarantees the alignment of a page.
pub struct Words {
    first: NonNull<u64>,
    /// From [`LEN_SHIFT`] on the number of words; below it the number of unused bytes and the kind
    /// of the allocation; in the low bits the number of words between the start of the allocation
    /// and `first`.
    shape: u64,
}

// SAFETY: `Words` owns its memory, and `u64` is `Send` and `Sync`.
unsafe impl Send for Words {}
// SAFETY: `Words` owns its memory, and `u64` is `Send` and `Sync`.
unsafe impl Sync for Words {}

impl Words {
    /// `len` words, at least one, all zero. From [`LARGE`](super::pages::LARGE) bytes on, no page
    /// is touched before its first use.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] with the number of bytes; also if `len` is 0.
    pub fn zeroed(len: u64) -> Result<Self, Error> {
        let bytes = len.saturating_mul(WORD as u64);
        let is_countable = len >> (u64::BITS - LEN_SHIFT) == 0;
        let content = usize::try_from(bytes).ok().filter(|_| is_countable);
        let allocation = content.and_then(Allocation::zeroed).ok_or(Error::OutOfMemory(bytes))?;
        Ok(Self::in_allocation(allocation))
    }

    /// Words for `bytes` bytes, at least one, all zero.
    pub fn for_bytes(bytes: u64) -> Result<Self, Error> {
        let len = bytes.div_ceil(WORD as u64);
        let mut words = Self::zeroed(len)?;
        words.shape |= (words.bytes() - bytes) << UNUSED_SHIFT;
        Ok(words)
    }

    /// The words that are the content of an allocation, all of which must be initialised.
    fn in_allocation(allocation: Allocation) -> Self {
        let (first, shape) = Self::parts(allocation, allocation.skip());
        Self { first, shape }
    }

    /// The first word and the shape of the words that begin `skip` bytes after the start of an
    /// allocation.
    fn parts(allocation: Allocation, skip: usize) -> (NonNull<u64>, u64) {
        // SAFETY: a kind that skips bytes is one page longer than its content.
        let first = unsafe { allocation.start.byte_add(skip) }.cast();
        let len = allocation.content as u64 / WORD as u64;
        let low = allocation.kind.to_bits() << SKIP_BITS | (skip / WORD) as u64;
        (first, len << LEN_SHIFT | low)
    }

    /// Takes ownership of memory that the host allocated; `None`, without taking it, if `bytes` is
    /// 0 or not a multiple of 8, or if the memory is not aligned to words.
    ///
    /// # Safety
    ///
    /// `block` must be `bytes` long and initialised. The global allocator must be able to free it
    /// as an allocation of `bytes` bytes with the alignment of a word. Nobody else may use it.
    pub unsafe fn adopt(block: NonNull<u8>, bytes: u64) -> Option<Self> {
        let is_whole =
            bytes != 0 && bytes.is_multiple_of(WORD as u64) && block.cast::<u64>().is_aligned();
        let content = usize::try_from(bytes).ok().filter(|_| is_whole)?;
        // SAFETY: guaranteed by the caller.
        Some(Self::in_allocation(unsafe { Allocation::adopt(block, content) }))
    }

    /// A copy of the words.
    ///
    /// Pages of zeros are not written. Pages that were never touched are not read if the operating
    /// system reports which those are.
    pub fn try_clone(&self) -> Result<Self, Error> {
        let mut copy = Self::for_bytes(self.bytes())?;
        self.copy_touched(copy.as_mut_bytes());
        Ok(copy)
    }

    /// Copies the bytes to `to`, which must be zero and of the same length.
    ///
    /// Pages of zeros are not written. Pages that were never touched are not read if the operating
    /// system reports which those are.
    pub fn copy_touched(&self, to: &mut [u8]) {
        let from = self.as_bytes();
        self.visit_touched(0..from.len(), |range| {
            if let (Some(to), Some(from)) = (to.get_mut(range.clone()), from.get(range)) {
                copy_to_zeros(to, from);
            }
            ControlFlow::Continue(())
        });
    }

    /// True if all bytes of the range are zero. Bytes past the end count as zero.
    ///
    /// Pages that were never touched are not read if the operating system reports which those are.
    pub fn is_zero(&self, range: Range<usize>) -> bool {
        self.view().is_zero(range)
    }

    /// True if the bytes from `from` on are these.
    ///
    /// Pages that were never touched are not read if the operating system reports which those are.
    pub fn equals(&self, from: usize, bytes: &[u8]) -> bool {
        let (mut is_equal, mut compared) = (true, 0);
        self.visit_touched(from..from + bytes.len(), |touched| {
            let (start, end) = (touched.start - from, touched.end - from);
            is_equal = bytes.get(compared..start).is_some_and(is_zero)
                && bytes.get(start..end) == self.as_bytes().get(touched);
            compared = end;
            if is_equal { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        is_equal && bytes.get(compared..).is_some_and(is_zero)
    }

    /// Calls `visit` with the parts of a range of bytes that may differ from zero, in order.
    pub fn visit_touched(
        &self,
        range: Range<usize>,
        visit: impl FnMut(Range<usize>) -> ControlFlow<()>,
    ) {
        self.view().visit_touched(range, visit);
    }

    /// The words, to be read.
    #[inline(always)]
    pub fn view(&self) -> WordsRef<'_> {
        WordsRef {
            words: self.as_slice(),
            unused: self.unused() as usize,
            is_lazy: self.kind() == Kind::Lazy,
        }
    }

    pub fn allocation(&self) -> Allocation {
        // SAFETY: the allocation begins `skip` words before the first word.
        let start = unsafe { self.first.sub(self.skip()) }.cast();
        Allocation { start, kind: self.kind(), content: self.len() as usize * WORD }
    }

    #[inline(always)]
    fn kind(&self) -> Kind {
        Kind::from_bits(self.shape >> SKIP_BITS)
    }

    /// Number of words between the start of the allocation and the first word.
    fn skip(&self) -> usize {
        (self.shape & SKIP_MASK) as usize
    }

    /// Lets `mover` move the allocation.
    pub fn relocate(&mut self, mover: &mut Mover) {
        let allocation = self.allocation();
        let Some(start) = (mover.move_block)(allocation.start) else { return };
        allocation.moved_to(start);
        // SAFETY: the new allocation has the size of the old one. The words keep their offset in
        // it. They may no longer start on a page, which affects only the speed.
        self.first = unsafe { start.cast().add(self.skip()) };
        if allocation.kind == Kind::Lazy {
            // Nothing is known about the pages of the new allocation.
            let others = self.shape & !(Kind::Lazy.to_bits() << SKIP_BITS);
            self.shape = others | Kind::Padded.to_bits() << SKIP_BITS;
        }
    }

    /// Returns the memory of bytes that are zero to the operating system, in whole pages, if it
    /// zeroes pages at their first use. Bytes that are not zero are lost.
    pub fn release_zeros(&mut self, range: Range<usize>) {
        if self.allocation().kind != Kind::Lazy {
            return;
        }
        let Some(bytes) = self.as_mut_bytes().get_mut(range) else { return };
        let (start, len) = (NonNull::from(&mut *bytes).cast(), bytes.len());
        // SAFETY: the bytes are borrowed exclusively, and their content is given up.
        let released = unsafe { discard(start, len) };
        if released.is_empty() {
            // What was marked for the check is set back.
            bytes.fill(0);
        }
    }

    /// Keeps the first `len` words and frees the memory of the others. Does nothing if `len` is 0
    /// or not less than the number of words.
    ///
    /// The process ends if the allocator has no memory for the smaller size.
    pub fn truncate(&mut self, len: u64) {
        if len == 0 || len >= self.len() {
            return;
        }
        let (skip, content) = (self.skip() * WORD, len as usize * WORD);
        // SAFETY: the words own their allocation and begin after `skip` bytes; the content is less
        // than before, and not empty. The old start is overwritten here.
        let (allocation, skip) = unsafe { self.allocation().shrink(skip, content) };
        (self.first, self.shape) = Self::parts(allocation, skip);
    }

    #[inline]
    pub fn len(&self) -> u64 {
        self.shape >> LEN_SHIFT
    }

    /// Bytes of the last word that are not used, 0 to 7.
    #[inline]
    fn unused(&self) -> u64 {
        self.shape >> UNUSED_SHIFT & UNUSED_MASK
    }

    #[inline]
    pub fn bytes(&self) -> u64 {
        self.len() * WORD as u64 - self.unused()
    }

    /// Always false: there is at least one word.
    pub fn is_empty(&self) -> bool {
        false
    }

    #[inline]
    pub fn as_slice(&self) -> &[u64] {
        // SAFETY: this many words are allocated and initialised, and they live as long as `self`.
        unsafe { slice::from_raw_parts(self.first.as_ptr(), self.len() as usize) }
    }

    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [u64] {
        // SAFETY: as in `as_slice`, and `self` is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.first.as_ptr(), self.len() as usize) }
    }

    /// The fill: the share of bits that are set, in [0, 1], counted in at most `sample` evenly
    /// spaced pages, but in at least one.
    ///
    /// It is exact if the words have at most `sample` pages.
    pub fn fill(&self, sample: usize) -> f64 {
        self.view().fill(sample)
    }

    /// The words as bytes. They are little-endian, because every supported machine is.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        self.view().as_bytes()
    }

    /// The words as bytes, to be written.
    #[inline]
    pub fn as_mut_bytes(&mut self) -> &mut [u8] {
        let used = self.bytes() as usize;
        bytes_of(self.as_mut_slice()).get_mut(..used).unwrap_or_default()
    }
}

/// Words to be read: [`Words`], or a part of other memory.
#[derive(Clone, Copy)]
pub struct WordsRef<'a> {
    words: &'a [u64],
    /// Bytes of the last word that are not used, 0 to 7.
    unused: usize,
    is_lazy: bool,
}

impl<'a> WordsRef<'a> {
    /// Words in any memory.
    #[inline(always)]
    pub const fn new(words: &'a [u64]) -> Self {
        Self { words, unused: 0, is_lazy: false }
    }

    #[inline(always)]
    pub fn as_slice(self) -> &'a [u64] {
        self.words
    }

    /// The words as bytes. They are little-endian, because every supported machine is.
    pub fn as_bytes(self) -> &'a [u8] {
        // SAFETY: a word is eight initialised bytes, and no more bytes are unused than there are.
        unsafe { slice::from_raw_parts(self.words.as_ptr().cast(), self.bytes() as usize) }
    }

    #[inline(always)]
    pub fn bytes(self) -> u64 {
        (size_of_val(self.words) - self.unused) as u64
    }

    pub fn fill(self, sample: usize) -> f64 {
        let of_words = fill_of_union(iter::once(self.words), sample).set;
        // The bits of unused bytes are counted, and are zero.
        (of_words * (size_of_val(self.words) as f64 / self.bytes().max(1) as f64)).min(1.0)
    }

    pub fn is_zero(self, range: Range<usize>) -> bool {
        let mut all = true;
        self.visit_touched(range, |touched| {
            all = self.as_bytes().get(touched).is_none_or(is_zero);
            if all { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        all
    }

    pub fn visit_touched(
        self,
        range: Range<usize>,
        mut visit: impl FnMut(Range<usize>) -> ControlFlow<()>,
    ) {
        let range = range.start..range.end.min(self.bytes() as usize);
        let at = range.start;
        match self.as_bytes().get(range.clone()) {
            Some(bytes) if self.is_lazy => {
                visit_touched(bytes, |touched| visit(at + touched.start..at + touched.end));
            }
            Some(_) => drop(visit(range)),
            None => {}
        }
    }
}

impl fmt::Debug for Words {
    /// Writes the number of words only.
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.debug_struct("Words").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        // SAFETY: the words own their allocation, and are not used any more.
        unsafe { self.allocation().free() }
    }
}

/// Words as bytes, to be written. They are little-endian, because every supported machine is.
pub fn bytes_of(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: any eight bytes are a valid word, and the words are borrowed exclusively.
    unsafe { slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}

/// Copies `from` to `to`, which must be zero and of the same length.
///
/// Pages of zeros are not written, so that they take no memory if they were never touched.
pub fn copy_to_zeros(to: &mut [u8], from: &[u8]) {
    copy_pages(to, from, |_, from| !is_zero(from));
}

/// Overwrites `to` with `from`, which must have the same length.
///
/// A page is not written if it is zero in both.
pub fn overwrite(to: &mut [u8], from: &[u8]) {
    copy_pages(to, from, |to, from| !is_zero(from) || !is_zero(to));
}

/// Copies the pages for which `is_copied` is true, which depends on both contents.
fn copy_pages(to: &mut [u8], from: &[u8], is_copied: impl Fn(&[u8], &[u8]) -> bool) {
    /// Bytes that are copied at once if no page of them is zero.
    const MANY: usize = 64 * PAGE;
    for (to, from) in to.chunks_mut(MANY).zip(from.chunks(MANY)) {
        if from.len() == MANY && !from.chunks(PAGE).any(is_zero) {
            populate(to);
            to.copy_from_slice(from);
            continue;
        }
        for (to, from) in to.chunks_mut(PAGE).zip(from.chunks(PAGE)) {
            if is_copied(to, from) {
                to.copy_from_slice(from);
            }
        }
    }
}

/// Lets `mover` move the allocation of a boxed slice.
pub fn relocate_slice<T>(slice: &mut Box<[T]>, mover: &mut Mover) {
    if size_of_val(&**slice) == 0 {
        return;
    }
    let len = slice.len();
    let old = Box::into_raw(std::mem::take(slice));
    let moved = NonNull::new(old.cast()).and_then(|start| (mover.move_block)(start));
    let start = moved.map_or(old.cast(), |start| start.as_ptr().cast::<T>());
    // SAFETY: this is the old allocation or its exact copy, and it has no other owner.
    *slice = unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(start, len)) };
}

/// Lets `mover` move the allocation of a vector.
pub fn relocate_vec<T>(vec: &mut Vec<T>, mover: &mut Mover) {
    if vec.capacity() == 0 || size_of::<T>() == 0 {
        return;
    }
    let mut old = ManuallyDrop::new(std::mem::take(vec));
    let (start, len, capacity) = (old.as_mut_ptr(), old.len(), old.capacity());
    let moved = NonNull::new(start.cast()).and_then(|start| (mover.move_block)(start));
    let start = moved.map_or(start, |start| start.as_ptr().cast::<T>());
    // SAFETY: this is the old allocation or its exact copy, and it has no other owner.
    *vec = unsafe { Vec::from_raw_parts(start, len, capacity) };
}
