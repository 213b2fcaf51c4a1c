//! What the commands of both families that add or delete items have in common.

use super::handler::Call;
use crate::policy::limits::{GROWTH, Limits};
use bloomline_core::{Error, Layout};

/// The form of the reply.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// One answer or error, for the one item.
    Single,
    /// An array with one answer per item.
    Array,
}

/// Counts and logs an item that was not inserted because its filter cannot grow; see
/// [`Limits::refuse`].
///
/// An item of a client for a full filter with a fixed size is none of these. Neither is one that is
/// replicated or loaded, if the origin has refused it too: RedisBloom and valkey-bloom replicate a
/// call also if they refuse some of its items.
#[cold]
pub fn count_refused(call: Call, layout: Layout, error: Error, limits: &Limits) {
    let is_from_client = !limits.source.is_replicated_or_loaded();
    let is_normal = match error {
        Error::Full(_) => is_from_client || layout != Layout::Bloomline,
        Error::ErrorRateTooSmall(_) => !is_from_client && layout == Layout::ValkeyBloom,
        _ => false,
    };
    if !is_normal {
        limits.refuse(&GROWTH, call.key, error);
    }
}
