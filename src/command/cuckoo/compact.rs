//! CF.COMPACT: moves items from newer tables to older ones, and frees tables that are empty then.

use std::ffi::CStr;

use super::error::NOTHING_TO_COMPACT;
use crate::command::error::Failure;
use crate::command::handler::{ArgCount, Call, Handler};
use crate::data_type::handle::{Lookup, filter_mut};
use crate::policy::counters::{BYTES_COMPACTED, COMPACTIONS};
use crate::server::key::Key;
use bloomline_core::host::cuckoo::AnyCuckoo;

/// CF.COMPACT key
pub struct Compact;

/// The keyspace event of a filter that was compacted.
const COMPACTED: &CStr = c"cuckoo.compact";

impl Handler for Compact {
    const ARGS: ArgCount = 2..=2;

    fn run(call: Call) -> Result<(), Failure> {
        let mut key = Key::write(call.context, call.key);
        let Lookup::Found(mut filter) = filter_mut::<AnyCuckoo>(&mut key) else {
            return Err(NOTHING_TO_COMPACT.into());
        };
        let may_move = filter.table_count() > 1 || filter.deletes() > 0;
        let freed = filter.compact();
        drop(filter);
        COMPACTIONS.add(u64::from(freed > 0));
        BYTES_COMPACTED.add(freed);
        if may_move || freed > 0 {
            call.context.replicate_verbatim();
            // Closed before the event: a subscriber may delete the key.
            drop(key);
            call.context.signal_change(call.key, COMPACTED);
        }
        call.context.simple(c"OK");
        Ok(())
    }
}
