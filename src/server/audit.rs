//! What a call changed, beside what it replicated and signalled: in the builds with a debug
//! allocator, a call that says anything else than what happened ends the process.
//!
//! In all other builds these functions are empty.

/// What happened during a call.
#[derive(Clone, Copy, Default)]
struct CallRecord {
    /// A value of a key was changed or stored.
    is_changed: bool,
    /// Something was replicated, and so written to the append-only file.
    is_replicated: bool,
    /// Watchers and caching clients were informed.
    is_signalled: bool,
}

#[cfg(feature = "audit")]
mod record {
    use std::cell::Cell;

    use super::CallRecord;

    thread_local! {
        static CALL: Cell<CallRecord> = const { Cell::new(NOTHING) };
    }

    const NOTHING: CallRecord =
        CallRecord { is_changed: false, is_replicated: false, is_signalled: false };

    /// Enters something into the record of the call.
    pub fn enter(change: impl FnOnce(&mut CallRecord)) {
        let mut call = CALL.get();
        change(&mut call);
        CALL.set(call);
    }

    /// The record of the call, which begins anew.
    pub fn take() -> CallRecord {
        CALL.replace(NOTHING)
    }
}

#[cfg(not(feature = "audit"))]
mod record {
    use super::CallRecord;

    #[inline(always)]
    pub fn enter(_change: impl FnOnce(&mut CallRecord)) {}

    #[inline(always)]
    pub fn take() -> CallRecord {
        CallRecord::default()
    }
}

#[inline(always)]
pub fn begin() {
    let _ = record::take();
}

/// A value was changed or stored.
#[inline(always)]
pub fn changed() {
    record::enter(|call| call.is_changed = true);
}

#[inline(always)]
pub fn replicated() {
    record::enter(|call| call.is_replicated = true);
}

/// Watchers and caching clients were informed.
#[inline(always)]
pub fn signalled() {
    record::enter(|call| call.is_signalled = true);
}

/// A call ends. Ends the process if it did not replicate and signal what it changed, or replicated
/// or signalled something although nothing changed.
#[inline(always)]
pub fn end(command: &[u8]) {
    let CallRecord { is_changed, is_replicated, is_signalled } = record::take();
    if (is_replicated, is_signalled) != (is_changed, is_changed) {
        wrong(&format!(
            "{}: changed {is_changed}, replicated {is_replicated}, signalled {is_signalled}",
            String::from_utf8_lossy(command)
        ));
    }
}

/// Ends the process with a line in the log.
#[cold]
pub fn wrong(what: &str) -> ! {
    super::log::warning(what);
    std::process::abort()
}
