//! What the documentation shows: its sessions, plans and tables are run and compared.
//!
//! The commands of docs/how-to/install.md are run by `tests/install/page.rs`, the recipes and the
//! examples in other languages by `tests/clients`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

mod commands;
mod format;
mod install;
mod pages;
mod plan;
mod rates;
mod sessions;
mod settings;
mod troubleshooting;
mod used;
