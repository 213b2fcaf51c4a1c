//! What the commands of both families that add or delete items have in common.

use super::handler::Call;
use crate::policy::limits::{GROWTH, Limits};
use bloomline_core::Error;

/// The form of the reply.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// One answer or error, for the one item.
    Single,
    /// An array with one answer per item.
    Array,
}

/// Counts and logs an item that was not inserted because its filter cannot grow; see
/// [`Limits::refuse`]. A client's item for a full filter with a fixed size is none of these.
#[cold]
pub fn count_refused(call: Call, error: Error, limits: &Limits) {
    let is_fixed = matches!(error, Error::Full(_));
    if !is_fixed || limits.source.is_replicated_or_loaded() {
        limits.refuse(&GROWTH, call.key, error);
    }
}
