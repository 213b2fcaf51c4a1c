//! Cuckoo filters as a family of filters.

use std::ptr::NonNull;

use super::counters::{CF_BYTES, CF_FILTERS, CF_FILTERS_BLOOMLINE, CF_ITEMS, CF_TABLES, Counter};
use super::family::{Family, Names};
use super::setting::{CF_BUCKET_SIZE, CF_EXPANSION_FACTOR, CF_MAX_EXPANSIONS, CF_MAX_ITERATIONS};
use super::totals::Totals;
use bloomline_core::host::cuckoo::{AnyCuckoo, CuckooOptions};
use bloomline_core::host::{Mover, Permit};
use bloomline_core::{Error, Layout};

static TOTALS: [&Counter; 5] =
    [&CF_FILTERS, &CF_FILTERS_BLOOMLINE, &CF_TABLES, &CF_ITEMS, &CF_BYTES];

/// What a filter adds to them.
fn totals(filter: &AnyCuckoo) -> Totals<5> {
    Totals::new(
        &TOTALS,
        [
            1,
            (filter.layout() == Layout::Bloomline).into(),
            filter.table_count().into(),
            filter.len(),
            filter.size_bytes(),
        ],
    )
}

/// The options of a filter that are not given: those of the settings.
pub fn default_options() -> CuckooOptions {
    CuckooOptions {
        bucket_size: CF_BUCKET_SIZE.integer() as u8,
        max_iterations: CF_MAX_ITERATIONS.integer() as u16,
        expansion: rounded(CF_EXPANSION_FACTOR.integer() as u16),
    }
}

/// An expansion as filters store it: 0, or a power of two.
pub fn rounded(expansion: u16) -> u16 {
    if expansion == 0 { 0 } else { expansion.next_power_of_two() }
}

impl Family for AnyCuckoo {
    const NAMES: Names = Names { kind: "cuckoo", loadchunk: c"CF.LOADCHUNK" };

    type Before = Totals<5>;

    fn before_change(&self) -> Totals<5> {
        totals(self)
    }

    fn after_change(&mut self, before: &Totals<5>) {
        totals(self).replace(before);
    }

    fn add_to_totals(&self) {
        totals(self).add();
    }

    fn subtract_from_totals(&self) {
        totals(self).subtract();
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
        self.each_touched_chunk(load);
    }

    fn layout(&self) -> Layout {
        Self::layout(self)
    }

    fn is_closed(&self) -> bool {
        u64::from(self.table_count()) >= CF_MAX_EXPANSIONS.integer()
    }

    fn each_allocation(&self, see: impl FnMut(NonNull<u8>)) {
        Self::each_allocation(self, see);
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
