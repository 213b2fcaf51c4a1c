//! Words behind a header that says how many they are: owned by one address.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::slice;

use super::allocation::{Allocation, Kind};
use super::words::{Mover, WORD, bytes_of};
use crate::error::Error;

/// Bytes of a [`Header`].
pub const HEADER: usize = 32;

/// What describes words, in front of them in the same allocation. The low 16 bits of the last word
/// are the number of words.
pub type Header = [u64; HEADER / WORD];

/// The bits of the last word of a [`Header`] with the number of words.
const LEN: u64 = u16::MAX as u64;

/// Owned words with a [`Header`] in front of them: one address.
#[derive(Debug)]
#[repr(transparent)]
pub struct Headed(NonNull<Header>);

// SAFETY: it owns its memory, and `u64` is `Send` and `Sync`.
unsafe impl Send for Headed {}
// SAFETY: it owns its memory, and `u64` is `Send` and `Sync`.
unsafe impl Sync for Headed {}

impl Headed {
    /// `len` words, at least one, all zero, behind a header.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    #[inline]
    pub fn zeroed([first, second, third, last]: Header, len: u16) -> Result<Self, Error> {
        let content = HEADER + usize::from(len) * WORD;
        let allocation = Allocation::exact(content).ok_or(Error::OutOfMemory(content as u64))?;
        let start = allocation.start.cast::<Header>();
        // SAFETY: the allocation begins with the header, whose memory nobody else uses.
        unsafe { start.write([first, second, third, last & !LEN | u64::from(len)]) };
        Ok(Self(start))
    }

    #[inline(always)]
    pub fn header(&self) -> &Header {
        // SAFETY: the allocation begins with a header.
        unsafe { self.0.as_ref() }
    }

    /// Overwrites the header but for the bits with the number of words.
    #[inline(always)]
    pub fn set_header(&mut self, [first, second, third, last]: Header) {
        let last = last & !LEN | self.len() as u64;
        // SAFETY: as in `header`.
        unsafe { self.0.write([first, second, third, last]) };
    }

    #[inline(always)]
    fn len(&self) -> usize {
        let [.., last] = self.header();
        (last & LEN) as usize
    }

    #[inline(always)]
    pub fn words(&self) -> &[u64] {
        // SAFETY: the words begin where the header ends, and are as many.
        unsafe { slice::from_raw_parts(self.0.add(1).cast().as_ptr(), self.len()) }
    }

    #[inline(always)]
    pub fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: as in `words`, and they are borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.0.add(1).cast().as_ptr(), self.len()) }
    }

    /// The words as bytes, to be written.
    pub fn as_mut_bytes(&mut self) -> &mut [u8] {
        bytes_of(self.words_mut())
    }

    /// Bytes of header and words.
    #[inline]
    pub fn bytes(&self) -> usize {
        HEADER + self.len() * WORD
    }

    pub fn try_clone(&self) -> Result<Self, Error> {
        self.resized(self.len() as u16)
    }

    /// A copy with `len` words, at least one: the first ones, and zeros if there are fewer.
    pub fn resized(&self, len: u16) -> Result<Self, Error> {
        let mut copy = Self::zeroed(*self.header(), len)?;
        copy.words_mut().iter_mut().zip(self.words()).for_each(|(to, from)| *to = *from);
        Ok(copy)
    }

    /// Lets `mover` move the allocation.
    pub fn relocate(&mut self, mover: &mut Mover) {
        let allocation = self.allocation();
        // SAFETY: this is the only address of the allocation, and is overwritten here.
        self.0 = unsafe { mover.relocate(allocation.start) }.cast();
        allocation.moved_to(self.start());
    }

    fn allocation(&self) -> Allocation {
        Allocation { start: self.start(), kind: Kind::Exact, content: self.bytes() }
    }

    #[inline(always)]
    pub fn start(&self) -> NonNull<u8> {
        self.0.cast()
    }

    /// The address of the allocation, which is given up.
    #[inline(always)]
    pub fn into_raw(self) -> NonNull<u8> {
        ManuallyDrop::new(self).start()
    }

    /// The header at an address.
    ///
    /// # Safety
    ///
    /// `start` must come from [`Headed::into_raw`], and nothing may change the header while the
    /// result is used.
    #[inline(always)]
    pub unsafe fn header_at<'a>(start: NonNull<u8>) -> &'a Header {
        // SAFETY: guaranteed by the caller.
        unsafe { start.cast().as_ref() }
    }

    /// The words and the header at an address.
    ///
    /// # Safety
    ///
    /// `start` must come from [`Headed::into_raw`], and the allocation must have no other owner
    /// while the result, or what is made of it, is used to change or to free it.
    #[inline(always)]
    pub unsafe fn from_raw(start: NonNull<u8>) -> Self {
        Self(start.cast())
    }
}

impl Drop for Headed {
    fn drop(&mut self) {
        // SAFETY: the words own their allocation, and are not used any more.
        unsafe { self.allocation().free() }
    }
}
