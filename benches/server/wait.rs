//! Polling with the bench's deadline.

use std::time::Duration;

use bloomline_harness::poll;

use crate::result::Result;

/// The longest wait of the bench: a child that saves four gigabytes.
const DEADLINE: Duration = Duration::from_secs(300);

/// Calls `probe` repeatedly until it returns a value.
///
/// # Errors
/// That of `probe`, or that the deadline passed.
pub fn until<T>(what: &str, probe: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let found = poll(DEADLINE, probe)?;
    found.ok_or_else(|| format!("waited {} s for {what}", DEADLINE.as_secs()).into())
}
