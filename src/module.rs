//! What happens when the module is loaded.

use std::ffi::{c_char, c_int};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleString, Status};

use crate::command::table::COMMANDS;
use crate::data_type::{copies, handle};
use crate::server::alloc::{ServerAlloc, unbound_blocks};
use crate::server::args::Args;
use crate::server::loading::Loading;
use crate::server::{api, config, counters, log, register};

/// RedisBloom's name, under which tools look for the commands.
const NAME: &[u8; 3] = b"bf\0";

/// The version that MODULE LIST shows: that of the RedisBloom whose commands and settings these
/// are, 8.0.0. Tools that gate on RedisBloom's version would take our own for an ancient one; it
/// stands in the section of INFO.
const VERSION: c_int = 80_000;

/// Version of the module interface.
const API_VERSION: c_int = raw::REDISMODULE_APIVER_1 as c_int;

#[global_allocator]
static ALLOCATOR: ServerAlloc = ServerAlloc;

/// What the server calls to load the module.
///
/// Everything is registered by hand: the crate's macros need functions that old servers lack, and
/// say nothing where another module of this name is loaded already.
///
/// # Safety
///
/// Only the server may call it, with a valid context and `argc` valid strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn RedisModule_OnLoad(
    ctx: *mut RedisModuleCtx,
    argv: *mut *mut RedisModuleString,
    argc: c_int,
) -> c_int {
    // SAFETY: promised by the caller; the name ends with a zero byte.
    let (loading, args) = unsafe {
        let bound =
            raw::Export_RedisModule_Init(ctx, NAME.as_ptr().cast::<c_char>(), VERSION, API_VERSION);
        if bound != Status::Ok as c_int {
            log::warning(
                "another module called bf is loaded already (MODULE LIST): load only one of the two",
            );
            return bound;
        }
        (Loading::new(ctx), Args::new(argv, argc))
    };
    let status = if load(loading, args) { Status::Ok } else { Status::Err };
    status as c_int
}

/// Registers all that the module has. False, with a log line, if something is refused.
fn load(loading: Loading, args: Args) -> bool {
    if let Some(name) = api::missing() {
        log::warning(&format!("this server is too old: it has no {name}"));
        return false;
    }
    log::panics();
    if unbound_blocks() != 0 {
        log::warning("memory was allocated before the server's allocator was known");
        return false;
    }
    loading.set_options();
    copies::register(loading);
    let loaded = config::take_arguments(args)
        && handle::register(loading)
        && register::register(loading, &COMMANDS)
        && config::register(loading, copies::follow_setting);
    counters::register(loading);
    loaded
}
