//! A filter of valkey-bloom's layout in an RDB file, under valkey-bloom's type. The fields are
//! those of the core.

use std::ffi::{CStr, c_int};

use super::load::{LoadError, Loader};
use super::rdb::{Encoding, SaveError};
use crate::server::rdb::{LoadedString, ReadError, Reader, Writer};
use bloomline_core::Error;
use bloomline_core::host::AnyFilter;
use bloomline_core::host::valkey::{ReadFields, ValkeyFilter, WriteFields};

/// valkey-bloom's type.
pub enum ValkeyBloom {}

impl Encoding for ValkeyBloom {
    type Filter = AnyFilter;

    const NAME: &'static CStr = c"bloomfltr";
    /// Version 0 has the same fields.
    const VERSION: c_int = 1;

    fn save(filter: &AnyFilter, writer: &Writer) -> Result<(), SaveError> {
        let filter = filter.valkey().ok_or(SaveError::WrongType)?;
        Ok(filter.encode_fields(&mut Fields(writer))?)
    }

    fn load(loader: &mut Loader, _encver: c_int) -> Result<AnyFilter, LoadError> {
        let Loader { reader, limits, .. } = loader;
        let loaded = ValkeyFilter::decode_fields(&mut Fields(reader), &mut limits.permit());
        loaded.map(AnyFilter::from).map_err(|fault| match fault {
            Fault::Core(error) => loader.reason(error),
            Fault::Stream(error) => error,
        })
    }
}

/// A stream of the fields.
struct Fields<S>(S);

impl WriteFields for Fields<&Writer> {
    fn unsigned(&mut self, value: u64) {
        self.0.unsigned(value);
    }

    fn number(&mut self, value: f64) {
        self.0.number(value);
    }

    fn string(&mut self, bytes: &[u8]) {
        self.0.string(bytes);
    }
}

impl ReadFields for Fields<&mut Reader> {
    type Text = LoadedString;
    type Error = Fault;

    fn unsigned(&mut self) -> Result<u64, Fault> {
        Ok(self.0.unsigned()?)
    }

    fn number(&mut self) -> Result<f64, Fault> {
        Ok(self.0.number()?)
    }

    fn string(&mut self) -> Result<LoadedString, Fault> {
        Ok(self.0.string()?)
    }
}

/// Why a filter is not loaded.
enum Fault {
    /// What the core says of the fields.
    Core(Error),
    /// The stream ends, or there is no memory for a string of it.
    Stream(LoadError),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Core(error)
    }
}

impl From<ReadError> for Fault {
    fn from(error: ReadError) -> Self {
        Self::Stream(error.into())
    }
}
