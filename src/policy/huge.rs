//! Huge pages behind large layers: when the thread that collapses their pages is started.

use bloomline_core::host::Demand;

/// Starts the thread before the first layer that is large enough, so a server without one has no
/// thread, and a load of the module that fails leaves none behind.
///
/// Huge pages change only times. If there is no memory for a thread, the next such layer tries
/// again.
#[cfg(target_os = "linux")]
pub fn prepare(demand: Demand) {
    use std::sync::atomic::{AtomicBool, Ordering};

    use bloomline_core::host::huge::{Collapser, FROM};

    use crate::server::background;

    static IS_STARTED: AtomicBool = AtomicBool::new(false);
    if demand.largest_layer >= FROM as u64 && !IS_STARTED.load(Ordering::Relaxed) {
        let mut collapser = Collapser::default();
        let is_started = background::repeat("bf-huge", move || collapser.pass());
        IS_STARTED.store(is_started, Ordering::Relaxed);
    }
}

/// There are no huge pages on other systems.
#[cfg(not(target_os = "linux"))]
pub fn prepare(_demand: Demand) {}
