//! What a call with many items does with each: see `group`.

use super::ClassicCuckoo;
use super::key::Key;
use super::table::Table;
use crate::cuckoo::group::Tables;
use crate::error::Error;
use crate::permit::Permit;

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
