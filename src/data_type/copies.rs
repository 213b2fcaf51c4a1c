//! COPY in a fleet with RedisBloom: its type cannot be copied, so replicas get what makes the copy.
//!
//! The server replicates the COPY itself. A replica with RedisBloom answers an error, lacks the
//! copy, and makes another filter at the next addition. So, under `bf-redisbloom-replicas`, the
//! copy is also replicated by content: DEL, BF.LOADCHUNK with header and bits, PEXPIREAT. Servers
//! put that before the COPY, which then finds the key in place and does nothing. In a transaction
//! or a script, Redis 6.2 puts it behind.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use redis_module::raw::{REDISMODULE_NOTIFY_GENERIC, RedisModuleCtx, RedisModuleString};

use super::aof::each_load;
use super::handle::{Lookup, filter};
use crate::server::api::{api, optional_api};
use crate::server::args::Arg;
use crate::server::key::Key;
use crate::server::loading::Loading;
use crate::server::origin::Origin;
use crate::server::reply::Context;
use crate::server::setting::REDISBLOOM_REPLICAS;

/// The server's event of a key that a COPY has made.
const COPIED: &CStr = c"copy_to";

/// A context of no call, for [`follow_setting`]; null on servers that have none.
static CONTEXT: AtomicPtr<RedisModuleCtx> = AtomicPtr::new(ptr::null_mut());

/// Keeps what [`follow_setting`] needs.
pub fn register(loading: Loading) {
    // SAFETY: the module is being loaded; the context lives as long as the module does.
    unsafe {
        if let Some(detach) = optional_api!(RedisModule_GetDetachedThreadSafeContext) {
            CONTEXT.store(detach(loading.as_ptr()), Ordering::Release);
        }
    }
}

/// Has the server report copies once `bf-redisbloom-replicas` is on, and not before: it also
/// reports every addition, which takes some 100 ns.
pub fn follow_setting() {
    static IS_REPORTED: AtomicBool = AtomicBool::new(false);
    let ctx = CONTEXT.load(Ordering::Acquire);
    if ctx.is_null() || !REDISBLOOM_REPLICAS.is_on() || IS_REPORTED.swap(true, Ordering::AcqRel) {
        return;
    }
    // SAFETY: the context is valid; only the module it belongs to is read.
    unsafe {
        let class = REDISMODULE_NOTIFY_GENERIC as c_int;
        api!(RedisModule_SubscribeToKeyspaceEvents)(ctx, class, Some(see));
    }
}

/// What the server calls for each event of a key.
unsafe extern "C" fn see(
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
            replicate(context, Arg::borrowed(&key));
        }
    }
    0
}

/// Replicates what makes the filter of a key, if it holds one.
fn replicate(context: Context, name: Arg) {
    let key = Key::read(context, name);
    let Lookup::Found(filter) = filter(&key) else { return };
    context.replicate_deletion(name);
    each_load(filter, |iterator, data| context.replicate_load(name, iterator, data));
    if let Some(at) = key.expires_at() {
        context.replicate_expiry(name, at);
    }
}
