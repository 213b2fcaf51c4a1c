//! What happens when the module is loaded.

use std::ffi::c_int;

use redis_module::{Context, RedisString, Status, redis_module};

use crate::command::table::COMMANDS;
use crate::data_type::handle;
use crate::server::alloc::{ServerAlloc, unbound_blocks};
use crate::server::loading::Loading;
use crate::server::{api, config, counters, log, register};

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
    let loading = Loading::new(context);
    loading.set_options();
    let loaded = loading.with_arguments(args, config::take_arguments)
        && handle::register(loading)
        && register::register(loading, &COMMANDS)
        && config::register(loading);
    counters::register(loading);
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
