//! Lines in the server's log.

use std::ffi::CString;
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

/// Ends the server with a line that says why, where it can't hold what a primary or a file has told
/// it to.
///
/// As the server itself ends when it can't load its data: a core dump with a crash report would
/// look for a fault in the program, and there is none. A crash handler also needs memory, of which
/// there is none either.
pub fn end(message: &str) -> ! {
    warning(message);
    std::process::exit(1)
}

/// Writes a line about a normal event.
pub fn notice(message: &str) {
    write(c"notice", message);
}

/// Writes a line about something that clients may provoke: at most one per second, the counters of
/// INFO have the rest.
pub fn refusal(message: fmt::Arguments) {
    static LAST: Mutex<Option<Instant>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if last.is_none_or(|last| last.elapsed() >= Duration::from_secs(1)) {
        *last = Some(Instant::now());
        warning(&message.to_string());
    }
}

fn write(level: &std::ffi::CStr, message: &str) {
    // What comes from outside may hold a zero byte, and a line feed would forge a line.
    let clean: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let Ok(text) = CString::new(clean) else { return };
    // SAFETY: the format takes one C string; the server allows a null context, and says "module"
    // then.
    unsafe {
        if let Some(log) = raw::RedisModule_Log {
            log(ptr::null_mut(), level.as_ptr(), c"bf: %s".as_ptr(), text.as_ptr());
        }
    }
}

/// Sends the file and line of a panic to the server's log before the process ends: standard error
/// is lost in a daemon.
pub fn panics() {
    panic::set_hook(Box::new(|info| warning(&format!("bug in bloomline, please report: {info}"))));
}
