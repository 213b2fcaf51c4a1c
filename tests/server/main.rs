//! The module inside real servers, as clients, replicas and operators meet it.
//!
//! Every test runs on every server found; see `harness::kinds` for where they are looked for.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod bad_input;
mod citizen;
mod cluster;
mod commands;
mod defrag;
mod experiments;
mod faults;
mod flows;
mod harness;
mod harness_itself;
mod hostile;
mod memory;
mod neighbours;
mod panics;
mod plan;
mod redisbloom;
mod replication;
mod sessions;
mod settings;
mod soak;
