//! The types of the server, as values of an RDB file. The core says which numbers and strings a
//! value has, and reads them; see `rdb` of each layout.

use std::ffi::{CStr, c_int};

use super::family::DataType;
use super::stream::{LoadError, Loader, Saver};
use crate::policy::defaults;
use bloomline_core::Error;
use bloomline_core::host::cuckoo::AnyCuckoo;
use bloomline_core::host::valkey::ValkeyFilter;
use bloomline_core::host::{AnyFilter, Permit, stream};

/// A type of the server.
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
    /// There is no memory for it. Not all was written then.
    fn save(filter: &Self::Filter, to: &mut Saver) -> Result<(), Error>;

    /// Loads a filter that was saved with this version of the encoding. Its layout is one of the
    /// type's.
    ///
    /// # Errors
    ///
    /// The bytes are not a filter, or the permit or lack of memory forbids it.
    fn load(from: &mut Loader, version: u32, permit: Permit) -> Result<Self::Filter, LoadError>;
}

/// RedisBloom's type of Bloom filters.
pub enum Bloom {}

impl Encoding for Bloom {
    type Filter = AnyFilter;

    const NAME: &'static CStr = c"MBbloom--";
    const VERSION: c_int = stream::VERSION as c_int;

    fn save(filter: &AnyFilter, to: &mut Saver) -> Result<(), Error> {
        filter.encode_fields(to)
    }

    fn load(from: &mut Loader, version: u32, permit: Permit) -> Result<AnyFilter, LoadError> {
        AnyFilter::decode_fields(from, version, permit)
    }
}

/// valkey-bloom's type.
pub enum ValkeyBloom {}

impl Encoding for ValkeyBloom {
    type Filter = AnyFilter;

    const NAME: &'static CStr = c"bloomfltr";
    /// Version 0 has the same fields.
    const VERSION: c_int = 1;

    fn save(filter: &AnyFilter, to: &mut Saver) -> Result<(), Error> {
        filter.encode_fields(to)
    }

    fn load(from: &mut Loader, _version: u32, permit: Permit) -> Result<AnyFilter, LoadError> {
        Ok(AnyFilter::in_box(ValkeyFilter::decode_fields(from, permit)?)?)
    }
}

/// RedisBloom's type of cuckoo filters.
pub enum Cuckoo {}

impl Encoding for Cuckoo {
    type Filter = AnyCuckoo;

    const NAME: &'static CStr = c"MBbloomCF";
    const VERSION: c_int = stream::VERSION as c_int;

    fn save(filter: &AnyCuckoo, to: &mut Saver) -> Result<(), Error> {
        filter.encode_fields(to);
        Ok(())
    }

    /// For versions that do not store a filter's options, those of the settings count.
    fn load(from: &mut Loader, version: u32, permit: Permit) -> Result<AnyCuckoo, LoadError> {
        AnyCuckoo::decode_fields(from, version, defaults::cuckoo_options(), permit)
    }
}
