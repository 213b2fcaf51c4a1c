//! Many items per call.

use super::ClassicCuckoo;
use super::key::Key;
use super::table::Table;
use crate::cuckoo::group::{self, Tables};
use crate::error::Error;
use crate::spec::Permit;

impl Tables for ClassicCuckoo {
    type Key = Key;
    type Table = Table;

    #[inline(always)]
    fn key(&self, item: &[u8]) -> Key {
        Key::of(item)
    }

    #[inline(always)]
    fn tables(&self) -> &[Table] {
        &self.tables
    }

    #[inline(always)]
    fn insert_key(&mut self, key: &Key, permit: Permit) -> Result<(), Error> {
        self.insert_key(key, permit)
    }

    #[inline(always)]
    fn remove_key(&mut self, key: &Key) -> bool {
        self.remove_key(key)
    }
}

impl ClassicCuckoo {
    /// Answers for each item in turn whether it may have been inserted.
    pub fn contains_batch(
        &self,
        items: impl Iterator<Item: AsRef<[u8]>>,
        answer: impl FnMut(bool),
    ) {
        group::contains(self, items, answer);
    }

    /// Inserts each item in turn and answers as [`ClassicCuckoo::insert`] does, with true; if
    /// `only_new`, as [`ClassicCuckoo::insert_new`].
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

    /// Deletes each item in turn, and answers as [`ClassicCuckoo::remove`] does.
    pub fn remove_batch(
        &mut self,
        items: impl Iterator<Item: AsRef<[u8]>>,
        answer: impl FnMut(bool),
    ) {
        group::remove(self, items, answer);
    }
}
