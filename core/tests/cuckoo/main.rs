//! Cuckoo filters compared with their reference model and with recordings of RedisBloom.
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
static ALLOCATOR: bloomline_core::host::ledger::Audited<std::alloc::System> =
    bloomline_core::host::ledger::Audited(std::alloc::System);

mod limits;
mod programs;
mod recorded;

use bloomline_core::host::Demand;
use bloomline_core::host::cuckoo::{AnyCuckoo, CuckooOptions};

fn granted(_: Demand) -> bool {
    true
}

fn options(bucket_size: u8, max_iterations: u16, expansion: u16) -> CuckooOptions {
    CuckooOptions { bucket_size, max_iterations, expansion }
}

fn created(capacity: u64, options: CuckooOptions) -> AnyCuckoo {
    AnyCuckoo::redisbloom(capacity, options, &mut granted).expect("a filter")
}
