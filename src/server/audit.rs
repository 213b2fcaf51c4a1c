//! What a call changed, beside what it replicated and signalled: in the builds with a debug
//! allocator, a call that says anything else than what happened ends the process.
//!
//! In all other builds these functions are empty.

/// What happened during a call.
#[derive(Clone, Copy, Default)]
struct Call {
    /// A value of a key was changed or stored.
    is_changed: bool,
    /// Something was replicated, and so written to the append-only file.
    is_replicated: bool,
    /// Watchers and caching clients were informed.
    is_signalled: bool,
}

#[cfg(feature = "audit")]
mod ledger {
    use std::cell::Cell;

    use super::Call;

    thread_local! {
        static CALL: Cell<Call> = const { Cell::new(NOTHING) };
    }

    const NOTHING: Call = Call { is_changed: false, is_replicated: false, is_signalled: false };

    /// Enters something into the record of the call.
    pub fn enter(change: impl FnOnce(&mut Call)) {
        let mut call = CALL.get();
        change(&mut call);
        CALL.set(call);
    }

    /// The record of the call, which begins anew.
    pub fn take() -> Call {
        CALL.replace(NOTHING)
    }
}

#[cfg(not(feature = "audit"))]
mod ledger {
    use super::Call;

    #[inline(always)]
    pub fn enter(_change: impl FnOnce(&mut Call)) {}

    #[inline(always)]
    pub fn take() -> Call {
        Call::default()
    }
}

/// A call begins.
#[inline(always)]
pub fn begin() {
    let _ = ledger::take();
}

/// A value was changed or stored.
#[inline(always)]
pub fn changed() {
    ledger::enter(|call| call.is_changed = true);
}

/// Something was replicated.
#[inline(always)]
pub fn replicated() {
    ledger::enter(|call| call.is_replicated = true);
}

/// Watchers and caching clients were informed.
#[inline(always)]
pub fn signalled() {
    ledger::enter(|call| call.is_signalled = true);
}

/// A call ends. Ends the process if it did not replicate and signal what it changed, or replicated
/// or signalled something although nothing changed.
#[inline(always)]
pub fn end(command: &[u8]) {
    let Call { is_changed, is_replicated, is_signalled } = ledger::take();
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
