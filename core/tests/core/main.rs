//! The filters beside their reference models, their bytes, their sizes and their rates.
#![allow(
    clippy::approx_constant,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

/// Checks every block of memory as it comes back.
#[cfg(feature = "audit")]
#[global_allocator]
static ALLOCATOR: bloomline_core::memory::ledger::Audited<std::alloc::System> =
    bloomline_core::memory::ledger::Audited(std::alloc::System);

/// The Bloomline layout.
mod bloomline {
    mod chosen_items;
    mod codec;
    mod expansion;
    mod golden;
    mod reference;
    mod sizing;
}
mod fuzz;
/// False-positive rates, computed and measured.
mod rates {
    mod computed;
    mod redisbloom;
    mod small;
}
/// RedisBloom's layout.
mod redisbloom {
    mod header;
    mod recorded;
    mod reference;
    mod sizing;
}
