//! The module's rules around the filters: settings, limits, seeds, replication, counters.
//!
//! | file | decides or keeps |
//! |---|---|
//! | [`layout`] | what differs between the layouts for users |
//! | [`setting`], [`config`] | the settings; load arguments and CONFIG SET |
//! | [`defaults`] | the options of new filters that are not given |
//! | [`source`] | who sends a call, and who executes it again |
//! | [`limits`], [`machine`] | how much memory a filter may take |
//! | `huge` | when the thread for huge pages is started |
//! | [`seed`] | the seed of a new filter |
//! | [`replicate`], [`bits`] | what is replicated of a call; a bit per item of it |
//! | [`counters`] | the numbers that INFO shows |
//!
//! No `unsafe`: the server is reached through [`crate::server`] only.

pub mod bits;
pub mod config;
pub mod counters;
pub mod defaults;
mod huge;
pub mod layout;
pub mod limits;
pub mod machine;
pub mod replicate;
pub mod seed;
pub mod setting;
pub mod source;
