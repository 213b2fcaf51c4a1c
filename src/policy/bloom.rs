//! Bloom filters as a family of filters.

use std::ops::ControlFlow;
use std::ptr::NonNull;

use super::family::{Family, Names};
use super::totals::{self, Change};
use bloomline_core::Error;
use bloomline_core::host::{AnyFilter, MAX_CHUNK_BYTES, Mover, Permit};

impl Family for AnyFilter {
    const NAMES: Names =
        Names { kind: "bloom", scandump: c"BF.SCANDUMP", loadchunk: c"BF.LOADCHUNK" };

    type Change = Change;

    #[inline]
    fn begin_change(&self) -> Change {
        Change::begin(self)
    }

    #[inline]
    fn end_change(&mut self, change: &Change) {
        change.end(self);
    }

    fn add_to_totals(&self) {
        totals::add(self);
    }

    fn subtract_from_totals(&self) {
        totals::subtract(self);
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
        self.each_chunk(0, MAX_CHUNK_BYTES, |chunk| {
            if !chunk.is_zero() {
                load(chunk.end() + 1, chunk.bytes());
            }
            ControlFlow::Continue(())
        });
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
