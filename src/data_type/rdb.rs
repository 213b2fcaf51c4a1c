//! A filter in an RDB file, a DUMP payload or a full synchronization.
//!
//! This file is what the families share: `rdb_bloom` and `rdb_cuckoo` write to and read from
//! [`crate::server::rdb`], and `load` checks limits and untrusted bytes for them.

use std::ffi::{CStr, c_int, c_void};
use std::fmt;
use std::ptr;

use redis_module::raw::RedisModuleIO;

use super::handle::{DataType, borrowed, into_raw};
use super::load::{LoadError, Loader};
use crate::policy::counters::LOADS_REFUSED;
use crate::policy::family::Family;
use crate::policy::layout::LayoutRow;
use crate::policy::limits::Limits;
use crate::policy::source::Source;
use crate::server::log;
use crate::server::rdb::{Reader, Writer};
use bloomline_core::Error;

/// A type of the server, as bytes of an RDB file.
pub trait Encoding {
    /// The family whose filters are the values.
    type Filter: DataType;

    /// The name of the type, which files and programs contain.
    const NAME: &'static CStr;

    /// The version of the encoding that is written, which is the newest one that is read.
    const VERSION: c_int;

    /// Saves a filter, whose layout is one of the type's.
    ///
    /// # Errors
    ///
    /// The layout is another type's, or there is no memory for it. Nothing was written then.
    fn save(filter: &Self::Filter, writer: &Writer) -> Result<(), SaveError>;

    /// Loads a filter that was saved with this version of the encoding. Its layout is one of the
    /// type's.
    ///
    /// # Errors
    ///
    /// The bytes are not a filter, or a limit or lack of memory forbids it.
    fn load(loader: &mut Loader, encver: c_int) -> Result<Self::Filter, LoadError>;
}

/// Why a filter is not saved.
#[derive(Debug, PartialEq)]
pub enum SaveError {
    /// The filter is a value of another type. That would be a defect of this module.
    WrongType,
    /// The core cannot encode it.
    Core(Error),
}

impl fmt::Display for SaveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongType => f.write_str("this type does not have its layout"),
            Self::Core(error) => error.fmt(f),
        }
    }
}

impl From<Error> for SaveError {
    fn from(error: Error) -> Self {
        Self::Core(error)
    }
}

/// Saves a filter.
///
/// Ends the process if it cannot be saved, as the server does that has no memory to save a value:
/// a file without it would be read as one that never had it.
pub unsafe extern "C" fn save<E: Encoding>(io: *mut RedisModuleIO, value: *mut c_void) {
    // SAFETY: the server passes a stream for writing and a filter of this type.
    let (writer, filter) = unsafe { (Writer::new(io), borrowed::<E::Filter>(value)) };
    if let Err(why) = E::save(filter, &writer) {
        let (kind, name) = (E::Filter::NAMES.kind, E::NAME.to_string_lossy());
        let layout = LayoutRow::of(filter.layout()).name();
        log::fatal(&format!(
            "a {kind} filter of layout {layout} cannot be saved as a value of type {name}: {why}"
        ));
    }
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
