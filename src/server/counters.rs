//! What INFO shows: totals over all filters, and what was refused.

use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicU64, Ordering};

use redis_module::raw::RedisModuleInfoCtx;

use super::api::{api, optional_api};
use super::loading::Loading;
use super::log;

/// A number that any thread may change: the server frees filters in the background.
pub struct Counter(AtomicU64);

impl Counter {
    const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Adds to it.
    pub fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    /// Its value now.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes away from it what was added before.
    pub fn subtract(&self, amount: u64) {
        self.0.fetch_sub(amount, Ordering::Relaxed);
    }
}

/// Filters in all databases.
pub static FILTERS: Counter = Counter::new();
/// Those of our own layout.
pub static FILTERS_BLOOMLINE: Counter = Counter::new();
/// The layers of all filters.
pub static LAYERS: Counter = Counter::new();
/// Items counted as added to them.
pub static ITEMS: Counter = Counter::new();
/// Items their layers are sized for.
pub static CAPACITY: Counter = Counter::new();
/// Bytes of their headers, tables and bits.
pub static BYTES: Counter = Counter::new();
/// Layers that were added to filters since the start.
pub static LAYERS_ADDED: Counter = Counter::new();
/// Filters that a limit or lack of memory kept from being created.
pub static CREATIONS_REFUSED: Counter = Counter::new();
/// Items that were not added since a limit or lack of memory forbade another layer.
pub static GROWTHS_REFUSED: Counter = Counter::new();
/// Filters that were refused because their bytes were bad.
pub static LOADS_REFUSED: Counter = Counter::new();

/// This module's own version. MODULE LIST shows another one: see `module.rs`.
const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };

/// The section of INFO behind the module's name, and its fields.
const SECTION: &CStr = c"bloom";
static FIELDS: [(&CStr, &Counter); 10] = [
    (c"filters", &FILTERS),
    (c"filters_bloomline", &FILTERS_BLOOMLINE),
    (c"layers", &LAYERS),
    (c"items", &ITEMS),
    (c"capacity", &CAPACITY),
    (c"bytes", &BYTES),
    (c"layers_added", &LAYERS_ADDED),
    (c"creations_refused", &CREATIONS_REFUSED),
    (c"growths_refused", &GROWTHS_REFUSED),
    (c"loads_refused", &LOADS_REFUSED),
];

/// Adds the section to INFO, in place of the crate's own, which makes a backtrace in a crash
/// report.
pub fn register(loading: Loading) {
    // SAFETY: the module is being loaded.
    unsafe {
        match optional_api!(RedisModule_RegisterInfoFunc) {
            Some(register) => drop(register(loading.as_ptr(), Some(info))),
            None => {
                log::notice("this server takes no sections of INFO from modules: it is left out")
            }
        }
    }
}

/// Writes the section. Nothing but loads of atomics here: it also runs in a crash report.
unsafe extern "C" fn info(ctx: *mut RedisModuleInfoCtx, _for_crash_report: c_int) {
    // SAFETY: the server passes a valid context, and copies names and numbers.
    unsafe {
        if api!(RedisModule_InfoAddSection)(ctx, SECTION.as_ptr()) != 0 {
            // The client has not asked for this section.
            return;
        }
        api!(RedisModule_InfoAddFieldCString)(ctx, c"version".as_ptr(), VERSION.as_ptr());
        for (name, counter) in &FIELDS {
            api!(RedisModule_InfoAddFieldULongLong)(ctx, name.as_ptr(), counter.get());
        }
    }
}
