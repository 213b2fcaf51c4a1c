//! Lines in the server's log.

use std::ffi::{CStr, CString};
use std::fmt;
use std::panic;
use std::ptr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use redis_module::raw;

/// Writes a line that an operator should see.
pub fn warning(message: &str) {
    write(c"warning", message);
}

/// Logs the reason and ends the server: it cannot hold what a primary or a file contains.
///
/// The process exits with status 1, as the server does when it cannot load its data. It does not
/// abort: a crash report would suggest a bug, and the crash handler needs memory that is not
/// available.
pub fn fatal(message: &str) -> ! {
    warning(message);
    std::process::exit(1)
}

/// Writes a line about a normal event.
pub fn notice(message: &str) {
    write(c"notice", message);
}

/// Lines about one kind of event that clients can cause: at most one line per second.
pub struct Limited {
    level: &'static CStr,
    last: Mutex<Option<Instant>>,
}

/// Refusals. The counters of INFO count all of them.
pub static REFUSALS: Limited = Limited::new(c"warning");
/// Calls that copy something large.
pub static LARGE: Limited = Limited::new(c"notice");
/// Filters whose time is not that of the clock.
pub static CLOCK: Limited = Limited::new(c"warning");

impl Limited {
    const fn new(level: &'static CStr) -> Self {
        Self { level, last: Mutex::new(None) }
    }

    /// Writes a line if a second has passed since the last one.
    pub fn write(&self, message: fmt::Arguments) {
        let mut last = self.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if last.is_none_or(|last| last.elapsed() >= Duration::from_secs(1)) {
            *last = Some(Instant::now());
            write(self.level, &message.to_string());
        }
    }
}

fn write(level: &CStr, message: &str) {
    let text = line(message);
    // SAFETY: the format takes one C string; the server allows a null context, and writes "module"
    // in its place.
    unsafe {
        if let Some(log) = raw::RedisModule_Log {
            log(ptr::null_mut(), level.as_ptr(), c"bf: %s".as_ptr(), text.as_ptr());
        }
    }
}

/// One line of text. A name from a client may contain a zero byte, and a line feed would forge a
/// line: control characters become blanks.
pub fn line(text: &str) -> CString {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    // Its zero bytes have been replaced.
    CString::new(clean).unwrap_or_default()
}

/// Makes panics write their file and line to the server's log before the process ends: a daemon's
/// standard error is lost.
pub fn panics() {
    panic::set_hook(Box::new(|info| warning(&format!("bug in bloomline, please report: {info}"))));
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn control_characters_become_blanks_in_a_line() {
        assert_eq!(line("a\0b\r\nc\u{7f}\u{85}d"), c"a b  c  d".to_owned());
    }
}
