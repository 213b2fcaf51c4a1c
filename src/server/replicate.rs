//! What replicas, the append-only file, watchers and subscribers are told.

use std::borrow::Cow;
use std::ffi::{CStr, c_longlong};
use std::mem;

use redis_module::raw::{self, RedisModuleString};

use super::api::api;
use super::args::{Arg, Args};
use super::reply::Context;

/// Items a word of bits stands for.
const WORD_BITS: usize = u64::BITS as usize;

/// The items of a call that were new, so that little else is replicated.
///
/// A bit an item is kept: most calls need no list of them. A call of few items allocates nothing
/// for it.
pub struct NewItems<'a> {
    items: Args<'a>,
    /// How many are known.
    seen: usize,
    /// Which of them were new, the first one in the lowest bit: words that are full, and the one
    /// at hand.
    full_words: Vec<u64>,
    word: u64,
    has_refused: bool,
}

impl<'a> NewItems<'a> {
    /// Nothing is known yet of these items.
    pub fn of(items: Args<'a>) -> Self {
        Self { items, seen: 0, full_words: Vec::new(), word: 0, has_refused: false }
    }

    /// Whether the next item was new.
    #[inline(always)]
    pub fn record(&mut self, is_new: bool) {
        self.word |= u64::from(is_new) << (self.seen % WORD_BITS);
        self.seen += 1;
        if self.seen.is_multiple_of(WORD_BITS) {
            self.end_word();
        }
    }

    /// Not inlined, so that [`NewItems::record`] is small enough to be.
    #[inline(never)]
    fn end_word(&mut self) {
        self.full_words.push(mem::take(&mut self.word));
    }

    /// The next item was refused, which is no business of others: they would take it.
    #[cold]
    pub fn record_refused(&mut self) {
        self.record(false);
        self.has_refused = true;
    }

    /// How many items are known.
    pub fn seen(&self) -> usize {
        self.seen
    }

    /// Whether the call itself does for others what it did here, at little more length: at most a
    /// sixteenth of its items were not new.
    ///
    /// Those are not new elsewhere either, for the filters are equal. A list of the new ones takes
    /// the server 6 % of the call's time, whether anybody is to be told or not; the call as it
    /// came, nothing if not.
    pub fn are_nearly_all(&self) -> bool {
        !self.has_refused && (self.seen - self.len()) * 16 <= self.seen
    }

    /// Whether no item was new.
    pub fn is_none(&self) -> bool {
        self.len() == 0
    }

    /// How many were new.
    fn len(&self) -> usize {
        self.words().map(|word| word.count_ones() as usize).sum()
    }

    /// The bits of all items, those that are not known yet 0.
    fn words(&self) -> impl Iterator<Item = u64> {
        self.full_words.iter().copied().chain([self.word])
    }

    /// The new ones: a list is made only if some were not.
    fn strings(&self) -> Cow<'a, [*mut RedisModuleString]> {
        if self.len() == self.items.len() {
            return Cow::Borrowed(self.items.strings());
        }
        let mut new = Vec::with_capacity(self.len());
        for (word, strings) in self.words().zip(self.items.strings().chunks(WORD_BITS)) {
            let is_new = |index: usize| word >> index & 1 == 1;
            new.extend(
                strings
                    .iter()
                    .enumerate()
                    .filter(|&(index, _)| is_new(index))
                    .map(|(_, &string)| string),
            );
        }
        Cow::Owned(new)
    }
}

impl Context {
    /// Replicates the call as the client sent it.
    pub fn replicate_call(self) {
        // SAFETY: the context is valid; so in every function of this file.
        unsafe { api!(RedisModule_ReplicateVerbatim)(self.as_ptr()) };
    }

    /// Replicates BF.LOADCHUNK: with iterator 1 the header of a filter, so that nothing depends on
    /// the settings of a replica, then its bits.
    pub fn replicate_load(self, key: Arg, iterator: u64, data: &[u8]) {
        // SAFETY: the format takes a string, an integer, and a buffer with its length.
        unsafe {
            api!(RedisModule_Replicate)(
                self.as_ptr(),
                c"BF.LOADCHUNK".as_ptr(),
                c"slb".as_ptr(),
                key.string(),
                iterator as c_longlong,
                data.as_ptr(),
                data.len(),
            )
        };
    }

    /// Replicates the deletion of a key.
    pub fn replicate_deletion(self, key: Arg) {
        // SAFETY: the format takes a string.
        unsafe {
            api!(RedisModule_Replicate)(self.as_ptr(), c"DEL".as_ptr(), c"s".as_ptr(), key.string())
        };
    }

    /// Replicates when a key expires, in milliseconds of Unix time.
    pub fn replicate_expiry(self, key: Arg, at: i64) {
        // SAFETY: the format takes a string and an integer.
        unsafe {
            api!(RedisModule_Replicate)(
                self.as_ptr(),
                c"PEXPIREAT".as_ptr(),
                c"sl".as_ptr(),
                key.string(),
                at as c_longlong,
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
            api!(RedisModule_NotifyKeyspaceEvent)(
                self.as_ptr(),
                class,
                event.as_ptr(),
                key.string(),
            );
        }
    }
}
