//! The loading of the module: commands, types and settings can be registered only then.

use std::ffi::c_int;
use std::marker::PhantomData;

use redis_module::raw::{self, RedisModuleCtx};

use super::api::api;

/// Closing a key that was open for writing does not mark it as changed: the commands do that if
/// they changed it.
const NO_IMPLICIT_SIGNAL_MODIFIED: u32 = 1 << 1;

/// Slots may be migrated atomically, each key as the commands of an AOF rewrite. Valkey knows the
/// flag from 9.0 on.
const HANDLE_ATOMIC_SLOT_MIGRATION: u32 = 1 << 5;

/// What the module supports: a read that ends too early, loading beside a data set that serves
/// clients, and the two above.
const OPTIONS: u32 = raw::REDISMODULE_OPTIONS_HANDLE_IO_ERRORS
    | raw::REDISMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD
    | NO_IMPLICIT_SIGNAL_MODIFIED
    | HANDLE_ATOMIC_SLOT_MIGRATION;

/// Evidence that the module is being loaded.
#[derive(Clone, Copy)]
pub struct Loading<'a> {
    ctx: *mut RedisModuleCtx,
    life: PhantomData<&'a RedisModuleCtx>,
}

impl Loading<'_> {
    /// The loading for which the server passed this context.
    ///
    /// # Safety
    ///
    /// While the result is used, the context must be valid and the module must be loading.
    pub unsafe fn new(ctx: *mut RedisModuleCtx) -> Self {
        Self { ctx, life: PhantomData }
    }

    pub(crate) fn as_ptr(self) -> *mut RedisModuleCtx {
        self.ctx
    }

    /// Passes the module's options to the server.
    pub fn set_options(self) {
        // SAFETY: the module is being loaded.
        unsafe { api!(RedisModule_SetModuleOptions)(self.ctx, OPTIONS as c_int) };
    }
}
