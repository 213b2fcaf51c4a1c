//! A cuckoo filter as one word: the address of its box.
//!
//! This is the only file with `unsafe` code for it.

use std::ffi::c_void;
use std::ptr::{self, NonNull};

use super::bloomline::BloomlineCuckoo;
use super::redisbloom::RedisBloomCuckoo;
use crate::error::Error;
use crate::memory::stored::Stored;
use crate::memory::try_box;
use crate::memory::words::Mover;

/// A cuckoo filter of any layout.
#[derive(Debug, PartialEq)]
pub struct AnyCuckoo(pub(super) Box<CuckooKind>);

/// A cuckoo filter in the layout that it has.
#[derive(Debug, PartialEq)]
pub enum CuckooKind {
    Bloomline(BloomlineCuckoo),
    RedisBloom(RedisBloomCuckoo),
}

impl From<BloomlineCuckoo> for CuckooKind {
    fn from(filter: BloomlineCuckoo) -> Self {
        Self::Bloomline(filter)
    }
}

impl From<RedisBloomCuckoo> for CuckooKind {
    fn from(filter: RedisBloomCuckoo) -> Self {
        Self::RedisBloom(filter)
    }
}

impl Stored for AnyCuckoo {
    #[inline(always)]
    fn into_raw(self) -> NonNull<c_void> {
        NonNull::from(Box::leak(self.0)).cast()
    }

    #[inline(always)]
    fn as_raw(&self) -> NonNull<c_void> {
        // SAFETY: a box is its address. It is not borrowed, so that the word may be used to write.
        unsafe { ptr::from_ref(&self.0).cast::<NonNull<c_void>>().read() }
    }

    #[inline(always)]
    unsafe fn from_raw(word: NonNull<c_void>) -> Self {
        // SAFETY: guaranteed by the caller.
        Self(unsafe { Box::from_raw(word.cast().as_ptr()) })
    }
}

impl AnyCuckoo {
    /// The filter in a box.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(super) fn in_box(filter: impl Into<CuckooKind>) -> Result<Self, Error> {
        try_box(filter.into()).map(Self)
    }

    /// The filter in its layout.
    pub fn view(&self) -> &CuckooKind {
        &self.0
    }

    /// Lets `mover` move the box.
    pub(super) fn relocate_box(&mut self, mover: &mut Mover) {
        // SAFETY: the word is the only address of the box, and is overwritten here. The new
        // allocation has the size and the content of the old one.
        unsafe {
            let start = mover.relocate(self.as_raw().cast());
            ptr::write(self, Self::from_raw(start.cast()));
        }
    }
}
