//! The server's version, and what depends on it.

use std::sync::OnceLock;

use super::api::optional_api;
use super::server_info::ServerInfo;

/// The server's version as 0x00MMmmpp; 0 if the server does not report one. Valkey reports the
/// version of Redis that it is compatible with, 7.2.4.
fn number() -> u32 {
    static NUMBER: OnceLock<u32> = OnceLock::new();
    *NUMBER.get_or_init(|| {
        // SAFETY: the pointer is written once, while the module is loaded; the function takes
        // nothing.
        unsafe { optional_api!(RedisModule_GetServerVersion).map_or(0, |version| version() as u32) }
    })
}

/// True for Redis before 7.0.
pub fn is_before_7() -> bool {
    number() < 0x0007_0000
}

/// The first number of Valkey's own version; none on Redis.
fn valkey() -> Option<u32> {
    static MAJOR: OnceLock<Option<u32>> = OnceLock::new();
    *MAJOR.get_or_init(|| {
        let info = ServerInfo::of(c"server")?;
        info.text(c"valkey_version")?.to_str().ok()?.split('.').next()?.parse().ok()
    })
}

/// True if settings of modules may have names without a prefix: on Redis from 8.0 on.
pub fn has_settings_without_prefix() -> bool {
    number() >= 0x0008_0000 && valkey().is_none()
}

/// The longest string, in bytes, that the server can write to an RDB file and read again.
///
/// Before 7.0 the compression takes a length of 32 bits, which wraps: the file is unreadable.
pub fn longest_string() -> u64 {
    if is_before_7() { u64::from(u32::MAX) } else { u64::MAX }
}
