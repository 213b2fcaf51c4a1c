//! Random input for the core and for the module in real servers.
//!
//! ```text
//! decode, model   the bodies of the targets in fuzz/, run over their seeds and over random bytes
//! resp            sequences of command lines, valid and damaged
//! dump            DUMP payloads with damaged values and a correct checksum, restored and used
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

#[path = "../../fuzz/src/lib.rs"]
mod bodies;
mod budget;
mod core;
mod dump;
mod found;
mod known;
mod live;
mod payload;
mod program;
mod resp;
