//! A filter in an RDB file, a DUMP payload or a full synchronization.
//!
//! `encodings` has what is in it, and `stream` what it is written to and read from.

use std::ffi::{c_int, c_void};
use std::ptr;

use redis_module::raw::RedisModuleIO;

use super::encodings::Encoding;
use super::family::DataType;
use super::handle::{borrowed, into_raw};
use super::stream::{LoadError, Loader, Saver};
use crate::policy::counters::LOADS_REFUSED;
use crate::policy::layout::LayoutRow;
use crate::policy::limits::Limits;
use crate::policy::source::Source;
use crate::server::log;
use crate::server::rdb::{Reader, Writer};

/// Saves a filter.
///
/// Ends the process if it cannot be saved, as the server does that has no memory to save a value:
/// a file without it would be read as one that never had it.
pub unsafe extern "C" fn save<E: Encoding>(io: *mut RedisModuleIO, value: *mut c_void) {
    // SAFETY: the server passes a stream for writing and a filter of this type.
    let (writer, filter) = unsafe { (Writer::new(io), borrowed::<E::Filter>(value)) };
    let kind = E::Filter::NAMES.kind;
    if !is_of_type::<E>(&filter) {
        // A defect of this module.
        let layout = LayoutRow::of(filter.layout()).name();
        let name = E::NAME.to_string_lossy();
        log::fatal(&format!("a {kind} filter of layout {layout} is a value of type {name}"));
    }
    if let Err(why) = E::save(&filter, &mut Saver(writer)) {
        log::fatal(&format!("a {kind} filter cannot be saved: {why}"));
    }
}

/// True if the type is that of the filter's layout.
pub fn is_of_type<E: Encoding>(filter: &E::Filter) -> bool {
    filter.server_type().name() == E::NAME
}

/// Loads a filter. Null, with a log line, if the bytes are not a filter or a limit forbids it.
///
/// Ends the process if the filter is replicated or loaded from a file, and there is no memory for
/// it.
pub unsafe extern "C" fn load<E: Encoding>(io: *mut RedisModuleIO, encver: c_int) -> *mut c_void {
    // SAFETY: the server passes a stream for reading.
    let reader = unsafe { Reader::new(io) };
    let source = Source::outside_calls();
    let limits = Limits::of(&source);
    let mut loader = Loader { reader, names: E::Filter::NAMES };
    let loaded = match u32::try_from(encver) {
        Ok(version) if encver <= E::VERSION => E::load(&mut loader, version, &mut limits.permit()),
        _ => Err(LoadError::Version { found: encver, newest: E::VERSION }),
    };
    let error = match loaded {
        Ok(filter) => return into_raw(filter).as_ptr(),
        Err(error) => error.under(&limits),
    };
    if let LoadError::OutOfMemory(bytes) = error
        && source.ends_without_memory(bytes)
    {
        log::fatal(&format!("a filter of a primary or a file cannot be loaded: {error}"));
    }
    LOADS_REFUSED.add(1);
    loader.warn(&format!("not loaded: {error}"));
    ptr::null_mut()
}
