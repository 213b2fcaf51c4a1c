//! BF.COMPACT: gives back the memory that the items of a filter do not need.

use std::ffi::CStr;

use crate::command::access;
use crate::command::error::{self, Failure};
use crate::command::handler::{ArgCount, Call, Handler};
use crate::data_type::handle::FilterMut;
use crate::policy::counters::{BYTES_COMPACTED, COMPACTIONS};
use crate::server::key::Key;
use bloomline_core::host::AnyFilter;

/// BF.COMPACT key
pub struct Compact;

/// The keyspace event of a filter that became smaller.
const COMPACTED: &CStr = c"bloom.compact";

impl Handler for Compact {
    const ARGS: ArgCount = 2..=2;

    fn run(call: Call) -> Result<(), Failure> {
        let mut key = access::write(call);
        let mut filter: FilterMut<AnyFilter> = access::existing_mut(&mut key)?;
        let compacted = filter.change(|filter| filter.compact().map(|freed| (freed > 0, freed)));
        let changed = filter.close();
        let (is_smaller, freed) = compacted.map_err(error::compaction)?;
        COMPACTIONS.add(is_smaller.into());
        BYTES_COMPACTED.add(freed);
        let replicate = |_: &Key| call.context.replicate_verbatim();
        call.commit(key, changed, replicate, [(true, COMPACTED)]);
        call.context.count(freed);
        Ok(())
    }
}
