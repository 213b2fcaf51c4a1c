//! The module's rules around the filters: settings, limits, seeds, replication, counters.
//!
//! | file | decides or keeps |
//! |---|---|
//! | [`setting`], [`config`] | the settings; load arguments and CONFIG SET |
//! | [`origin`], [`script`] | where a change comes from |
//! | [`limits`], [`machine`] | how much memory a filter may take |
//! | [`seed`] | the seed of a new filter |
//! | [`replicate`] | what is replicated of a call |
//! | [`counters`] | the totals that INFO shows |
//!
//! No `unsafe`: the server is reached through [`crate::server`] only.

pub mod config;
pub mod counters;
pub mod limits;
pub mod machine;
pub mod origin;
pub mod replicate;
pub mod script;
pub mod seed;
pub mod setting;
