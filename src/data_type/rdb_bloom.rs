//! A Bloom filter in an RDB file.
//!
//! Bloomline's layout and RedisBloom's share RedisBloom's type name and encoding version. The first
//! number distinguishes them: 2^64 - 1 for the Bloomline layout, the number of items for
//! RedisBloom's. The rest is that of `rdb_bloomline` or `rdb_redisbloom`.

use std::ffi::{CStr, c_int};

use super::load::{LoadError, Loader};
use super::rdb::{Encoding, SaveError};
use super::{rdb_bloomline, rdb_redisbloom};
use crate::server::rdb::Writer;
use bloomline_core::host::AnyFilter;

/// The first number of a filter in the Bloomline layout.
const BLOOMLINE: u64 = u64::MAX;

/// RedisBloom's type of Bloom filters.
pub enum Bloom {}

impl Encoding for Bloom {
    type Filter = AnyFilter;

    const NAME: &'static CStr = c"MBbloom--";
    const VERSION: c_int = 4;

    fn save(filter: &AnyFilter, writer: &Writer) -> Result<(), SaveError> {
        match filter {
            AnyFilter::Bloomline(_) | AnyFilter::Windowed(_) => {
                writer.unsigned(BLOOMLINE);
                rdb_bloomline::save(writer, filter);
            }
            AnyFilter::RedisBloom(classic) => {
                writer.unsigned(saved_len(classic.len()));
                rdb_redisbloom::save(writer, classic);
            }
            AnyFilter::ValkeyBloom(_) => return Err(SaveError::WrongType),
        }
        Ok(())
    }

    fn load(loader: &mut Loader, encver: c_int) -> Result<AnyFilter, LoadError> {
        match loader.reader.unsigned()? {
            BLOOMLINE if encver == Self::VERSION => rdb_bloomline::load(loader),
            items => {
                let classic = rdb_redisbloom::load(loader, encver)?;
                let found = classic.len();
                if saved_len(found) != items {
                    loader
                        .warn(&format!("repaired: {found} items in the links, {items} in the sum"));
                }
                Ok(classic.into())
            }
        }
    }
}

/// The number of items as it is saved: at most 2^64 - 2. Only forged layers hold more.
fn saved_len(items: u64) -> u64 {
    items.min(BLOOMLINE - 1)
}
