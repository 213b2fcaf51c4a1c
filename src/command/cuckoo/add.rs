//! CF.ADD, CF.ADDNX, CF.INSERT and CF.INSERTNX.

use std::ffi::CStr;

use super::create::{self, RESERVED};
use super::error::{self, TOO_MANY_EXPANSIONS};
use super::options::{InsertArgs, NewFilter};
use crate::command::access::{self, Vacant, WriteOutcome};
use crate::command::error::{Failure, NOT_FOUND};
use crate::command::handler::{ArgCount, Call, Handler};
use crate::command::items::{ReplicationMemory, count_refused};
use crate::data_type::handle::Outcome;
use crate::policy::layout::LayoutRow;
use crate::policy::limits::{GROWTH, Limits};
use crate::policy::replicate::{ItemCommands, NewItems};
use crate::server::args::Args;
use crate::server::key::Key;
use bloomline_core::host::cuckoo::AnyCuckoo;
use bloomline_core::{Error, Layout};

/// The keyspace event of a call that added items.
const ADDED: &CStr = c"cuckoo.add";

/// How items that were stored are replicated. Those that were not, because they exist or the filter
/// is full, change nothing.
pub static STORED: ItemCommands = ItemCommands {
    one: c"CF.ADD",
    several: c"CF.INSERT",
    before: Some(c"ITEMS"),
    is_several_known: true,
    packed: c"CF.BULKADD",
};

/// CF.ADD key item
pub struct Add;
/// CF.ADDNX key item
pub struct AddNx;
/// CF.INSERT key [CAPACITY n] [NOCREATE] [ERROR rate] [LAYOUT name] [TTL seconds] [SEED n] ITEMS
/// item [item ...]
pub struct Insert;
/// CF.INSERTNX key [CAPACITY n] [NOCREATE] [ERROR rate] [LAYOUT name] [TTL seconds] [SEED n] ITEMS
/// item [item ...]
pub struct InsertNx;

#[derive(Clone, Copy, PartialEq, Eq)]
enum ItemsToAdd {
    /// All.
    All,
    /// Those that are not found.
    OnlyNew,
}

impl Handler for Add {
    const ARGS: ArgCount = 3..=3;

    fn run(call: Call) -> Result<(), Failure> {
        add_one(call, ItemsToAdd::All)
    }
}

impl Handler for AddNx {
    const ARGS: ArgCount = 3..=3;

    fn run(call: Call) -> Result<(), Failure> {
        add_one(call, ItemsToAdd::OnlyNew)
    }
}

impl Handler for Insert {
    const ARGS: ArgCount = 4..=usize::MAX;

    fn run(call: Call) -> Result<(), Failure> {
        add(call, &InsertArgs::parse(call)?, ItemsToAdd::All)
    }
}

impl Handler for InsertNx {
    const ARGS: ArgCount = 4..=usize::MAX;

    fn run(call: Call) -> Result<(), Failure> {
        add(call, &InsertArgs::parse(call)?, ItemsToAdd::OnlyNew)
    }
}

/// Adds the one item of a call to the filter of a key, which is created if it is missing.
fn add_one(call: Call, to_add: ItemsToAdd) -> Result<(), Failure> {
    let insert = |filter: &mut AnyCuckoo| insert_item(call, filter, to_add);
    let mut key = access::write(call);
    let written = write_to(call, &mut key, Some(NewFilter::by_default), insert)?;
    commit(call, key, &written, |_| {
        if written.outcome {
            call.context.replicate_verbatim();
        }
    });
    Ok(())
}

/// Adds items to the filter of a key, which is created if there are options for it.
fn add(call: Call, args: &InsertArgs, to_add: ItemsToAdd) -> Result<(), Failure> {
    let if_missing = args.if_missing.map(|new| move || new);
    let ReplicationMemory { new, list } = ReplicationMemory::to(call, args.items)?;
    let insert = |filter: &mut AnyCuckoo| insert_items(call, filter, args.items, new, to_add);
    let mut key = access::write(call);
    let written = write_to(call, &mut key, if_missing, insert)?;
    let stored = &written.outcome;
    commit(call, key, &written, |_| {
        if args.is_plain && stored.are_nearly_all() {
            call.context.replicate_verbatim();
        } else {
            stored.replicate(call.context, call.key, args.items, list, &STORED);
        }
    });
    Ok(())
}

