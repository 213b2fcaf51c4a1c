//! Lua scripts that a server replicates by their text: every replica runs them once more.
//!
//! Redis before 7.0 does so with `lua-replicate-commands no`, and writes them to its append-only
//! file. What a module replicates in such a script is dropped, the header of a new filter included,
//! so the filter must follow from the call alone.

use redis_module::raw::{
    REDISMODULE_CTX_FLAGS_LOADING, REDISMODULE_CTX_FLAGS_LUA, REDISMODULE_CTX_FLAGS_SLAVE,
};
use xxhash_rust::xxh3::xxh3_64;

use super::api::{api, optional_api};
use super::reply::Context;
use super::version;

impl Context {
    /// True for a script that this server only repeats, for a primary or out of a file.
    ///
    /// The server does not mark the calls of a script as replicated. On a replica that clients may
    /// write to, their scripts are taken for the primary's.
    pub fn is_in_repeated_script(self) -> bool {
        let repeats = REDISMODULE_CTX_FLAGS_SLAVE | REDISMODULE_CTX_FLAGS_LOADING;
        self.is_in_old_script() && self.flags() & repeats != 0
    }

    /// True for a script on a server that may replicate scripts by their text.
    pub fn is_in_old_script(self) -> bool {
        version::is_before_7() && self.flags() & REDISMODULE_CTX_FLAGS_LUA != 0
    }

    /// The seed of a filter that a script creates, if other servers or a file repeat the script:
    /// XXH3 of the key's name, which anybody can compute.
    pub fn repeatable_seed(self, key: &[u8]) -> Option<u64> {
        let is_repeatable =
            self.is_in_old_script() && (self.is_in_repeated_script() || self.replicates_text());
        is_repeatable.then(|| xxh3_64(key))
    }

    /// True where `lua-replicate-commands` is `no`.
    fn replicates_text(self) -> bool {
        // SAFETY: the functions are pointers that are written once, while the module is loaded; the
        // context is valid, the format takes two C strings, and the reply is freed once.
        unsafe {
            let (Some(element), Some(text), Some(free)) = (
                optional_api!(RedisModule_CallReplyArrayElement),
                optional_api!(RedisModule_CallReplyStringPtr),
                optional_api!(RedisModule_FreeCallReply),
            ) else {
                return false;
            };
            let (name, call) = (c"lua-replicate-commands", api!(RedisModule_Call));
            let reply = call(
                self.as_ptr(),
                c"CONFIG".as_ptr(),
                c"cc".as_ptr(),
                c"GET".as_ptr(),
                name.as_ptr(),
            );
            if reply.is_null() {
                return false;
            }
            let mut len = 0;
            let value = element(reply, 1);
            let start = if value.is_null() { std::ptr::null() } else { text(value, &mut len) };
            let is_no =
                !start.is_null() && std::slice::from_raw_parts(start.cast::<u8>(), len) == b"no";
            free(reply);
            is_no
        }
    }
}
