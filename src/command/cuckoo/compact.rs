//! CF.COMPACT: moves items from newer tables to older ones, and frees tables that are empty then.

use std::ffi::CStr;

use super::error::{self, NOTHING_TO_COMPACT};
use crate::command::access;
use crate::command::error::Failure;
use crate::command::handler::{ArgCount, Call, Handler};
use crate::data_type::handle::FilterMut;
use crate::policy::counters::{BYTES_COMPACTED, COMPACTIONS};
use crate::policy::limits::{COMPACTION, Limits};
use crate::server::key::Key;
use bloomline_core::host::cuckoo::AnyCuckoo;

/// CF.COMPACT key
pub struct Compact;

/// The keyspace event of a filter that was compacted.
const COMPACTED: &CStr = c"cuckoo.compact";

impl Handler for Compact {
    const ARGS: ArgCount = 2..=2;

    fn run(call: Call) -> Result<(), Failure> {
        let mut key = access::write(call);
        let mut filter: FilterMut<AnyCuckoo> = access::found_mut(&mut key, NOTHING_TO_COMPACT)?;
        let compacted = filter.change(AnyCuckoo::compact);
        let changed = filter.close();
        let freed = match compacted {
            Ok(compaction) => compaction.freed,
            Err(error) => {
                let limits = Limits::of(call.source);
                limits.refuse(&COMPACTION, call.key, error);
                return Err(error::insertion(error, &limits).into());
            }
        };
        COMPACTIONS.add(u64::from(freed > 0));
        BYTES_COMPACTED.add(freed);
        let replicate = |_: &Key| call.context.replicate_verbatim();
        call.commit(key, changed, replicate, [(true, COMPACTED)]);
        call.context.simple(c"OK");
        Ok(())
    }
}
