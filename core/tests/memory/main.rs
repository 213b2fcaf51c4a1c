//! Memory: words, their pages, and what filters take.
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

/// Sizes of filters, touched pages, alignment, and errors when there is no memory.
mod filters;
/// Huge pages.
#[cfg(all(target_os = "linux", not(miri)))]
mod huge;
/// The memory of the bits.
mod words;
