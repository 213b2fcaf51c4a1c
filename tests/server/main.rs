//! The module in real servers, as clients, replicas and operators use it.
//!
//! Every test runs on all servers that `bloomline_harness` finds. Each folder is named after what
//! it checks; see docs/how-to/contribute.md.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

mod acl;
mod bulk;
mod cluster;
mod commands;
mod compact;
mod entry_points;
mod false_positives;
mod faults;
mod harness;
mod hostile;
mod inspect;
mod introspection;
mod keyspace;
mod limits;
mod memory;
mod merge;
mod modules;
mod redisbloom;
mod replication;
mod settings;
mod soak;
mod windows;
mod windows_replication;
