//! The sections of INFO written by the module.

use std::ffi::{CStr, c_int};

use redis_module::raw::RedisModuleInfoCtx;

use super::api::{api, optional_api};
use super::loading::Loading;
use super::log;

/// The sections of INFO.
pub trait Report {
    /// Writes the sections. Also runs in a crash report, so it must neither allocate nor lock.
    fn write(sections: &Sections);
}

/// The sections that a client has requested.
pub struct Sections {
    ctx: *mut RedisModuleInfoCtx,
}

impl Sections {
    /// Begins a section, unless it is not requested. `name` is the part of its name behind the
    /// module's.
    pub fn begin(&self, name: &CStr) -> Option<SectionFields> {
        // SAFETY: `report` has a valid context. The server returns an error if the client did not
        // request this section.
        let status = unsafe { api!(RedisModule_InfoAddSection)(self.ctx, name.as_ptr()) };
        (status == 0).then_some(SectionFields { ctx: self.ctx })
    }
}

/// The fields of a section that is being written.
pub struct SectionFields {
    ctx: *mut RedisModuleInfoCtx,
}

impl SectionFields {
    pub fn text(&self, name: &CStr, value: &CStr) {
        // SAFETY: `report` has a valid context, and the server copies name and text.
        unsafe { api!(RedisModule_InfoAddFieldCString)(self.ctx, name.as_ptr(), value.as_ptr()) };
    }

    pub fn number(&self, name: &CStr, value: u64) {
        // SAFETY: as in `text`.
        unsafe { api!(RedisModule_InfoAddFieldULongLong)(self.ctx, name.as_ptr(), value) };
    }
}

/// Adds sections to INFO, in place of the one of the crate `redis_module`, which makes a backtrace
/// in a crash report. A server without sections of modules gets a log line.
pub fn register<R: Report>(loading: Loading) {
    // SAFETY: the module is being loaded.
    unsafe {
        match optional_api!(RedisModule_RegisterInfoFunc) {
            Some(register) => drop(register(loading.as_ptr(), Some(report::<R>))),
            None => {
                log::notice("this server takes no sections of INFO from modules: it is left out")
            }
        }
    }
}

/// What the server calls for INFO and for a crash report.
unsafe extern "C" fn report<R: Report>(ctx: *mut RedisModuleInfoCtx, _for_crash_report: c_int) {
    R::write(&Sections { ctx });
}
