//! Cuckoo filters as values of keys, and what they add to the totals of INFO.

use std::ptr::NonNull;

use delegate::delegate;

use super::family::{DataType, Names};
use super::registry::{CUCKOO, CUCKOO_TYPES};
use super::server_type::ServerType;
use super::totals::Totals;
use crate::policy::counters::{
    CF_BYTES, CF_FILTERS, CF_FILTERS_BLOOMLINE, CF_ITEMS, CF_TABLES, Counter,
};
use crate::policy::setting::CF_MAX_EXPANSIONS;
use bloomline_core::host::cuckoo::AnyCuckoo;
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

impl DataType for AnyCuckoo {
    const NAMES: Names = Names { kind: "cuckoo", loadchunk: c"CF.LOADCHUNK" };

    type Before = Totals<5>;

    #[inline]
    fn types() -> &'static [&'static ServerType] {
        &CUCKOO_TYPES
    }

    #[inline]
    fn server_type(&self) -> &'static ServerType {
        &CUCKOO
    }

    fn before_change(&self) -> Totals<5> {
        totals(self)
    }

    fn after_change(&mut self, before: &Totals<5>) {
        totals(self).replace(before);
    }

    fn each_total(&self, see: impl FnMut(&Counter, u64)) {
        totals(self).each(see);
    }

    fn each_loadchunk(&self, mut load: impl FnMut(u64, &[u8])) {
        load(1, &self.encode_header());
        self.each_touched_chunk(load);
    }

    fn is_closed(&self) -> bool {
        u64::from(self.table_count()) >= CF_MAX_EXPANSIONS.integer()
    }

    // The filter's own methods of these names.
    delegate! {
        to self {
            fn check(&self) -> Result<(), Error>;
            fn size_bytes(&self) -> u64;
            fn layout(&self) -> Layout;
            fn try_clone(&self, permit: Permit) -> Result<Self, Error>;
            fn each_allocation(&self, see: impl FnMut(NonNull<u8>));
            fn relocate(
                &mut self,
                from: usize,
                mover: &mut Mover,
                should_stop: impl FnMut() -> bool,
            ) -> Option<usize>;
        }
    }
}
