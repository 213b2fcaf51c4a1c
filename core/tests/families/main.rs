//! What holds for the filters of both families: random lives, forged and random bytes, errors,
//! words.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test panics when it fails"
)]

/// Checks every allocation when it is freed.
#[cfg(feature = "audit")]
#[global_allocator]
static ALLOCATOR: bloomline_core::memory::ledger::Audited<std::alloc::System> =
    bloomline_core::memory::ledger::Audited(std::alloc::System);

/// Forged filters at the edges of what is valid.
mod edges;
/// The texts of errors.
mod errors;
/// The findings of the fuzz targets.
mod found;
/// The bodies of the fuzz targets.
mod fuzz;
/// Valid and invalid headers, field by field.
mod headers;
/// Random lives.
mod life;
/// Filters as the words that a host stores.
mod words;
