//! Bloom filters compared with their reference models; their bytes, sizes and false-positive rates.
#![allow(
    clippy::approx_constant,
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

/// Filters, items and measured rates of all these tests.
#[macro_use]
mod filters;

/// The Bloomline layout.
mod bloomline {
    mod chosen_items;
    mod chunks;
    mod expansion;
    mod reference;
    mod sizing;
    mod small;
}
/// Compacted filters.
mod compact {
    mod bits;
    mod classic;
    mod fold;
    mod folded;
    mod growth;
}
/// The format of filters, byte for byte.
mod golden;
/// Merged filters.
mod merge {
    mod refusals;
    mod repeated;
    mod union;
}
/// False-positive rates and numbers of items, computed and measured.
mod rates {
    mod computed;
    mod estimates;
    mod redisbloom;
    mod spread;
}
/// RedisBloom's layout.
mod redisbloom {
    mod recorded;
    mod reference;
    mod sizing;
    mod strict;
}
/// What replicas must compute alike.
mod replicated;
/// valkey-bloom's layout.
mod valkey {
    mod limit;
    mod rate;
    mod recorded;
    mod sizing;
}
/// Windowed filters.
mod window;
/// How much work one call does.
mod work;
