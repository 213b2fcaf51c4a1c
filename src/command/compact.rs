//! BF.COMPACT: gives back the memory that the items of a filter do not need.

use std::ffi::CStr;

use super::error::{Failure, existing};
use super::handler::{ArgCount, Call, Handler};
use crate::data_type::handle::{filter, filter_mut};
use crate::policy::counters::{BYTES_COMPACTED, COMPACTIONS};
use crate::policy::replicate;
use crate::server::args::Args;
use crate::server::key::Key;
use bloomline_core::host::AnyFilter;

/// BF.COMPACT key
pub struct Compact;

/// The keyspace event of a filter that became smaller.
const COMPACTED: &CStr = c"bloom.compact";

impl Handler for Compact {
    const ARGS: ArgCount = 2..=2;

    fn is_unknown_to_redisbloom(_rest: Args) -> bool {
        true
    }

    fn run(call: Call) -> Result<(), Failure> {
        let mut key = Key::write(call.context, call.key);
        let freed = existing(filter_mut::<AnyFilter>(&mut key))?.replace(|filter| filter.compact());
        if freed > 0 {
            COMPACTIONS.add(1);
            BYTES_COMPACTED.add(freed);
            replicate::rewrite(
                call.context,
                call.key,
                existing(filter::<AnyFilter>(&key))?,
                key.expires_at(),
            );
            // Closed before the event: a subscriber may delete the key.
            drop(key);
            call.context.signal_change(call.key, COMPACTED);
        }
        call.context.count(freed);
        Ok(())
    }
}
