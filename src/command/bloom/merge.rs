//! BF.MERGE: the union of filters.
//!
//! ```text
//! handler -> merge -> data_type::handle -> server::key, for the destination and each source
//!                  -> core: AnyFilter::union
//! ```

use std::collections::HashSet;
use std::ffi::CStr;

use crate::command::access;
use crate::command::error::{self, Failure, no_source};
use crate::command::handler::{ArgCount, Call, Handler};
use crate::command::items::no_memory;
use crate::data_type::handle::{Changed, store};
use crate::policy::counters::MERGES;
use crate::policy::limits::{Limits, MERGE};
use crate::server::key::Key;
use bloomline_core::Error;
use bloomline_core::host::AnyFilter;

/// BF.MERGE destination source [source ...]
pub struct Merge;

/// The keyspace event of a filter that a merge has changed or created.
const MERGED: &CStr = c"bloom.merge";

impl Handler for Merge {
    const ARGS: ArgCount = 3..=usize::MAX;

    fn run(call: Call) -> Result<(), Failure> {
        // Merging the destination with itself changes nothing, and it must not be borrowed twice. A
        // source that is named again would cost another pass over its bits.
        let mut seen = HashSet::new();
        let (mut keys, mut sources) = (Vec::new(), Vec::new());
        let most = call.rest.len();
        let has_room = seen.try_reserve(most + 1).is_ok()
            && keys.try_reserve_exact(most).is_ok()
            && sources.try_reserve_exact(most).is_ok();
        if !has_room {
            return Err(no_memory(call));
        }
        seen.insert(call.key.bytes());
        for name in call.rest.iter().filter(|name| seen.insert(name.bytes())) {
            keys.push((name, Key::read(call.context, name)));
        }
        for (name, key) in &keys {
            sources.push(access::optional(key)?.ok_or_else(|| no_source(*name))?);
        }
        let mut key = access::write(call);
        let limits = Limits::of(call.source);
        let merged = merge_into(&mut key, &sources, call, &limits)?;
        let changed = merged.map_err(|error| {
            limits.refuse(&MERGE, call.key, error);
            error::merge(error, &limits)
        })?;
        MERGES.add(changed.is_true().into());
        // The sources are closed before the events as well: a subscriber may delete them.
        drop(keys);
        let replicate = |_: &Key| call.context.replicate_verbatim();
        call.commit(key, changed, replicate, [(true, MERGED)]);
        call.context.simple(c"OK");
        Ok(())
    }
}

/// Merges the sources into the filter of a key. If it is missing, and all keys of the call are
/// sources, their union is stored in it.
fn merge_into(
    key: &mut Key,
    sources: &[&AnyFilter],
    call: Call,
    limits: &Limits,
) -> Result<Result<Changed, Error>, Failure> {
    if let Some(mut filter) = access::optional_mut::<AnyFilter>(key)? {
        let union = |filter: &mut AnyFilter| filter.union(sources, &mut limits.permit());
        return Ok(filter.replace(union).map(|_| filter.close()));
    }
    let is_source = call.rest.iter().any(|name| name.bytes() == call.key.bytes());
    let (Some((first, others)), false) = (sources.split_first(), is_source) else {
        return Err(no_source(call.key));
    };
    Ok(union_of(first, others, limits).map(|filter| store(key, filter)))
}

/// The union of filters, as a new filter.
fn union_of(first: &AnyFilter, others: &[&AnyFilter], limits: &Limits) -> Result<AnyFilter, Error> {
    first.check_union(others)?;
    let mut filter = first.try_clone(&mut limits.permit())?;
    filter.union(others, &mut limits.permit())?;
    Ok(filter)
}