/// Calls `write` with the filter of a key. A missing filter is created if there are options for it.
#[inline(always)]
pub fn write_to<T: Outcome>(
    call: Call,
    key: &mut Key,
    mut if_missing: Option<impl FnOnce() -> NewFilter>,
    write: impl FnOnce(&mut AnyCuckoo) -> T,
) -> Result<WriteOutcome<T>, Failure> {
    let create = |vacant: Vacant| {
        let new = if_missing.take().ok_or(NOT_FOUND)?();
        // RedisBloom creates the filter first, and does not replicate it.
        check_expansions(call, new.layout(call.source), 1)?;
        create::create(call, vacant, &new)
    };
    let prepare =
        |filter: &mut AnyCuckoo| check_expansions(call, filter.layout(), filter.table_count());
    access::write_or_create(call, key, create, prepare, |filter, _| write(filter))
}

/// Ends a call that adds items: those that were stored, which may be none if the filter was only
/// created, are replicated by `replicate`, and the events are sent.
#[inline(always)]
pub fn commit<T: Outcome>(
    call: Call,
    key: Key,
    written: &WriteOutcome<T>,
    replicate: impl FnOnce(&Key),
) {
    let events = [(written.is_created, RESERVED), (written.outcome.has_changed(), ADDED)];
    call.commit(key, written.changed, replicate, events);
}

/// Adds the one item of a call, and replies. True if it was stored.
#[inline(always)]
fn insert_item(call: Call, filter: &mut AnyCuckoo, to_add: ItemsToAdd) -> bool {
    let Some(item) = call.rest.get(0) else { return false };
    let limits = Limits::of(call.source);
    let permit = &mut limits.permit_within_expansions(filter.options().max_iterations);
    let only_new = to_add == ItemsToAdd::OnlyNew;
    match filter.insert_one(item.bytes(), only_new, permit) {
        Ok(is_stored) => {
            call.context.boolean(is_stored);
            is_stored
        }
        Err(error) => {
            count_refused(call, filter.layout(), error, &limits);
            // An error of an item that is replicated would be one in the replication stream, which
            // some servers do not survive.
            if call.source.is_replicated_or_loaded() {
                call.context.boolean(false);
            } else {
                call.context.error(error::insertion(error, &limits));
            }
            false
        }
    }
}

/// Adds items, and replies for each.
fn insert_items(
    call: Call,
    filter: &mut AnyCuckoo,
    items: Args,
    mut stored: NewItems,
    to_add: ItemsToAdd,
) -> NewItems {
    let (limits, layout) = (Limits::of(call.source), filter.layout());
    call.context.array(items.len());
    let permit = &mut limits.permit_within_expansions(filter.options().max_iterations);
    let only_new = to_add == ItemsToAdd::OnlyNew;
    filter.insert_batch(items.bytes(), only_new, permit, |result| match result {
        Ok(is_stored) => {
            stored.record(is_stored);
            match to_add {
                ItemsToAdd::All => call.context.boolean(is_stored),
                ItemsToAdd::OnlyNew => call.context.integer(is_stored.into()),
            }
        }
        Err(error) => {
            stored.record_refused();
            count_refused(call, layout, error, &limits);
            refuse(call, to_add);
        }
    });
    stored
}

/// Checks the number of tables before a call adds items, as RedisBloom does: a filter of its layout
/// that has as many as it may have takes no more items. What a primary or a file adds has passed
/// the check there.
fn check_expansions(call: Call, layout: Layout, tables: u32) -> Result<(), Failure> {
    let limits = Limits::of(call.source);
    if !LayoutRow::of(layout).is_redisbloom || limits.allows_expansion(tables) {
        return Ok(());
    }
    limits.refuse(&GROWTH, call.key, Error::TooManyTables(tables));
    Err(TOO_MANY_EXPANSIONS.into())
}

/// Replies for an item that cannot be added. RedisBloom's answers differ: -1, but false for clients
/// of RESP3 if all items were to be added.
#[cold]
fn refuse(call: Call, to_add: ItemsToAdd) {
    if to_add == ItemsToAdd::All && call.context.has_booleans() {
        call.context.boolean(false);
    } else {
        call.context.integer(-1);
    }
}
