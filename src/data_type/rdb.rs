//! A filter in an RDB file, a DUMP payload or a full synchronization.
//!
//! Both layouts share RedisBloom's type name and encoding version. The first number
//! distinguishes them: 2^64 - 1 for the Bloomline layout, the number of items for RedisBloom's.
//!
//! This file calls `rdb_bloomline` or `rdb_redisbloom` for the rest. Both write to and read from
//! [`crate::server::rdb`]; `load` checks limits and untrusted bytes for them.

use std::ffi::{c_int, c_void};
use std::ptr;

use redis_module::raw::RedisModuleIO;

use super::handle::{borrowed, into_raw};
use super::load::{LoadError, Loader};
use super::{rdb_bloomline, rdb_redisbloom};
use crate::policy::counters::LOADS_REFUSED;
use crate::policy::limits::Limits;
use crate::server::log;
use crate::server::rdb::{Reader, Writer};
use bloomline_core::AnyFilter;

/// The version of the encoding: RedisBloom's.
pub const ENCODING_VERSION: c_int = 4;

/// The first number of a filter in the Bloomline layout.
const BLOOMLINE: u64 = u64::MAX;

/// Saves a filter.
pub unsafe extern "C" fn save(io: *mut RedisModuleIO, value: *mut c_void) {
    // SAFETY: the server passes a stream for writing and a filter of this type.
    let (writer, filter) = unsafe { (Writer::new(io), borrowed(value)) };
    match filter {
        AnyFilter::Bloomline(_) | AnyFilter::Windowed(_) => {
            writer.unsigned(BLOOMLINE);
            rdb_bloomline::save(&writer, filter);
        }
        AnyFilter::RedisBloom(classic) => {
            writer.unsigned(saved_len(classic.len()));
            rdb_redisbloom::save(&writer, classic);
        }
    }
}

/// The number of items as it is saved: at most 2^64 - 2. Only forged layers hold more.
fn saved_len(items: u64) -> u64 {
    items.min(BLOOMLINE - 1)
}

/// Loads a filter. Null, with a log line, if the bytes are not a filter or a limit forbids it.
///
/// Ends the process if the filter is replicated or loaded from a file, and there is no memory for
/// it.
pub unsafe extern "C" fn load(io: *mut RedisModuleIO, encver: c_int) -> *mut c_void {
    // SAFETY: the server passes a stream for reading.
    let reader = unsafe { Reader::new(io) };
    let mut loader = Loader { reader, limits: Limits::outside_calls() };
    let error = match load_filter(&mut loader, encver) {
        Ok(filter) => return into_raw(filter).as_ptr(),
        Err(error) => error,
    };
    if let LoadError::OutOfMemory(bytes) = error
        && loader.limits.origin().ends_without_memory(bytes)
    {
        log::fatal(&format!("a filter of a primary or a file cannot be loaded: {error}"));
    }
    LOADS_REFUSED.add(1);
    loader.warn(&format!("not loaded: {error}"));
    ptr::null_mut()
}

fn load_filter(loader: &mut Loader, encver: c_int) -> Result<AnyFilter, LoadError> {
    if !(0..=ENCODING_VERSION).contains(&encver) {
        let reason =
            format!("a filter of encoding version {encver}, which this release does not read");
        return Err(reason.into());
    }
    match loader.reader.unsigned()? {
        BLOOMLINE if encver == ENCODING_VERSION => rdb_bloomline::load(loader),
        items => {
            let classic = rdb_redisbloom::load(loader, encver)?;
            let found = classic.len();
            if saved_len(found) != items {
                loader.warn(&format!("repaired: {found} items in the links, {items} in the sum"));
            }
            Ok(classic.into())
        }
    }
}
