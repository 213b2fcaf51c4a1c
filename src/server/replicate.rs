//! What replicas, the append-only file, watchers and subscribers are told.

use std::ffi::{CStr, c_longlong};

use redis_module::raw::{self, RedisModuleString};

use super::api::api;
use super::args::{Arg, Args};
use super::reply::Context;

/// The items of a call that were new, so that little else is replicated.
///
/// As long as all were new, nothing is written down: the call itself can be repeated then.
pub struct NewItems<'a> {
    items: Args<'a>,
    /// How many are known.
    seen: usize,
    /// The new ones, once there was one that was not.
    listed: Option<Vec<*mut RedisModuleString>>,
    has_refused: bool,
}

impl<'a> NewItems<'a> {
    /// Nothing is known yet of these items.
    pub fn of(items: Args<'a>) -> Self {
        Self { items, seen: 0, listed: None, has_refused: false }
    }

    /// Whether the next item was new.
    #[inline]
    pub fn record(&mut self, is_new: bool) {
        if !is_new && self.listed.is_none() {
            self.listed = Some(self.items.strings().get(..self.seen).unwrap_or_default().to_vec());
        }
        if let (true, Some(listed)) = (is_new, &mut self.listed) {
            listed.extend(self.items.strings().get(self.seen));
        }
        self.seen += 1;
    }

    /// The next item was refused, which is no business of others: they would take it.
    #[cold]
    pub fn record_refused(&mut self) {
        self.record(false);
        self.has_refused = true;
    }

    /// Whether the call itself does for others what it did here, at little more length: at most a sixteenth of its items were not new.
    ///
    /// Those are not new elsewhere either, for the filters are equal. A list of the new ones takes the server 6 % of the call's
    /// time, whether anybody is to be told or not; the call as it came, nothing if not.
    pub fn are_nearly_all(&self) -> bool {
        let new = self.listed.as_ref().map_or(self.seen, Vec::len);
        !self.has_refused && (self.seen - new) * 16 <= self.seen
    }

    /// Whether no item was new.
    pub fn is_none(&self) -> bool {
        self.listed.as_ref().is_some_and(Vec::is_empty)
    }

    fn strings(&self) -> &[*mut RedisModuleString] {
        self.listed.as_deref().unwrap_or(self.items.strings())
    }
}

impl Context {
    /// Replicates the call as the client sent it.
    pub fn replicate_call(self) {
        // SAFETY: the context is valid; so in every function of this file.
        unsafe { api!(RedisModule_ReplicateVerbatim)(self.as_ptr()) };
    }

    /// Replicates the creation of a filter by its header, so that nothing depends on the settings of a replica.
    pub fn replicate_creation(self, key: Arg, header: &[u8]) {
        let first: c_longlong = 1;
        // SAFETY: the format takes a string, an integer, and a buffer with its length.
        unsafe {
            api!(RedisModule_Replicate)(
                self.as_ptr(),
                c"BF.LOADCHUNK".as_ptr(),
                c"slb".as_ptr(),
                key.string(),
                first,
                header.as_ptr(),
                header.len(),
            )
        };
    }

    /// Replicates the addition of those items that were new.
    pub fn replicate_items(self, key: Arg, new: &NewItems) {
        let items = new.strings();
        let command: &CStr = match items.len() {
            0 => return,
            1 => c"BF.ADD",
            _ => c"BF.MADD",
        };
        // SAFETY: the format takes a string, and an array of strings with its length.
        unsafe {
            api!(RedisModule_Replicate)(
                self.as_ptr(),
                command.as_ptr(),
                c"sv".as_ptr(),
                key.string(),
                items.as_ptr(),
                items.len(),
            )
        };
    }

    /// Tells watchers and caching clients that the key has changed, and subscribers how.
    pub fn signal_change(self, key: Arg, event: &CStr) {
        // SAFETY: context and key are valid, and the event ends with a zero byte.
        unsafe {
            api!(RedisModule_SignalModifiedKey)(self.as_ptr(), key.string());
            let class = raw::REDISMODULE_NOTIFY_GENERIC;
            api!(RedisModule_NotifyKeyspaceEvent)(self.as_ptr(), class, event.as_ptr(), key.string());
        }
    }
}
