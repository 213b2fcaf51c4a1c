//! COPY of a filter, and what replicas with RedisBloom get of it.
//!
//! The server replicates the COPY itself. A replica with RedisBloom, whose type cannot be copied,
//! answers it with an error, lacks the copy, and creates another filter at the next addition. So
//! with `bf-redisbloom-replicas` the content is replicated as well: DEL, LOADCHUNK with header
//! and bits, PEXPIREAT. Servers put these commands before the COPY, which then finds the key and
//! does nothing. In a transaction or a script, Redis 6.2 puts them after the COPY.
//!
//! Servers from 7.0 on pass the names of the keys and the databases to `copy2`, which replicates
//! the content. Redis 6.2 passes no database, so there the module subscribes to the server's event.
//! It does so nowhere else: Valkey 8.1 leaves clients in another database after MOVE and COPY … DB
//! if a module has subscribed to events of keys.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use redis_module::raw::{
    REDISMODULE_NOTIFY_GENERIC, RedisModuleCtx, RedisModuleKeyOptCtx, RedisModuleString,
};

use super::handle::{DataType, Lookup, borrowed, filter, into_raw};
use crate::policy::counters::CREATIONS_REFUSED;
use crate::policy::limits::Limits;
use crate::policy::replicate;
use crate::policy::setting::REDISBLOOM_REPLICAS;
use crate::policy::source::{AS_TEXT, Source};
use crate::server::api::{api, optional_api};
use crate::server::args::Arg;
use crate::server::context::Context;
use crate::server::detached;
use crate::server::key::Key;
use crate::server::loading::Loading;
use crate::server::log;
use bloomline_core::host::AnyFilter;
use bloomline_core::host::cuckoo::AnyCuckoo;

/// The event of Redis 6.2 for a key that a COPY has created.
const COPIED: &CStr = c"copy_to";

/// Prepares what replicas with RedisBloom need. The load arguments must have been applied: servers
/// without `copy2` have no other settings.
pub fn register(loading: Loading) {
    detached::register(loading);
    // SAFETY: the pointers are written once, while the module is loaded. A server has this function
    // if and only if it calls `copy2`.
    let calls_copy2 = unsafe { optional_api!(RedisModule_GetToDbIdFromOptCtx) }.is_some();
    if REDISBLOOM_REPLICAS.is_on() && !calls_copy2 {
        // SAFETY: the module is being loaded.
        unsafe {
            let class = REDISMODULE_NOTIFY_GENERIC as c_int;
            api!(RedisModule_SubscribeToKeyspaceEvents)(loading.as_ptr(), class, Some(on_event));
        }
    }
}

/// Copies a filter for another key, on Redis 6.2. Null if the copy is refused; the server replies
/// with an error then.
pub(super) unsafe extern "C" fn copy<F: DataType>(
    from: *mut RedisModuleString,
    to: *mut RedisModuleString,
    value: *const c_void,
) -> *mut c_void {
    // SAFETY: the server passes the names of both keys and a filter of this type.
    let (from, to, filter) =
        unsafe { (Arg::borrowed(&from), Arg::borrowed(&to), borrowed::<F>(value)) };
    if detached::context()
        .is_some_and(|context| Source::of_call(context).reaches_redisbloom_as_text())
    {
        refuse(from, to, AS_TEXT);
        return ptr::null_mut();
    }
    clone_of(filter, from, to).map_or(ptr::null_mut(), |copy| into_raw(copy).as_ptr())
}

/// Copies a filter for another key, and replicates the copy's content if replicas need it. Null if
/// the copy is refused; the server replies with an error then.
pub(super) unsafe extern "C" fn copy2<F: DataType>(
    ctx: *mut RedisModuleKeyOptCtx,
    value: *const c_void,
) -> *mut c_void {
    // SAFETY: the server passes a valid context and a filter of this type. It has the functions if
    // it calls this one.
    let (names, databases, filter) = unsafe {
        let names = [
            api!(RedisModule_GetKeyNameFromOptCtx)(ctx).cast_mut(),
            api!(RedisModule_GetToKeyNameFromOptCtx)(ctx).cast_mut(),
        ];
        let databases =
            [api!(RedisModule_GetDbIdFromOptCtx)(ctx), api!(RedisModule_GetToDbIdFromOptCtx)(ctx)];
        (names, databases, borrowed::<F>(value))
    };
    // SAFETY: the names live until the function returns.
    let [from, to] = names.each_ref().map(|name| unsafe { Arg::borrowed(name) });
    let Some(copy) = clone_of(filter, from, to) else { return ptr::null_mut() };
    if replicates_content() {
        let [source, destination] = databases;
        // The copy expires with its source.
        let expires_at =
            detached::in_database(source).and_then(|context| Key::read(context, from).expires_at());
        if let Some(context) = detached::in_database(destination) {
            replicate::content(context, to, &copy, expires_at);
        }
    }
    into_raw(copy).as_ptr()
}

/// A copy of a filter; none, with a log line, if a limit or lack of memory forbids it.
///
/// Ends the process if the copy is replicated or loaded from a file, and there is no memory for it.
fn clone_of<F: DataType>(filter: &F, from: Arg, to: Arg) -> Option<F> {
    let source = Source::outside_calls();
    let limits = Limits::of(&source);
    let error = match filter.try_clone(&mut limits.permit()) {
        Ok(copy) => return Some(copy),
        Err(error) => error,
    };
    let why = limits.reason(error);
    if source.ends_without_memory(filter.size_bytes()) {
        let (from, to) = (from.shown(), to.shown());
        log::fatal(&format!("a primary or a file has copied filter '{from}' to '{to}', but {why}"));
    }
    refuse(from, to, why);
    None
}

/// Counts and logs a copy that was refused.
fn refuse(from: Arg, to: Arg, why: impl std::fmt::Display) {
    CREATIONS_REFUSED.add(1);
    let (from, to) = (from.shown(), to.shown());
    log::refusal(format_args!("COPY of filter '{from}' to '{to}' refused: {why}"));
}

/// True if the content of a copy is replicated.
fn replicates_content() -> bool {
    REDISBLOOM_REPLICAS.is_on() && !Source::outside_calls().is_replicated_or_loaded()
}

/// Replicates the content of a key that holds a filter of this family.
fn replicate_copy<F: DataType>(context: Context, name: Arg) {
    let key = Key::read(context, name);
    if let Lookup::Found(filter) = filter::<F>(&key) {
        replicate::content(context, name, filter, key.expires_at());
    }
}

/// What Redis 6.2 calls for each event of a key.
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
            && replicates_content()
            && let Some(context) = Context::new(ctx)
        {
            let name = Arg::borrowed(&key);
            replicate_copy::<AnyFilter>(context, name);
            replicate_copy::<AnyCuckoo>(context, name);
        }
    }
    0
}
