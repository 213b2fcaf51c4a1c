//! A section of INFO written by the module.

use std::ffi::{CStr, c_int};

use redis_module::raw::RedisModuleInfoCtx;

use super::api::{api, optional_api};
use super::loading::Loading;
use super::log;

/// A section of INFO.
pub trait Section {
    /// The part of the section's name behind the module's.
    const NAME: &'static CStr;

    /// Writes the fields. Also runs in a crash report, so it must neither allocate nor lock.
    fn write(fields: &Fields);
}

/// The fields of a section that is being written.
pub struct Fields {
    ctx: *mut RedisModuleInfoCtx,
}

impl Fields {
    /// Writes a field with a text.
    pub fn text(&self, name: &CStr, value: &CStr) {
        // SAFETY: `report` has a valid context, and the server copies name and text.
        unsafe { api!(RedisModule_InfoAddFieldCString)(self.ctx, name.as_ptr(), value.as_ptr()) };
    }

    /// Writes a field with a number.
    pub fn number(&self, name: &CStr, value: u64) {
        // SAFETY: as in `text`.
        unsafe { api!(RedisModule_InfoAddFieldULongLong)(self.ctx, name.as_ptr(), value) };
    }
}

/// Adds a section to INFO, in place of the one of the crate `redis_module`, which makes a backtrace
/// in a crash report. A server without sections of modules gets a log line.
pub fn register<S: Section>(loading: Loading) {
    // SAFETY: the module is being loaded.
    unsafe {
        match optional_api!(RedisModule_RegisterInfoFunc) {
            Some(register) => drop(register(loading.as_ptr(), Some(report::<S>))),
            None => {
                log::notice("this server takes no sections of INFO from modules: it is left out")
            }
        }
    }
}

/// What the server calls for INFO and for a crash report.
unsafe extern "C" fn report<S: Section>(ctx: *mut RedisModuleInfoCtx, _for_crash_report: c_int) {
    // SAFETY: the server passes a valid context. It returns an error if the client did not request
    // this section.
    let is_requested = unsafe { api!(RedisModule_InfoAddSection)(ctx, S::NAME.as_ptr()) } == 0;
    if is_requested {
        S::write(&Fields { ctx });
    }
}
