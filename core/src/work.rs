//! How much work calls did: for tests, which measure work instead of time. Builds without debug
//! assertions do not count.

use std::cell::Cell;

thread_local! {
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// Counts steps. Cuckoo filters: slots that a search visited, tables that were tested for an entry,
/// or blocks of slots that a compaction read. RedisBloom's and valkey-bloom's Bloom filters: bits
/// that were tested.
#[inline(always)]
pub(crate) fn count(steps: u64) {
    if cfg!(debug_assertions) {
        STEPS.set(STEPS.get() + steps);
    }
}

/// The steps of this thread since the last call.
pub fn take() -> u64 {
    STEPS.take()
}
