//! What the server's types and the replication ask of each family of filters: Bloom filters and
//! cuckoo filters.

use std::ffi::CStr;
use std::fmt::Debug;
use std::ptr::NonNull;

use super::server_type::ServerType;
use crate::policy::counters::Counter;
use bloomline_core::host::{Mover, Permit, SparseBytes, Stored};
use bloomline_core::{Error, Layout};

pub struct Names {
    /// The kind of filter, in log lines.
    pub kind: &'static str,
    /// The command that loads a filter in chunks.
    pub loadchunk: &'static CStr,
}

/// A family of filters. Each has its own commands, its own types of the server, and its own totals
/// in INFO.
pub trait DataType: Stored + Debug + Send + 'static {
    const NAMES: Names;

    /// What is known of a filter before a change.
    type Before;

    /// The types of the server whose values are filters of the family.
    fn types() -> &'static [&'static ServerType];

    /// The type of a filter, which follows from its layout.
    fn server_type(&self) -> &'static ServerType;

    /// What is known of the filter before any change.
    fn before_change(&self) -> Self::Before;

    /// The same before a change in which a filter that is not windowed only grows.
    #[inline]
    fn before_growth(&self) -> Self::Before {
        self.before_change()
    }

    /// Updates the totals after a change.
    fn after_change(&mut self, before: &Self::Before);

    /// Calls `see` with each of the totals, and what the filter adds to it. May run on any thread.
    fn each_total(&self, see: impl FnMut(&Counter, u64));

    /// Checks that the filter can be loaded again.
    ///
    /// # Errors
    ///
    /// What a load would fail with.
    fn check(&self) -> Result<(), Error>;

    /// The bytes of the filter, its parameters and tables included.
    fn size_bytes(&self) -> u64;

    /// A copy.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] or [`Error::OutOfMemory`].
    fn try_clone(&self, permit: Permit) -> Result<Self, Error>;

    /// Calls `load` with the iterator and the data of each LOADCHUNK that recreates the filter:
    /// first the header, with iterator 1, then each chunk that is not zero.
    fn each_loadchunk(&self, load: impl FnMut(u64, &[u8]));

    fn layout(&self) -> Layout;

    /// True if RedisBloom refuses the next call that adds items, also where there is room for them.
    /// So the additions of one call must not be replicated as several.
    fn is_closed(&self) -> bool {
        false
    }

    /// The payload of the BF.LOAD that recreates the filter from a file, in place of LOADCHUNK.
    /// None if there is no such payload, or no memory for it.
    fn payload(&self) -> Option<SparseBytes> {
        None
    }

    /// Calls `see` with the start of each allocation that the filter owns.
    fn each_allocation(&self, see: impl FnMut(NonNull<u8>));

    /// Moves allocations, from number `from` on, until `should_stop`. Returns the number of the
    /// next one; none after the last.
    fn relocate(
        &mut self,
        from: usize,
        mover: &mut Mover,
        should_stop: impl FnMut() -> bool,
    ) -> Option<usize>;
}
