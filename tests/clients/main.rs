//! Client libraries: redis-rs here, the other languages in the files of this folder.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

mod recipes;
mod redis_rs;
