//! The server's clock.

use super::api::api;

/// The time in milliseconds of Unix time; 0 before 1970.
pub fn now() -> u64 {
    // SAFETY: the function takes nothing.
    let now = unsafe { api!(RedisModule_Milliseconds)() };
    u64::try_from(now).unwrap_or(0)
}
