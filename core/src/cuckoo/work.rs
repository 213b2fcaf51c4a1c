//! How much work insertions and compactions did: for tests, which measure work instead of time.

#[cfg(feature = "internals")]
thread_local! {
    static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Counts steps: slots that a search visited, or tables that were tested for an entry.
#[inline(always)]
pub(super) fn count(_steps: u64) {
    #[cfg(feature = "internals")]
    STEPS.set(STEPS.get() + _steps);
}

/// The steps of this thread since the last call.
#[cfg(feature = "internals")]
pub fn take() -> u64 {
    STEPS.take()
}
