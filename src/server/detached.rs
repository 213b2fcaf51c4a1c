//! A context for callbacks to which the server passes none.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use redis_module::raw::{RedisModuleCtx, Status};

use super::api::api;
use super::context::Context;
use super::loading::Loading;

/// The context; null until [`register`] has created it.
static CONTEXT: AtomicPtr<RedisModuleCtx> = AtomicPtr::new(ptr::null_mut());

/// Creates the context, which lives as long as the module does.
pub fn register(loading: Loading) {
    // SAFETY: the module is being loaded.
    let ctx = unsafe { api!(RedisModule_GetDetachedThreadSafeContext)(loading.as_ptr()) };
    CONTEXT.store(ctx, Ordering::Release);
}

/// The context; none before [`register`]. Only for callbacks that the server calls while it executes
/// a command.
pub fn context() -> Option<Context> {
    // SAFETY: null, or a context that lives as long as the module does.
    unsafe { Context::new(CONTEXT.load(Ordering::Acquire)) }
}

/// The same in a database, up to the next call of this function; none if there is no such database.
pub fn in_database(database: c_int) -> Option<Context> {
    let context = context()?;
    // SAFETY: the context is valid.
    let status = unsafe { api!(RedisModule_SelectDb)(context.as_ptr(), database) };
    (status == Status::Ok as c_int).then_some(context)
}
