//! Many items per call.

use super::CuckooFilter;
use super::table::Table;
use crate::cuckoo::group::{self, Tables};
use crate::error::Error;
use crate::spec::Permit;

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

impl CuckooFilter {
    /// Answers for each item in turn whether it may have been inserted.
    pub fn contains_batch(
        &self,
        items: impl Iterator<Item: AsRef<[u8]>>,
        answer: impl FnMut(bool),
    ) {
        group::contains(self, items, answer);
    }

    /// Inserts each item in turn and answers as [`CuckooFilter::insert`] does, with true; if
    /// `only_new`, as [`CuckooFilter::insert_new`].
    ///
    /// After an error the remaining items are tried all the same.
    pub fn insert_batch(
        &mut self,
        items: impl Iterator<Item: AsRef<[u8]>>,
        only_new: bool,
        permit: Permit,
        answer: impl FnMut(Result<bool, Error>),
    ) {
        group::insert(self, items, only_new, permit, answer);
    }

    /// Deletes each item in turn, and answers as [`CuckooFilter::remove`] does.
    pub fn remove_batch(
        &mut self,
        items: impl Iterator<Item: AsRef<[u8]>>,
        answer: impl FnMut(bool),
    ) {
        group::remove(self, items, answer);
    }
}
