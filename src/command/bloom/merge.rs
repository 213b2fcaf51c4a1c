//! BF.MERGE: the union of filters.
//!
//! ```text
//! handler -> merge -> data_type::handle -> server::key, for the destination and each source
//!                  -> core: AnyFilter::union
//! ```

use std::ffi::CStr;

use crate::command::access::{self, Vacant};
use crate::command::error::{self, Failure, no_source};
use crate::command::handler::{ArgCount, Call, Handler};
use crate::command::items::no_memory;
use crate::data_type::handle::Changed;
use crate::policy::counters::MERGES;
use crate::policy::limits::{Limits, MERGE};
use crate::policy::replicate;
use crate::server::args::Arg;
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
        let (mut names, mut keys) = (Vec::new(), Vec::new());
        let (mut filters, mut sources) = (Vec::new(), Vec::new());
        let most = call.rest.len();
        let has_room = names.try_reserve_exact(most).is_ok()
            && keys.try_reserve_exact(most).is_ok()
            && filters.try_reserve_exact(most).is_ok()
            && sources.try_reserve_exact(most).is_ok();
        if !has_room {
            return Err(no_memory(call));
        }
        names.extend(call.rest.iter().enumerate());
        keep_distinct_sources(&mut names, call.key);
        keys.extend(names.iter().map(|(_, name)| Key::read(call.context, *name)));
        for ((_, name), key) in names.iter().zip(&keys) {
            let filter = access::optional::<AnyFilter>(key)?.ok_or_else(|| no_source(*name))?;
            filters.push(filter);
        }
        sources.extend(filters.iter().map(|filter| &**filter));
        let mut key = access::write(call);
        let limits = Limits::of(call.source);
        let merged = merge_into(&mut key, &sources, call, &limits)?;
        let (changed, is_created) = merged.map_err(|error| {
            limits.refuse(&MERGE, call.key, error);
            error::merge(error, &limits)
        })?;
        MERGES.add(changed.is_true().into());
        // The sources are closed before the events as well: a subscriber may delete them.
        drop(filters);
        drop(keys);
        let replicate = |_: &Key| {
            // The call would merge into the filter that a replica or a file holds there.
            if is_created {
                replicate::deletion(call.context, call.key);
            }
            call.context.replicate_verbatim();
        };
        call.commit(key, changed, replicate, [(true, MERGED)]);
        call.context.simple(c"OK");
        Ok(())
    }
}

/// Keeps each name once, in the order of the call, and not the destination's: a source that is
/// named again would cost another pass over its bits, and merging the destination with itself
/// changes nothing, and must not borrow it twice. Allocates nothing.
fn keep_distinct_sources(names: &mut Vec<(usize, Arg)>, destination: Arg) {
    names.retain(|(_, name)| name.bytes() != destination.bytes());
    names.sort_unstable_by_key(|(index, name)| (name.bytes(), *index));
    names.dedup_by_key(|(_, name)| name.bytes());
    names.sort_unstable_by_key(|(index, _)| *index);
}

/// Merges the sources into the filter of a key. If there is none, and all keys of the call are
/// sources, their union is stored there. Returns also whether the filter was created.
fn merge_into(
    key: &mut Key,
    sources: &[&AnyFilter],
    call: Call,
    limits: &Limits,
) -> Result<Result<(Changed, bool), Error>, Failure> {
    let Some(vacant) = Vacant::without_filter::<AnyFilter>(call, key)? else {
        let mut filter = access::existing_mut::<AnyFilter>(key)?;
        let union = |filter: &mut AnyFilter| filter.union(sources, &mut limits.permit());
        return Ok(filter.change(union).map(|_| (filter.close(), false)));
    };
    let is_source = call.rest.iter().any(|name| name.bytes() == call.key.bytes());
    let (Some((first, others)), false) = (sources.split_first(), is_source) else {
        return Err(no_source(call.key));
    };
    match union_of(first, others, limits) {
        Ok(filter) => Ok(Ok((vacant.store(filter)?.1, true))),
        Err(error) => Ok(Err(error)),
    }
}

/// The union of filters, as a new filter.
fn union_of(first: &AnyFilter, others: &[&AnyFilter], limits: &Limits) -> Result<AnyFilter, Error> {
    first.check_union(others)?;
    let mut filter = first.try_clone(&mut limits.permit())?;
    filter.union(others, &mut limits.permit())?;
    Ok(filter)
}
