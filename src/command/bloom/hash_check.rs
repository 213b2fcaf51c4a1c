//! BF._HASHCHECK: how the items of a filter are hashed, before its header in an append-only file.
//!
//! Only builds of RedisBloom with a seed for their hash write it.

use crate::command::error::Failure;
use crate::command::handler::{ArgCount, Call, Handler};
use crate::server::log;
use bloomline_core::host::redisbloom::hash;

/// BF._HASHCHECK key hash
///
/// `hash` is the version of the hash and its seed, two numbers of 8 bytes, little-endian. Both are 0
/// for the hash that Bloomline computes.
pub struct HashCheck;

impl Handler for HashCheck {
    const ARGS: ArgCount = 3..=3;

    fn run(call: Call) -> Result<(), Failure> {
        let hash = call.rest.bytes().next().unwrap_or_default();
        let Err(why) = hash::check_bytes(hash) else {
            call.context.simple(c"OK");
            return Ok(());
        };
        let key = call.key.shown();
        if call.source.is_replicated_or_loaded() {
            // The server would go on with the file, and the filter would miss its items.
            log::fatal(&format!("filter '{key}' of a primary or a file cannot be loaded: {why}"));
        }
        Err(Failure::Formatted(format!("ERR filter '{key}': {why}")))
    }
}
