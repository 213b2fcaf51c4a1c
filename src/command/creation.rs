//! What the creation of a filter of either family needs: a seed, a time to live, and the reply to a
//! creation or bytes that were refused.

use std::ffi::CStr;

use super::error::{self, Failure};
use super::handler::Call;
use crate::data_type::handle::DataType;
use crate::data_type::replicate::chunk;
use crate::policy::counters::LOADS_REFUSED;
use crate::policy::limits::{CREATION, Limits, is_for_memory};
use crate::policy::{replicate, seed};
use crate::server::key::Key;
use crate::server::log;
use bloomline_core::Error;

/// The seed of a new filter: that of the option, or one that nobody can predict.
///
/// # Errors
///
/// The system has no random numbers.
pub fn seed(given: Option<u64>) -> Result<u64, Failure> {
    match given {
        Some(seed) => Ok(seed),
        None => seed::random().map_err(|error| error::no_seed(&error)),
    }
}

/// Lets a new key expire if there is a time, in milliseconds.
pub fn expire(key: &mut Key, ttl: Option<u64>) {
    if let Some(millis) = ttl {
        key.expire_after(millis);
    }
}

/// Replicates a new filter by its header, and when its key expires.
pub fn replicate_header<F: DataType>(call: Call, key: &Key, header: &[u8]) {
    chunk::<F>(call.context, call.key, 1, header);
    replicate_expiry(call, key);
}

/// Replicates when a new key expires.
pub fn replicate_expiry(call: Call, key: &Key) {
    if let Some(at) = key.expires_at() {
        replicate::expiry(call.context, call.key, at);
    }
}

/// Counts and logs bytes that `command` refused to load, and returns its error reply; for lack of
/// memory that of [`refused`].
pub fn load_refused(
    call: Call,
    command: &str,
    error: Error,
    limits: &Limits,
    reply: &'static CStr,
) -> Failure {
    if is_for_memory(error) {
        return refused(call, error, limits);
    }
    LOADS_REFUSED.add(1);
    log::REFUSALS.write(format_args!("{command} of '{}' refused: {error}", call.key.shown()));
    reply.into()
}

/// Counts and logs a creation that was refused for lack of memory, and returns the error reply; see
/// [`Limits::refuse`].
pub fn refused(call: Call, error: Error, limits: &Limits) -> Failure {
    if is_for_memory(error) {
        limits.refuse(&CREATION, call.key, error);
    }
    error::creation(error, limits)
}
