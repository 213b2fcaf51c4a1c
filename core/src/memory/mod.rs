//! The memory behind the bits of a layer: how it is allocated, zeroed, read sparingly, and freed.
//!
//! | file | what it knows |
//! |---|---|
//! | [`allocation`] | a block with the way it was allocated: the one place that frees |
//! | `pages` | what the operating system knows of pages: which are untouched, how to drop them |
//! | `ledger` | with the feature `audit`: every block that is out, to check how it comes back |

pub mod allocation;
#[cfg(feature = "audit")]
pub mod ledger;
pub mod pages;
pub mod words;
