//! A cuckoo filter as one word: the address of its box.
//!
//! This is the only file with `unsafe` code for it.

use std::ptr::{self, NonNull};

use super::bloomline::BloomlineCuckoo;
use super::redisbloom::RedisBloomCuckoo;
use crate::error::Error;
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

    /// The word, to be stored elsewhere: its owner from now on.
    pub fn into_raw(self) -> NonNull<()> {
        NonNull::from(Box::leak(self.0)).cast()
    }

    /// The word.
    pub fn as_raw(&self) -> NonNull<()> {
        // SAFETY: a box is its address. It is not borrowed, so that the word may be used to write.
        unsafe { ptr::from_ref(&self.0).cast::<NonNull<()>>().read() }
    }

    /// The filter of a word.
    ///
    /// # Safety
    ///
    /// The word must come from [`AnyCuckoo::into_raw`], and have no other owner while the result is
    /// used to change or to free the filter.
    #[inline(always)]
    pub unsafe fn from_raw(word: NonNull<()>) -> Self {
        // SAFETY: guaranteed by the caller.
        Self(unsafe { Box::from_raw(word.cast().as_ptr()) })
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
