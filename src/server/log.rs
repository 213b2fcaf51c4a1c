//! Lines in the server's log.

use std::ffi::CString;
use std::panic;
use std::ptr;

use redis_module::raw;

/// Writes a line that an operator should see.
pub fn warning(message: &str) {
    write(c"warning", message);
}

/// Writes a line about a normal event.
pub fn notice(message: &str) {
    write(c"notice", message);
}

fn write(level: &std::ffi::CStr, message: &str) {
    // What comes from outside may hold a zero byte, and a line feed would forge a line.
    let clean: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let Ok(text) = CString::new(clean) else { return };
    // SAFETY: the format takes one C string; the server allows a null context, and says "module" then.
    unsafe {
        if let Some(log) = raw::RedisModule_Log {
            log(ptr::null_mut(), level.as_ptr(), c"bf: %s".as_ptr(), text.as_ptr());
        }
    }
}

/// Sends the file and line of a panic to the server's log before the process ends: standard error is lost in a daemon.
pub fn panics() {
    panic::set_hook(Box::new(|info| warning(&format!("bug in bloomline, please report: {info}"))));
}
