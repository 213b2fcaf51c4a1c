//! Random input for the module in real servers; that for the core alone is in `core/fuzz`.
//!
//! ```text
//! resp            sequences of command lines, valid and damaged
//! dump            DUMP payloads with damaged values and a correct checksum, restored and used
//! differential    calls of RedisBloom's commands, to RedisBloom and to Bloomline
//! ```
//!
//! By default every run has the same few cases. `FUZZ_SECONDS=600` runs other cases for that time
//! and prints their first `FUZZ_SEED`. A failure prints the seed that repeats it with
//! `FUZZ_CASES=1`.
#![allow(
    clippy::approx_constant,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

mod budget;
mod calls;
mod cuckoo_calls;
mod differences;
mod differential;
mod dump;
mod family;
mod found;
mod known;
mod live;
mod packed;
mod payload;
mod program;
mod resp;
mod words;
