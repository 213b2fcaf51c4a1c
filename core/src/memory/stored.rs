//! A filter as one word, which a host stores.

use std::ffi::c_void;
use std::ptr::NonNull;

/// A filter that is one word.
pub trait Stored: Sized {
    /// The word, to be stored elsewhere: its owner from now on.
    fn into_raw(self) -> NonNull<c_void>;

    /// The word.
    fn as_raw(&self) -> NonNull<c_void>;

    /// The filter of a word.
    ///
    /// # Safety
    ///
    /// The word must come from [`Stored::into_raw`] of this type, and have no other owner while the
    /// result is used to change or to free the filter.
    unsafe fn from_raw(word: NonNull<c_void>) -> Self;
}
