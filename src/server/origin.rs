//! Where a change of the data set comes from, and so whether limits bind it.

use std::ptr;

use redis_module::raw::{
    REDISMODULE_CTX_FLAGS_ASYNC_LOADING, REDISMODULE_CTX_FLAGS_LOADING,
    REDISMODULE_CTX_FLAGS_REPLICATED, REDISMODULE_CTX_FLAGS_SLAVE, RedisModuleCtx,
};

use super::api::api;
use super::machine;
use super::reply::Context;
use super::server_info::ServerInfo;

/// Where a change comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A client, whom limits bind.
    Client,
    /// The replication stream of a primary.
    Primary,
    /// A file that is loaded, or the data set of a primary.
    Loading,
}

impl Origin {
    /// True if limits do not apply, since the change was made elsewhere already: who left it out
    /// would answer wrongly from then on.
    pub fn is_obeyed(self) -> bool {
        self != Self::Client
    }

    /// Where a value comes from that the server hands over without a call: by COPY, RESTORE, or out
    /// of a file.
    ///
    /// On a writable replica the commands of its clients count as the primary's.
    pub fn outside_calls() -> Self {
        // SAFETY: the server allows a null context, and answers with the flags that need none.
        let flags = unsafe { flags(ptr::null_mut()) };
        match flags {
            _ if flags & REDISMODULE_CTX_FLAGS_LOADING != 0 => Self::Loading,
            _ if flags & REDISMODULE_CTX_FLAGS_SLAVE != 0 => Self::Primary,
            _ => Self::Client,
        }
    }

    /// True if the process must end when there is no memory for a change of so many bytes.
    ///
    /// Going on without it would be silent: the next addition makes another filter under that name.
    /// On a writable replica the change may be a client's, which cannot end the process by asking
    /// for more than the machine has.
    pub fn ends_without_memory(self, bytes: u64) -> bool {
        let is_writable = || {
            let info = ServerInfo::of(c"replication");
            info.is_some_and(|info| info.number(c"slave_read_only") == Some(0))
        };
        match self {
            Self::Client => false,
            Self::Primary => bytes <= machine::bytes() || !is_writable(),
            Self::Loading => true,
        }
    }
}

impl Context {
    /// Where the call comes from.
    pub fn origin(self) -> Origin {
        let flags = self.flags();
        // While a data set is loaded beside the old one, calls are those of clients.
        let is_loading = flags & REDISMODULE_CTX_FLAGS_LOADING != 0
            && flags & REDISMODULE_CTX_FLAGS_ASYNC_LOADING == 0;
        match flags {
            _ if flags & REDISMODULE_CTX_FLAGS_REPLICATED != 0 => Origin::Primary,
            _ if is_loading => Origin::Loading,
            _ if self.is_in_repeated_script() => Origin::Primary,
            _ => Origin::Client,
        }
    }

    /// True if limits do not bind the call. See [`Origin::is_obeyed`].
    pub fn is_obeyed(self) -> bool {
        self.origin().is_obeyed()
    }

    /// What the server knows of the call, `REDISMODULE_CTX_FLAGS_…`.
    pub(super) fn flags(self) -> u32 {
        // SAFETY: the context is valid.
        unsafe { flags(self.as_ptr()) }
    }
}

/// # Safety
///
/// The context must be null or valid.
unsafe fn flags(ctx: *mut RedisModuleCtx) -> u32 {
    // SAFETY: promised by the caller.
    unsafe { api!(RedisModule_GetContextFlags)(ctx) as u32 }
}
