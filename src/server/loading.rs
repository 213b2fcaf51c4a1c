//! The module's loading: the only time at which things can be registered.

use std::ffi::c_int;
use std::marker::PhantomData;

use redis_module::raw::{self, RedisModuleCtx};
use redis_module::{Context, RedisString};

use super::api::api;
use super::args::Args;

/// The closing of a key that was open for writing does not tell watchers that it changed: the commands do, if it did.
const NO_IMPLICIT_SIGNAL_MODIFIED: u32 = 1 << 1;

/// Slots may be migrated at once, key by key as the commands of an AOF rewrite. Known to Valkey from 9.0 on.
const HANDLE_ATOMIC_SLOT_MIGRATION: u32 = 1 << 5;

/// What the module promises: to survive a short read, to load beside a running data set, and the lines above.
const OPTIONS: u32 = raw::REDISMODULE_OPTIONS_HANDLE_IO_ERRORS
    | raw::REDISMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD
    | NO_IMPLICIT_SIGNAL_MODIFIED
    | HANDLE_ATOMIC_SLOT_MIGRATION;

/// The proof that the module is being loaded.
#[derive(Clone, Copy)]
pub struct Loading<'a> {
    ctx: *mut RedisModuleCtx,
    life: PhantomData<&'a Context>,
}

impl<'a> Loading<'a> {
    /// The loading that calls the module's init function with this context.
    ///
    /// Registering is all that can be done with it, and the server refuses that at any other time.
    pub fn new(context: &'a Context) -> Self {
        Self { ctx: context.ctx, life: PhantomData }
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

    /// Lends the load arguments.
    pub fn with_arguments<T>(self, words: &[RedisString], use_them: impl FnOnce(Args) -> T) -> T {
        let mut strings: Vec<_> = words.iter().map(|word| word.inner).collect();
        // SAFETY: the strings live as long as `words`.
        use_them(unsafe { Args::new(strings.as_mut_ptr(), strings.len() as c_int) })
    }
}
