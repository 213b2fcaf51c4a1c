//! A filter in an RDB file, a DUMP payload or a full synchronization.
//!
//! This file is what the families share: `rdb_bloom` and `rdb_cuckoo` write to and read from
//! [`crate::server::rdb`], and `load` checks limits and untrusted bytes for them.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use redis_module::raw::RedisModuleIO;

use super::handle::{DataType, borrowed, into_raw};
use super::load::{LoadError, Loader};
use crate::policy::counters::LOADS_REFUSED;
use crate::policy::family::Family;
use crate::policy::limits::Limits;
use crate::policy::source::Source;
use crate::server::log;
use crate::server::rdb::{Reader, Writer};

/// A type of the server, as bytes of an RDB file.
pub trait Encoding {
    /// The family whose filters are the values.
    type Filter: DataType;

    /// The name of the type, which files and programs contain.
    const NAME: &'static CStr;

    /// The version of the encoding that is written, which is the newest one that is read.
    const VERSION: c_int;

    /// Saves a filter, whose layout is one of the type's.
    fn save(filter: &Self::Filter, writer: &Writer);

    /// Loads a filter that was saved with this version of the encoding. Its layout is one of the
    /// type's.
    ///
    /// # Errors
    ///
    /// The bytes are not a filter, or a limit or lack of memory forbids it.
    fn load(loader: &mut Loader, encver: c_int) -> Result<Self::Filter, LoadError>;
}

/// Saves a filter.
pub unsafe extern "C" fn save<E: Encoding>(io: *mut RedisModuleIO, value: *mut c_void) {
    // SAFETY: the server passes a stream for writing and a filter of this type.
    let (writer, filter) = unsafe { (Writer::new(io), borrowed::<E::Filter>(value)) };
    E::save(filter, &writer);
}

/// Loads a filter. Null, with a log line, if the bytes are not a filter or a limit forbids it.
///
/// Ends the process if the filter is replicated or loaded from a file, and there is no memory for
/// it.
pub unsafe extern "C" fn load<E: Encoding>(io: *mut RedisModuleIO, encver: c_int) -> *mut c_void {
    // SAFETY: the server passes a stream for reading.
    let reader = unsafe { Reader::new(io) };
    let source = Source::outside_calls();
    let mut loader = Loader { reader, limits: Limits::of(&source), names: E::Filter::NAMES };
    let loaded = match encver {
        0.. if encver <= E::VERSION => E::load(&mut loader, encver),
        _ => Err(format!(
            "its encoding version is {encver}, and the newest that this release reads is {}",
            E::VERSION
        )
        .into()),
    };
    let error = match loaded {
        Ok(filter) => return into_raw(filter).as_ptr(),
        Err(error) => error,
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
