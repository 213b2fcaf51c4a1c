//! Waiting for something to become true, with a deadline and never for a fixed time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Everything these tests wait for takes milliseconds; a slow machine under load gets this long.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Asks `probe` again and again until it answers `Some`; panics, naming `what`, at the deadline.
pub fn until<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = probe() {
            return found;
        }
        assert!(Instant::now() < end, "waited in vain for {what}");
        // Leaves the processor to the server waited for; how long does not matter to the result.
        thread::sleep(Duration::from_millis(2));
    }
}

/// Tells other threads to end when it is dropped, even if the test panics.
pub struct SetOnDrop<'a>(pub &'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
