//! Waiting for something by asking again and again, never for a fixed time.

use std::thread;
use std::time::{Duration, Instant};

use crate::Result;

/// How long anything here may take: the longest is a child that saves four gigabytes.
const DEADLINE: Duration = Duration::from_secs(300);

/// Asks until there is an answer.
///
/// # Errors
/// That of `ask`, or that the deadline passed.
pub fn until<T>(what: &str, mut ask: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(answer) = ask()? {
            return Ok(answer);
        }
        if Instant::now() > deadline {
            return Err(format!("waited {} s for {what}", DEADLINE.as_secs()).into());
        }
        thread::sleep(Duration::from_millis(5));
    }
}
