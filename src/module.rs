//! The entry point that the server calls to load the module.

use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicBool, Ordering};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleString, Status};

use crate::command::{bloom, cuckoo};
use crate::data_type::registry;
use crate::policy::config;
use crate::policy::counters::Counters;
use crate::server::alloc::{ServerAlloc, unbound_blocks};
use crate::server::args::Args;
use crate::server::loading::Loading;
use crate::server::{api, command, info, log};

/// The name of the module: RedisBloom's, because tools look for the commands under it.
const NAME: &[u8; 3] = b"bf\0";

/// The version that MODULE LIST shows: 8.0.1, above the RedisBloom 8.0.0 with these commands and
/// settings. Tools that check for RedisBloom's version would take Bloomline's own version for an
/// ancient one, and up to 8.0.0 some take the module for valkey-bloom. Bloomline's own version is
/// in the section of INFO.
const VERSION: c_int = 80_001;

/// The version of the module interface.
const API_VERSION: c_int = raw::REDISMODULE_APIVER_1 as c_int;

/// True from the end of a load that succeeded. A second load of the same file finds it set.
static IS_LOADED: AtomicBool = AtomicBool::new(false);

#[cfg(not(feature = "audit"))]
#[global_allocator]
static ALLOCATOR: ServerAlloc = ServerAlloc;

/// Records every block.
#[cfg(feature = "audit")]
#[global_allocator]
static ALLOCATOR: bloomline_core::host::ledger::Audited<ServerAlloc> =
    bloomline_core::host::ledger::Audited(ServerAlloc);

/// The function that the server calls to load the module.
///
/// It does not use the macros of the crate `redis_module`: they need functions that old servers
/// lack, and do not log that another module of this name is loaded.
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
            log::warning(if IS_LOADED.load(Ordering::Relaxed) {
                "this file is loaded already: remove the second loadmodule line of it, in the \
                 configuration, a file that it includes, or on the command line"
            } else {
                "another module called bf is loaded already (MODULE LIST): load only one of the two"
            });
            return bound;
        }
        (Loading::new(ctx), Args::new(argv, argc))
    };
    let is_loaded = load(loading, args);
    IS_LOADED.store(is_loaded, Ordering::Relaxed);
    let status = if is_loaded { Status::Ok } else { Status::Err };
    status as c_int
}

/// Registers the types, the commands, the settings and the section of INFO. False, with a log line,
/// if the server refuses one.
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
    let is_loaded = config::apply_arguments(args)
        && registry::register(loading)
        && command::register(loading, &[bloom::table::FAMILY, cuckoo::table::FAMILY])
        && config::register(loading);
    if is_loaded {
        // What is called without a command comes last: a server that refuses the load unloads the
        // file, and must call nothing of it from then on.
        info::register::<Counters>(loading);
    }
    is_loaded
}
