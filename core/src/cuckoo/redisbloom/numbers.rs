//! The numbers of a filter in RedisBloom's layout, and which of them are valid.

use crate::cuckoo::options::CuckooOptions;
use crate::error::CuckooError;

/// The largest number of tables of a filter: 65,535, as in RedisBloom.
pub const MAX_TABLES: u32 = 65_535;

/// The smallest exponent of a number of buckets that no table has: RedisBloom stores 56 bits.
const LOG2_BUCKETS_END: u32 = 56;

impl CuckooOptions {
    /// The binary logarithm of the buckets of table `index`, if the first table has
    /// `2^first_log2`. `None` if there is no such table.
    pub(super) fn log2_buckets(&self, first_log2: u8, index: u32) -> Option<u8> {
        if index >= MAX_TABLES || self.is_fixed() && index > 0 {
            return None;
        }
        // A fixed filter has only table 0, for which the factor does not matter.
        let per_table = self.expansion.checked_ilog2().unwrap_or(0);
        let log2 = per_table.checked_mul(index)?.checked_add(first_log2.into())?;
        (log2 < LOG2_BUCKETS_END).then_some(log2 as u8)
    }
}

/// All numbers of a filter as its header and RDB files store them. They may be any: whoever builds
/// a filter of them checks them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CuckooNumbers {
    /// Occupied slots.
    pub items: u64,
    /// Buckets of the first table.
    pub buckets: u64,
    /// Deletions since the last compaction.
    pub deletes: u64,
    pub tables: u64,
    /// Slots per bucket.
    pub bucket_size: u64,
    /// How often an insertion replaces a fingerprint.
    pub max_iterations: u64,
    /// Buckets of a table divided by those of the table before it; 0 if the filter does not grow.
    pub expansion: u64,
}

/// Valid numbers.
pub(super) struct Plan {
    pub(super) options: CuckooOptions,
    pub(super) first_log2: u8,
    pub(super) tables: u32,
}

impl CuckooNumbers {
    /// Checks all numbers. This is the definition of a valid filter.
    ///
    /// Cost: one step per table, at most 65,535.
    pub(super) fn plan(&self) -> Result<Plan, CuckooError> {
        let options =
            CuckooOptions::from_numbers(self.bucket_size, self.max_iterations, self.expansion)?;
        let first_log2 = log2_of(self.buckets).ok_or(CuckooError::Buckets(self.buckets))?;
        let invalid = CuckooError::Tables(self.tables);
        let tables = u32::try_from(self.tables).map_err(|_| invalid)?;
        let newest = tables.checked_sub(1).ok_or(invalid)?;
        if options.log2_buckets(first_log2, newest).is_none() {
            return Err(invalid);
        }
        let plan = Plan { options, first_log2, tables };
        if u128::from(self.items) > plan.slots() {
            return Err(CuckooError::Items(self.items));
        }
        Ok(plan)
    }
}

impl Plan {
    /// The binary logarithms of the buckets of the tables, oldest first.
    pub(super) fn log2_buckets(&self) -> impl Iterator<Item = u8> {
        (0..self.tables).filter_map(|index| self.options.log2_buckets(self.first_log2, index))
    }

    fn slots(&self) -> u128 {
        let buckets: u128 = self.log2_buckets().map(|log2| 1u128 << log2).sum();
        buckets * u128::from(self.options.bucket_size)
    }
}

/// The binary logarithm of a valid number of buckets.
fn log2_of(buckets: u64) -> Option<u8> {
    let log2 = buckets.checked_ilog2()?;
    (buckets.is_power_of_two() && log2 < LOG2_BUCKETS_END).then_some(log2 as u8)
}
