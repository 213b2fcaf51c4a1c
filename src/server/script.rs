//! Lua scripts that a server may replicate by their text: every replica runs them once more.
//!
//! Redis before 7.0 does so with `lua-replicate-commands no`. What a module replicates in such a
//! script is dropped, the header of a new filter included, so the filter must follow from the call
//! alone. A module is not told the setting, so on these servers every script is taken for one.

use std::ffi::CStr;

use redis_module::raw::{REDISMODULE_CTX_FLAGS_LUA, REDISMODULE_CTX_FLAGS_SLAVE};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::api::{api, optional_api};
use super::reply::Context;

impl Context {
    /// Whether a script makes this call on a server that may replicate scripts by their text.
    pub fn is_in_repeatable_script(self) -> bool {
        self.is_in_old_script(REDISMODULE_CTX_FLAGS_LUA)
    }

    /// Whether the script is such a one on a replica, where only its primary's scripts write.
    ///
    /// The server does not mark the calls of a script as replicated. On a replica that clients may
    /// write to, their scripts are taken for the primary's.
    pub fn is_in_repeated_script(self) -> bool {
        self.is_in_old_script(REDISMODULE_CTX_FLAGS_LUA | REDISMODULE_CTX_FLAGS_SLAVE)
    }

    /// A seed that a primary and its replicas derive alike, unknown to whoever may not read INFO.
    ///
    /// XXH3 of the key's name, seeded with that of the replication ID. A primary that starts again
    /// has another ID, and so its append-only file gives the filter another seed.
    pub fn shared_seed(self, key: &[u8]) -> u64 {
        // SAFETY: the context is valid, the section and the field end with a zero byte, the answer
        // is freed once, and the ID is read before.
        unsafe {
            let info = api!(RedisModule_GetServerInfo)(self.as_ptr(), c"replication".as_ptr());
            if info.is_null() {
                return xxh3_64_with_seed(key, 0);
            }
            let id = api!(RedisModule_ServerInfoGetFieldC)(info, c"master_replid".as_ptr());
            let id = if id.is_null() { &[] } else { CStr::from_ptr(id).to_bytes() };
            let seed = xxh3_64_with_seed(key, xxh3_64_with_seed(id, 0));
            api!(RedisModule_FreeServerInfo)(self.as_ptr(), info);
            seed
        }
    }

    /// Whether all these flags are set, on a server before 7.0: it has no booleans for modules.
    fn is_in_old_script(self, wanted: u32) -> bool {
        // SAFETY: the pointer is written once, while the module is loaded; the context is valid.
        unsafe {
            let is_old = optional_api!(RedisModule_ReplyWithBool).is_none();
            is_old && api!(RedisModule_GetContextFlags)(self.as_ptr()) as u32 & wanted == wanted
        }
    }
}
