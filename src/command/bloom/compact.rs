//! BF.COMPACT: gives back the memory that the items of a filter do not need.

use std::ffi::CStr;

use crate::command::access;
use crate::command::error::{Failure, unknown_argument};
use crate::command::handler::{ArgCount, Call, Handler};
use crate::data_type::handle::FilterMut;
use crate::policy::counters::{BYTES_COMPACTED, COMPACTIONS};
use crate::server::key::Key;
use bloomline_core::host::{AnyFilter, Revision};

/// BF.COMPACT key [revision]
pub struct Compact;

/// The number of the second revision, in calls that are replicated.
const SECOND: i64 = 2;

/// The keyspace event of a filter that became smaller.
const COMPACTED: &CStr = c"bloom.compact";

impl Handler for Compact {
    const ARGS: ArgCount = 2..=3;

    fn run(call: Call) -> Result<(), Failure> {
        let revision = revision_of(call)?;
        let mut key = access::write(call);
        let mut filter: FilterMut<AnyFilter> = access::existing_mut(&mut key)?;
        let (is_smaller, freed) = filter.replace(|filter| {
            let freed = filter.compact_by(revision);
            (freed > 0, freed)
        });
        let changed = filter.close();
        COMPACTIONS.add(is_smaller.into());
        BYTES_COMPACTED.add(freed);
        let form = match revision {
            Revision::First => None,
            Revision::Second => Some(SECOND),
        };
        let replicate = |key: &Key| access::replicate_rewrite::<AnyFilter>(call, key, form);
        call.commit(key, changed, replicate, [(true, COMPACTED)]);
        call.context.count(freed);
        Ok(())
    }
}

/// What a call computes. Replicas and files must compute what their primary did, so the revision is
/// replicated. Release 0.1, which had the first one, replicated calls without a number.
///
/// # Errors
///
/// The argument is no revision.
fn revision_of(call: Call) -> Result<Revision, Failure> {
    match call.rest.get(0) {
        Some(given) if given.integer() == Some(SECOND) => Ok(Revision::Second),
        Some(other) => Err(unknown_argument(other)),
        None if call.source.is_replicated_or_loaded() || call.source.is_script_by_text() => {
            Ok(Revision::First)
        }
        None => Ok(Revision::Second),
    }
}
