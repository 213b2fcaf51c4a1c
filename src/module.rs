//! What happens when the module is loaded.

use std::ffi::c_int;

use redis_module::{Context, RedisString, Status, raw, redis_module};

use crate::command::table::COMMANDS;
use crate::data_type::handle;
use crate::server::alloc::{ServerAlloc, unbound_blocks};
use crate::server::api::{self, api};
use crate::server::args::Args;
use crate::server::{config, log, register};

/// Close of a key that was open for writing does not tell watchers that it changed: the commands do, if it did.
const NO_IMPLICIT_SIGNAL_MODIFIED: u32 = 1 << 1;

/// What the module promises: to survive a short read, to load beside a running data set, and the line above.
const OPTIONS: u32 = raw::REDISMODULE_OPTIONS_HANDLE_IO_ERRORS
    | raw::REDISMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD
    | NO_IMPLICIT_SIGNAL_MODIFIED;

/// The crate's version as the server shows it: 1.2.3 is 10203.
const VERSION: c_int = number(env!("CARGO_PKG_VERSION_MAJOR")) * 10_000
    + number(env!("CARGO_PKG_VERSION_MINOR")) * 100
    + number(env!("CARGO_PKG_VERSION_PATCH"));

const fn number(digits: &str) -> c_int {
    match c_int::from_str_radix(digits, 10) {
        Ok(value) => value,
        Err(_) => 0,
    }
}

/// Registers everything by hand: the crate's macros need functions that old servers have not got.
fn init(context: &Context, args: &[RedisString]) -> Status {
    if let Some(name) = api::missing() {
        log::warning(&format!("this server is too old: it has no {name}"));
        return Status::Err;
    }
    log::panics();
    if unbound_blocks() != 0 {
        log::warning("memory was allocated before the server's allocator was known");
        return Status::Err;
    }
    let mut strings: Vec<_> = args.iter().map(|arg| arg.inner).collect();
    // SAFETY: the strings live as long as `args`, and the context is that of the loading; so below.
    let arguments = unsafe { Args::new(strings.as_mut_ptr(), strings.len() as c_int) };
    let loaded = config::take_arguments(arguments)
        // SAFETY: see above.
        && unsafe {
            api!(RedisModule_SetModuleOptions)(context.ctx, OPTIONS as c_int);
            handle::register(context.ctx) && register::register(context.ctx, &COMMANDS) && config::register(context.ctx)
        };
    if loaded { Status::Ok } else { Status::Err }
}

redis_module! {
    name: "bf",
    version: VERSION,
    allocator: (ServerAlloc, ServerAlloc),
    data_types: [],
    init: init,
    commands: [],
}
