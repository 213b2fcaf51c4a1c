//! What a call with many items does with each: see `group`.

use super::CuckooFilter;
use super::table::Table;
use crate::cuckoo::group::Tables;
use crate::error::Error;
use crate::permit::Permit;

impl Tables for CuckooFilter {
    /// The hash of an item.
    type Key = u64;
    type Table = Table;

    #[inline(always)]
    fn key(&self, item: &[u8]) -> u64 {
        self.hash(item)
    }

    #[inline(always)]
    fn tables(&self) -> &[Table] {
        &self.tables
    }

    #[inline(always)]
    fn insert_key(&mut self, hash: &u64, permit: Permit) -> Result<(), Error> {
        self.insert_hash(*hash, permit)
    }

    #[inline(always)]
    fn remove_key(&mut self, hash: &u64) -> bool {
        self.remove_hash(*hash)
    }
}
