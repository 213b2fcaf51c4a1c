//! COPY with RedisBloom replicas: their type cannot be copied, so they get the copy's content.
//!
//! The server replicates the COPY itself. A replica with RedisBloom answers it with an error, lacks
//! the copy, and creates another filter at the next addition. So with `bf-redisbloom-replicas` the
//! content is replicated as well: DEL, BF.LOADCHUNK with header and bits, PEXPIREAT. Servers put
//! these commands before the COPY, which then finds the key and does nothing. In a transaction or a
//! script, Redis 6.2 puts them after the COPY.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use redis_module::raw::{REDISMODULE_NOTIFY_GENERIC, RedisModuleCtx, RedisModuleString};

use super::handle::{Lookup, filter};
use crate::policy::origin::Origin;
use crate::policy::replicate;
use crate::policy::setting::REDISBLOOM_REPLICAS;
use crate::server::api::{api, optional_api};
use crate::server::args::Arg;
use crate::server::context::Context;
use crate::server::key::Key;
use crate::server::loading::Loading;

/// The server's event for a key that a COPY has created.
const COPIED: &CStr = c"copy_to";

/// A context outside of calls, for [`follow_setting`]; null on servers that have none.
static CONTEXT: AtomicPtr<RedisModuleCtx> = AtomicPtr::new(ptr::null_mut());

/// Creates the context that [`follow_setting`] needs.
pub fn register(loading: Loading) {
    // SAFETY: the module is being loaded; the context lives as long as the module does.
    unsafe {
        if let Some(detach) = optional_api!(RedisModule_GetDetachedThreadSafeContext) {
            CONTEXT.store(detach(loading.as_ptr()), Ordering::Release);
        }
    }
}

/// Subscribes to the events of keys as soon as `bf-redisbloom-replicas` is on, and not before: each
/// addition is such an event too, which takes some 100 ns.
pub fn follow_setting() {
    static IS_SUBSCRIBED: AtomicBool = AtomicBool::new(false);
    let ctx = CONTEXT.load(Ordering::Acquire);
    if ctx.is_null() || !REDISBLOOM_REPLICAS.is_on() || IS_SUBSCRIBED.swap(true, Ordering::AcqRel) {
        return;
    }
    // SAFETY: the context is valid; the server uses only the module that it belongs to.
    unsafe {
        let class = REDISMODULE_NOTIFY_GENERIC as c_int;
        api!(RedisModule_SubscribeToKeyspaceEvents)(ctx, class, Some(on_event));
    }
}

/// What the server calls for each event of a key.
unsafe extern "C" fn on_event(
    ctx: *mut RedisModuleCtx,
    _class: c_int,
    event: *const c_char,
    key: *mut RedisModuleString,
) -> c_int {
    // SAFETY: the server passes a valid context, an event that ends with a zero byte, and the key's
    // name, for as long as the function runs.
    unsafe {
        if CStr::from_ptr(event) == COPIED
            && REDISBLOOM_REPLICAS.is_on()
            && Origin::outside_calls() == Origin::Client
            && let Some(context) = Context::new(ctx)
        {
            replicate_content(context, Arg::borrowed(&key));
        }
    }
    0
}

/// Replicates the content of a key if it holds a filter.
fn replicate_content(context: Context, name: Arg) {
    let key = Key::read(context, name);
    if let Lookup::Found(filter) = filter(&key) {
        replicate::content(context, name, filter, key.expires_at());
    }
}
