//! The memory of the bits of a layer: how it is allocated, zeroed, read and freed.
//!
//! | module | holds |
//! |---|---|
//! | [`words`] | an owned array of 64-bit words |
//! | [`allocation`] | an allocation with its kind, which decides how it is freed |
//! | [`pages`] | pages of the operating system: which were never touched, and how to drop them |
//! | `ledger` | with the feature `audit`: a table of all live allocations, which checks each free |

pub mod allocation;
#[cfg(feature = "audit")]
pub mod ledger;
pub mod pages;
pub mod words;
