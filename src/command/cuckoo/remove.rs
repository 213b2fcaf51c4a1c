//! CF.DEL and CF.MDEL.

use std::ffi::CStr;

use super::add::Reply;
use super::error::NOTHING_TO_DELETE;
use crate::command::error::Failure;
use crate::command::handler::{Call, Handler};
use crate::data_type::handle::{Lookup, filter_mut};
use crate::policy::counters::{CF_DELETES, CF_DELETES_MISSED};
use crate::policy::replicate::{self, ItemCommands, NewItems};
use crate::server::args::Args;
use crate::server::key::Key;
use bloomline_core::host::cuckoo::AnyCuckoo;

/// The keyspace event of a call that deleted items.
const DELETED: &CStr = c"cuckoo.del";

/// How items that were deleted are replicated.
static DELETIONS: ItemCommands = ItemCommands { one: c"CF.DEL", several: c"CF.MDEL", before: None };

/// CF.DEL key item
pub struct Del;
/// CF.MDEL key item [item ...]
pub struct Mdel;

impl Handler for Del {
    const MIN_ARGS: usize = 3;
    const MAX_ARGS: usize = 3;

    fn run(call: Call) -> Result<(), Failure> {
        delete(call, Reply::Single)
    }
}

impl Handler for Mdel {
    const MIN_ARGS: usize = 3;

    fn is_unknown_to_redisbloom(_rest: Args) -> bool {
        true
    }

    fn run(call: Call) -> Result<(), Failure> {
        delete(call, Reply::Array)
    }
}

/// Deletes the items of a call, and replies for each.
fn delete(call: Call, reply: Reply) -> Result<(), Failure> {
    let mut key = Key::write(call.context, call.key);
    let Lookup::Found(mut filter) = filter_mut::<AnyCuckoo>(&mut key) else {
        return Err(NOTHING_TO_DELETE.into());
    };
    let items = call.rest;
    if reply == Reply::Array {
        call.context.array(items.len());
    }
    let mut deleted = NewItems::default();
    for item in items.bytes() {
        let is_deleted = filter.remove(item);
        deleted.record(is_deleted);
        call.context.boolean(is_deleted);
    }
    drop(filter);
    let count = deleted.len();
    CF_DELETES.add(count as u64);
    CF_DELETES_MISSED.add((items.len() - count) as u64);
    if reply == Reply::Array && !replicate::replicas_know_own_commands() {
        replicate::each(call.context, call.key, DELETIONS.one, deleted.select(items.bytes()));
    } else if deleted.are_nearly_all() {
        call.context.replicate_verbatim();
    } else {
        deleted.replicate(call.context, call.key, items, &DELETIONS);
    }
    if count > 0 {
        // Closed before the event: a subscriber may delete the key.
        drop(key);
        call.context.signal_change(call.key, DELETED);
    }
    Ok(())
}
