//! COPY of a filter. The server replicates the COPY itself.

use std::ffi::c_void;
use std::ptr;

use redis_module::raw::RedisModuleString;

use super::family::DataType;
use super::handle::{borrowed, into_raw};
use crate::policy::counters::CREATIONS_REFUSED;
use crate::policy::limits::Limits;
use crate::policy::source::Source;
use crate::server::args::Arg;
use crate::server::log;

/// Copies a filter for another key. Null, with a log line, if a limit or lack of memory forbids it;
/// the server replies with an error then.
///
/// Ends the process if the copy is replicated or loaded from a file, and there is no memory for it.
pub(super) unsafe extern "C" fn copy<F: DataType>(
    from: *mut RedisModuleString,
    to: *mut RedisModuleString,
    value: *const c_void,
) -> *mut c_void {
    // SAFETY: the server passes the names of both keys and a filter of this type.
    let (from, to, filter) =
        unsafe { (Arg::borrowed(&from), Arg::borrowed(&to), borrowed::<F>(value)) };
    let source = Source::outside_calls();
    let limits = Limits::of(&source);
    let error = match filter.try_clone(&mut limits.permit()) {
        Ok(copy) => return into_raw(copy).as_ptr(),
        Err(error) => error,
    };
    let (from, to, why) = (from.shown(), to.shown(), limits.reason(error));
    if source.ends_without_memory(filter.size_bytes()) {
        log::fatal(&format!("a primary or a file has copied filter '{from}' to '{to}', but {why}"));
    }
    CREATIONS_REFUSED.add(1);
    log::REFUSALS.write(format_args!("COPY of filter '{from}' to '{to}' refused: {why}"));
    ptr::null_mut()
}
