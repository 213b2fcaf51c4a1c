//! Polling with a deadline. Nothing here waits for a fixed time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The deadline of the tests. Everything they wait for takes milliseconds on an idle machine, and
/// must come on a busy one: only a defect reaches the deadline.
pub const DEADLINE: Duration = Duration::from_secs(300);

/// The pause between two polls. It leaves the processor to the server that is waited for.
const PAUSE: Duration = Duration::from_millis(2);

/// Calls `probe` repeatedly until it returns `Some`; `None` if the deadline passes first.
///
/// # Errors
/// That of `probe`.
pub fn poll<T, E>(
    deadline: Duration,
    mut probe: impl FnMut() -> Result<Option<T>, E>,
) -> Result<Option<T>, E> {
    let end = Instant::now() + deadline;
    loop {
        if let Some(found) = probe()? {
            return Ok(Some(found));
        }
        if Instant::now() >= end {
            return Ok(None);
        }
        thread::sleep(PAUSE);
    }
}

/// Calls `probe` repeatedly until it returns `Some`; panics with `what` at the deadline.
pub fn until<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let Ok(found) = poll(DEADLINE, || Ok::<_, std::convert::Infallible>(probe()));
    found.unwrap_or_else(|| panic!("waited {} s for {what}", DEADLINE.as_secs()))
}

/// Sets the flag when it is dropped, so that other threads end even if the test panics.
pub struct SetOnDrop<'a>(pub &'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
