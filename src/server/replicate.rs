//! What replicas and the append-only file are told.

use std::ffi::{CStr, c_longlong};

use redis_module::raw::RedisModuleString;

use super::api::api;
use super::args::{Arg, Args};
use super::reply::Context;

/// The items of a call that were new, so that nothing else is replicated.
///
/// As long as all were new, nothing is written down: the call itself can be repeated then.
pub struct NewItems<'a> {
    items: Args<'a>,
    /// How many are known.
    seen: usize,
    /// The new ones, once there was one that was not.
    listed: Option<Vec<*mut RedisModuleString>>,
}

impl<'a> NewItems<'a> {
    /// Nothing is known yet of these items.
    pub fn of(items: Args<'a>) -> Self {
        Self { items, seen: 0, listed: None }
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

    /// Whether every item was new.
    pub fn is_all(&self) -> bool {
        self.listed.is_none()
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

    /// Tells watchers and caching clients that the key has changed.
    pub fn signal_change(self, key: Arg) {
        // SAFETY: context and key are valid.
        unsafe { api!(RedisModule_SignalModifiedKey)(self.as_ptr(), key.string()) };
    }
}
