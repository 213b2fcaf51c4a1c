//! Random input for the core and for a module inside real servers.
//!
//! ```text
//! decode, model   the bodies of the targets in fuzz/, over their seeds and over random bytes
//! resp            command lines, valid and damaged, in a row
//! dump            DUMP payloads with damaged values, checksum made right again, restored and used
//! ```
//!
//! By default the same few cases in every run. `FUZZ_SECONDS=600` runs others for so long, and says
//! with which `FUZZ_SEED` they begin; a failure names the one that repeats it with `FUZZ_CASES=1`.
#![allow(
    clippy::approx_constant,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
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
