//! The module as programs in Rust meet it, through redis-rs; the other languages' tests lie beside
//! this file.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

#[path = "../server/harness/mod.rs"]
#[allow(dead_code, unused_imports, unused_macros, reason = "the tests of the servers use the rest")]
mod harness;
mod redis_rs;
