//! What the commands of both families that add or delete items have in common.

use super::error::{Failure, NO_MEMORY};
use super::handler::Call;
use super::packed::Packed;
use crate::policy::limits::{GROWTH, Limits};
use crate::policy::replicate::NewItems;
use crate::server::args::{ArgList, Args};
use crate::server::log;
use bloomline_core::{Error, Layout};

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

/// What a call that changes items needs beside the filter. It is requested before anything is
/// changed, so that a change is never without the memory to replicate it.
pub struct ReplicationMemory<L> {
    /// Room for a bit per item.
    pub new: NewItems,
    /// Room for a list of those items that were written, if they are not all.
    pub list: L,
}

impl<'a> ReplicationMemory<ArgList<'a>> {
    /// The room for items that are arguments.
    #[inline]
    pub fn to(call: Call, items: Args<'a>) -> Result<Self, Failure> {
        // One item is all, or none.
        let list = ArgList::with_room(items.len().saturating_sub(1));
        Self::of(call, items.len(), list)
    }
}

impl ReplicationMemory<Vec<u8>> {
    pub fn to_packed(call: Call, items: Packed) -> Result<Self, Failure> {
        let mut list = Vec::new();
        let has_room = list.try_reserve_exact(items.most_bytes()).is_ok();
        Self::of(call, items.len(), has_room.then_some(list))
    }
}

impl<L> ReplicationMemory<L> {
    #[inline]
    fn of(call: Call, items: usize, list: Option<L>) -> Result<Self, Failure> {
        let (Some(new), Some(list)) = (NewItems::to(items), list) else {
            return Err(no_memory(call));
        };
        Ok(Self { new, list })
    }
}

/// The error reply for a call without the memory that it needs beside the filter.
///
/// Ends the process if the call is replicated or loaded from a file: later calls depend on it.
#[cold]
pub fn no_memory(call: Call) -> Failure {
    if call.source.is_replicated_or_loaded() {
        log::fatal(&format!(
            "filter '{}' was changed by a primary or a file, but there is no memory for the items \
             of the call",
            call.key.shown()
        ));
    }
    NO_MEMORY.into()
}
