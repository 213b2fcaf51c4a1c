//! Cuckoo filters as a family of filters.

use std::ptr::NonNull;

use super::counters::{CF_BYTES, CF_FILTERS, CF_FILTERS_BLOOMLINE, CF_ITEMS, CF_TABLES};
use super::family::{Family, Names};
use bloomline_core::host::cuckoo::AnyCuckoo;
use bloomline_core::host::{Mover, Permit};
use bloomline_core::{Error, Layout};

/// What a cuckoo filter adds to the totals that change with it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    tables: u64,
    items: u64,
    bytes: u64,
}

impl Totals {
    fn of(filter: &AnyCuckoo) -> Self {
        Self {
            tables: filter.table_count().into(),
            items: filter.len(),
            bytes: filter.size_bytes(),
        }
    }

    fn add(self) {
        CF_TABLES.add(self.tables);
        CF_ITEMS.add(self.items);
        CF_BYTES.add(self.bytes);
    }

    fn subtract(self) {
        CF_TABLES.subtract(self.tables);
        CF_ITEMS.subtract(self.items);
        CF_BYTES.subtract(self.bytes);
    }
}

impl Family for AnyCuckoo {
    const NAMES: Names =
        Names { kind: "cuckoo", scandump: c"CF.SCANDUMP", loadchunk: c"CF.LOADCHUNK" };

    type Change = Totals;

    fn begin_change(&self) -> Totals {
        Totals::of(self)
    }

    fn end_change(&mut self, before: &Totals) {
        let now = Totals::of(self);
        if now != *before {
            now.add();
            before.subtract();
        }
    }

    fn add_to_totals(&self) {
        CF_FILTERS.add(1);
        CF_FILTERS_BLOOMLINE.add(u64::from(self.layout() == Layout::Bloomline));
        Totals::of(self).add();
    }

    fn subtract_from_totals(&self) {
        CF_FILTERS.subtract(1);
        CF_FILTERS_BLOOMLINE.subtract(u64::from(self.layout() == Layout::Bloomline));
        Totals::of(self).subtract();
    }

    fn check(&self) -> Result<(), Error> {
        Self::check(self)
    }

    fn size_bytes(&self) -> u64 {
        Self::size_bytes(self)
    }

    fn try_clone(&self, permit: Permit) -> Result<Self, Error> {
        Self::try_clone(self, permit)
    }

    fn each_loadchunk(&self, mut load: impl FnMut(u64, &[u8])) {
        load(1, &self.encode_header());
        let mut iterator = 1;
        while let Some((next, chunk)) = self.scan_dump(iterator) {
            if chunk.iter().any(|&byte| byte != 0) {
                load(next, chunk);
            }
            iterator = next;
        }
    }

    fn each_block(&self, see: impl FnMut(NonNull<u8>)) {
        Self::each_block(self, see);
    }

    fn relocate(
        &mut self,
        from: usize,
        mover: &mut Mover,
        should_stop: impl FnMut() -> bool,
    ) -> Option<usize> {
        Self::relocate(self, from, mover, should_stop)
    }
}
