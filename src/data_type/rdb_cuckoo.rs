//! A cuckoo filter in an RDB file.
//!
//! Both layouts share RedisBloom's type name and encoding version. The first number distinguishes
//! them: 2^64 - 1 for the Bloomline layout, the number of tables for RedisBloom's.
//!
//! Bloomline's:
//!
//! ```text
//! unsigned 2^64-1
//! string            the header
//! string...         the tables, oldest first: each in strings of 2 MiB and a shorter last one; an
//!                   empty string stands for as many zeros
//! ```
//!
//! RedisBloom's:
//!
//! ```text
//! unsigned tables, buckets, items, deletes, bucket_size, max_iterations, expansion
//! and for each table, oldest first:
//! unsigned buckets, string the slots, a byte each
//! ```
//!
//! This is version 4. Versions 0 to 3 have neither `deletes` and what follows it, for which the
//! settings of the server count, nor the buckets of a table. RedisBloom calls a table a sub-filter.

use std::ffi::{CStr, c_int};

use super::load::{BITS_STRING, LoadError, Loader};
use super::rdb::{Encoding, SaveError};
use crate::policy::setting::{CF_BUCKET_SIZE, CF_EXPANSION_FACTOR, CF_MAX_ITERATIONS};
use crate::server::rdb::Writer;
use bloomline_core::host::cuckoo::{AnyCuckoo, ClassicCuckoo, CuckooFilter, CuckooNumbers};

/// RedisBloom's type of cuckoo filters.
pub enum Cuckoo {}

impl Encoding for Cuckoo {
    type Filter = AnyCuckoo;

    const NAME: &'static CStr = c"MBbloomCF";
    const VERSION: c_int = 4;

    fn save(filter: &AnyCuckoo, writer: &Writer) -> Result<(), SaveError> {
        match filter {
            AnyCuckoo::Bloomline(filter) => {
                writer.unsigned(BLOOMLINE);
                save_bloomline(writer, filter);
            }
            AnyCuckoo::RedisBloom(filter) => save_redisbloom(writer, filter),
        }
        Ok(())
    }

    fn load(loader: &mut Loader, encver: c_int) -> Result<AnyCuckoo, LoadError> {
        match loader.reader.unsigned()? {
            BLOOMLINE if encver == Self::VERSION => load_bloomline(loader).map(AnyCuckoo::from),
            tables => load_redisbloom(loader, tables, encver).map(AnyCuckoo::from),
        }
    }
}

/// The first number of a filter in the Bloomline layout.
const BLOOMLINE: u64 = u64::MAX;

fn save_bloomline(writer: &Writer, filter: &CuckooFilter) {
    writer.string(&filter.encode_header());
    filter.parts(BITS_STRING).for_each(|part| writer.string(part));
}

fn load_bloomline(loader: &mut Loader) -> Result<CuckooFilter, LoadError> {
    let header = loader.reader.string()?;
    let decoded = CuckooFilter::decode_header(header.bytes(), &mut loader.limits.permit());
    let mut filter = decoded.map_err(|error| loader.reason(error))?;
    filter.try_each_table_mut(|table| loader.bits(table))?;
    Ok(filter)
}

fn save_redisbloom(writer: &Writer, filter: &ClassicCuckoo) {
    let numbers = filter.numbers();
    let CuckooNumbers { items, buckets, deletes, tables, .. } = numbers;
    let CuckooNumbers { bucket_size, max_iterations, expansion, .. } = numbers;
    for number in [tables, buckets, items, deletes, bucket_size, max_iterations, expansion] {
        writer.unsigned(number);
    }
    for slots in filter.tables() {
        writer.unsigned(slots.len() as u64 / bucket_size.max(1));
        writer.string(slots);
    }
}

fn load_redisbloom(
    loader: &mut Loader,
    tables: u64,
    encver: c_int,
) -> Result<ClassicCuckoo, LoadError> {
    let numbers = load_numbers(loader, tables, encver)?;
    let created = ClassicCuckoo::with_numbers(&numbers, &mut loader.limits.permit());
    let mut filter = created.map_err(|error| loader.reason(error))?;
    let lengths: Vec<u64> = filter.tables().map(|slots| slots.len() as u64).collect();
    for (index, length) in (0..).zip(lengths) {
        if encver >= 4 {
            let (found, buckets) = (loader.reader.unsigned()?, length / numbers.bucket_size);
            if found != buckets {
                return Err(format!("{found} buckets in table {index}, not {buckets}").into());
            }
        }
        let slots = loader.string(length)?;
        let loaded = filter.load_table(index, slots.bytes());
        loaded.map_err(|error| loader.reason(error))?;
    }
    Ok(filter)
}

fn load_numbers(
    loader: &mut Loader,
    tables: u64,
    encver: c_int,
) -> Result<CuckooNumbers, LoadError> {
    let mut next = || loader.reader.unsigned();
    let (buckets, items) = (next()?, next()?);
    let [deletes, bucket_size, max_iterations, expansion] = if encver >= 4 {
        [next()?, next()?, next()?, next()?]
    } else {
        let expansion = CF_EXPANSION_FACTOR.integer();
        [
            0,
            CF_BUCKET_SIZE.integer(),
            CF_MAX_ITERATIONS.integer(),
            if expansion == 0 { 0 } else { expansion.next_power_of_two() },
        ]
    };
    Ok(CuckooNumbers { items, buckets, deletes, tables, bucket_size, max_iterations, expansion })
}
