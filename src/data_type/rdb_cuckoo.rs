//! A cuckoo filter in an RDB file, as RedisBloom writes it.
//!
//! ```text
//! unsigned tables, buckets, items, deletes, bucket_size, max_iterations, expansion
//! and for each table, oldest first:
//! unsigned buckets, string the slots, a byte each
//! ```
//!
//! This is version 4. Version 5 has two more unsigned numbers at the end, as for Bloom filters: the
//! version of the hash and its seed, both 0 for the only hash that is read. Versions 0 to 3 have neither `deletes` and what follows it, for which the
//! settings of the server count, nor the buckets of a table. RedisBloom calls a table a sub-filter.

use std::ffi::{CStr, c_int};

use super::load::{LoadError, Loader};
use super::rdb::Saved;
use crate::policy::setting::{CF_BUCKET_SIZE, CF_EXPANSION_FACTOR, CF_MAX_ITERATIONS};
use crate::server::rdb::Writer;
use bloomline_core::host::cuckoo::{AnyCuckoo, CuckooNumbers};
use bloomline_core::host::redisbloom::hash;

impl Saved for AnyCuckoo {
    const TYPE_NAME: &'static CStr = c"MBbloomCF";
    const ENCODING_VERSION: c_int = 4;
    /// That of RedisBloom builds with a setting for the seed of their hash.
    const NEWEST_VERSION: c_int = 5;

    fn save(&self, writer: &Writer) {
        let numbers = self.numbers();
        let CuckooNumbers { items, buckets, deletes, tables, .. } = numbers;
        let CuckooNumbers { bucket_size, max_iterations, expansion, .. } = numbers;
        for number in [tables, buckets, items, deletes, bucket_size, max_iterations, expansion] {
            writer.unsigned(number);
        }
        for slots in self.tables() {
            writer.unsigned(slots.len() as u64 / bucket_size.max(1));
            writer.string(slots);
        }
    }

    fn load(loader: &mut Loader, encver: c_int) -> Result<Self, LoadError> {
        loader.check_readable(encver > Self::ENCODING_VERSION)?;
        let numbers = load_numbers(loader, encver)?;
        let created = Self::with_numbers(&numbers, &mut loader.limits.permit());
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
        if encver >= 5 {
            let (version, seed) = (loader.reader.unsigned()?, loader.reader.unsigned()?);
            hash::check(version, seed).map_err(|error| error.to_string())?;
        }
        Ok(filter)
    }
}

fn load_numbers(loader: &mut Loader, encver: c_int) -> Result<CuckooNumbers, LoadError> {
    let mut next = || loader.reader.unsigned();
    let (tables, buckets, items) = (next()?, next()?, next()?);
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
