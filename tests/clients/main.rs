//! The module as programs in Rust meet it, through redis-rs; the other languages' tests lie beside
//! this file.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod redis_rs;
