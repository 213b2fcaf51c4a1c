//! BF.MERGE: the union of filters.
//!
//! ```text
//! handler -> merge -> data_type::handle -> server::key, for the destination and each source
//!                  -> core: AnyFilter::union
//! ```

use std::ffi::CStr;

use super::access;
use super::error::{self, Failure, no_source};
use super::handler::{ArgCount, Call, Handler};
use crate::data_type::handle::store;
use crate::policy::counters::MERGES;
use crate::policy::limits::{Limits, MERGE};
use crate::policy::replicate;
use crate::server::args::Args;
use crate::server::key::Key;
use bloomline_core::Error;
use bloomline_core::host::AnyFilter;

/// BF.MERGE destination source [source ...]
pub struct Merge;

/// The keyspace event of a filter that a merge has changed or created.
const MERGED: &CStr = c"bloom.merge";

impl Handler for Merge {
    const ARGS: ArgCount = 3..=usize::MAX;

    fn is_unknown_to_redisbloom(_rest: Args) -> bool {
        true
    }

    fn run(call: Call) -> Result<(), Failure> {
        // Merging the destination with itself changes nothing, and it must not be borrowed twice.
        let is_destination = |name: &[u8]| name == call.key.bytes();
        let names = || call.rest.iter().filter(|name| !is_destination(name.bytes()));
        let keys: Vec<Key> = names().map(|name| Key::read(call.context, name)).collect();
        let mut sources = Vec::with_capacity(keys.len());
        for (key, name) in keys.iter().zip(names()) {
            sources.push(access::optional(key)?.ok_or_else(|| no_source(name))?);
        }
        let mut key = access::write(call);
        let limits = Limits::of(call.source);
        let merged = match access::optional_mut::<AnyFilter>(&mut key)? {
            Some(mut filter) => {
                let union = |filter: &mut AnyFilter| filter.union(&sources, &mut limits.permit());
                filter.replace(union).map(Merged::Existing)
            }
            None if sources.len() < call.rest.len() => return Err(no_source(call.key)),
            None => union_of(&sources, &limits).map(Merged::New),
        };
        let refused = |error| {
            limits.refuse(&MERGE, call.key, error);
            error::merge(error, &limits)
        };
        let is_changed = match merged.map_err(refused)? {
            Merged::Existing(is_changed) => is_changed,
            Merged::New(filter) => {
                store(&mut key, filter);
                true
            }
        };
        if is_changed {
            MERGES.add(1);
            let filter: &AnyFilter = access::existing(&key)?;
            replicate::rewrite(call.context, call.key, filter, key.expires_at());
            // The sources are closed as well: a subscriber may delete them.
            drop(keys);
            call.signal(key, MERGED);
        }
        call.context.simple(c"OK");
        Ok(())
    }
}

/// The result of a merge.
enum Merged {
    /// The destination existed; true if it was changed.
    Existing(bool),
    /// The destination is missing.
    New(AnyFilter),
}

/// The union of filters, at least one, as a new filter.
fn union_of(sources: &[&AnyFilter], limits: &Limits) -> Result<AnyFilter, Error> {
    let (first, others) = sources.split_first().ok_or(Error::OutOfMemory(0))?;
    let mut filter = first.try_clone(&mut limits.permit())?;
    filter.union(others, &mut limits.permit())?;
    Ok(filter)
}
