//! The module's rules around the filters: settings, limits, seeds, replication, counters.
//!
//! | file | decides or keeps |
//! |---|---|
//! | [`family`], `bloom`, `cuckoo` | what the module asks of each family of filters |
//! | [`layout`] | what differs between the layouts for users |
//! | [`setting`], [`config`] | the settings; load arguments and CONFIG SET |
//! | [`source`] | who sends a call, and who executes it again |
//! | [`limits`], [`machine`] | how much memory a filter may take |
//! | `huge` | when the thread for huge pages is started |
//! | [`seed`] | the seed of a new filter |
//! | [`replicate`], [`bits`] | what is replicated of a call; a bit per item of it |
//! | [`counters`], `totals` | the numbers that INFO shows; what filters add to them |
//!
//! No `unsafe`: the server is reached through [`crate::server`] only.

pub mod bits;
pub mod bloom;
pub mod config;
pub mod counters;
pub mod cuckoo;
pub mod family;
mod huge;
pub mod layout;
pub mod limits;
pub mod machine;
pub mod replicate;
pub mod seed;
pub mod setting;
pub mod source;
mod totals;
