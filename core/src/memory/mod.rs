//! The memory of the bits of a layer: how it is allocated, zeroed, read and freed.
//!
//! | module | holds |
//! |---|---|
//! | [`words`] | an owned array of 64-bit words |
//! | [`stored`] | a filter as one word |
//! | [`headed`] | such words behind a header, in one allocation: one address |
//! | `or` | the union of two such arrays |
//! | [`fill`] | counting the set bits of words |
//! | [`allocation`] | an allocation with its kind, which decides how it is freed |
//! | [`pages`] | pages of the operating system: which were never touched, and how to drop them |
//! | `huge` | huge pages behind large allocations |
//! | `lists` | lists that grow without panics |
//! | `ledger` | with the feature `audit`: a table of all live allocations, which checks each free |

use std::alloc::{Layout, alloc};
use std::ptr::NonNull;

use crate::error::Error;

pub mod allocation;
pub mod fill;
pub mod headed;
pub mod huge;
#[cfg(feature = "audit")]
pub mod ledger;
pub(crate) mod lists;
mod or;
pub mod pages;
pub mod sparse;
pub mod stored;
pub mod words;

/// Moves a value into an allocation, or returns [`Error::OutOfMemory`].
pub(crate) fn try_box<T>(value: T) -> Result<Box<T>, Error> {
    let layout = Layout::new::<T>();
    const { assert!(size_of::<T>() != 0, "only values with bytes are boxed") };
    // SAFETY: the layout has at least one byte.
    let start = NonNull::new(unsafe { alloc(layout) }.cast::<T>());
    let start = start.ok_or(Error::OutOfMemory(layout.size() as u64))?;
    // SAFETY: the allocation is new, has the layout of a `T`, and no other owner.
    unsafe {
        start.write(value);
        Ok(Box::from_raw(start.as_ptr()))
    }
}
