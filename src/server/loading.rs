//! The module's loading: the only time at which things can be registered.

use std::ffi::c_int;
use std::marker::PhantomData;

use redis_module::raw::{self, RedisModuleCtx};

use super::api::api;

/// The closing of a key that was open for writing does not tell watchers that it changed: the
/// commands do, if it did.
const NO_IMPLICIT_SIGNAL_MODIFIED: u32 = 1 << 1;

/// Slots may be migrated at once, key by key as the commands of an AOF rewrite. Known to Valkey
/// from 9.0 on.
const HANDLE_ATOMIC_SLOT_MIGRATION: u32 = 1 << 5;

/// What the module promises: to survive a short read, to load beside a running data set, and the
/// lines above.
const OPTIONS: u32 = raw::REDISMODULE_OPTIONS_HANDLE_IO_ERRORS
    | raw::REDISMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD
    | NO_IMPLICIT_SIGNAL_MODIFIED
    | HANDLE_ATOMIC_SLOT_MIGRATION;

/// The proof that the module is being loaded.
#[derive(Clone, Copy)]
pub struct Loading<'a> {
    ctx: *mut RedisModuleCtx,
    life: PhantomData<&'a RedisModuleCtx>,
}

impl Loading<'_> {
    /// The loading for which the server calls the module with this context.
    ///
    /// # Safety
    ///
    /// The context must be valid as long as the result is used, and the module be loading.
    pub unsafe fn new(ctx: *mut RedisModuleCtx) -> Self {
        Self { ctx, life: PhantomData }
    }

    /// The server's own pointer.
    pub(crate) fn as_ptr(self) -> *mut RedisModuleCtx {
        self.ctx
    }

    /// Tells the server what the module promises.
    pub fn set_options(self) {
        // SAFETY: the module is being loaded.
        unsafe { api!(RedisModule_SetModuleOptions)(self.ctx, OPTIONS as c_int) };
    }
}
