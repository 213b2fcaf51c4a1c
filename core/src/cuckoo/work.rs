//! How much work insertions and compactions did: for tests, which measure work instead of time.
//! Builds without debug assertions do not count.

use std::cell::Cell;

thread_local! {
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// Counts steps: slots that a search visited, tables that were tested for an entry, or blocks of
/// slots that a compaction read.
#[inline(always)]
pub(super) fn count(steps: u64) {
    if cfg!(debug_assertions) {
        STEPS.set(STEPS.get() + steps);
    }
}

/// The steps of this thread since the last call.
pub fn take() -> u64 {
    STEPS.take()
}
