//! BF.ADD, BF.MADD and BF.INSERT.
//!
//! ```text
//! handler -> add -> access -> data_type::handle -> server::key
//!                -> policy::limits, policy::replicate::NewItems
//!                -> core: insert_batch, which replies per item
//! ```

use std::ffi::CStr;
use std::ops::ControlFlow;

use super::create::{self, RESERVED};
use super::options::{Dialect, FilterOptions};
use super::parse::{self, InsertArgs};
use super::rotate::{ROTATED, Rotation, RotationOutcome};
use super::window::WindowOptions;
use crate::command::access::{self, Vacant, WriteOutcome};
use crate::command::error::{self, Failure, NOT_FOUND};
use crate::command::handler::{ArgCount, Call, Handler};
use crate::command::items::{ReplicationMemory, count_refused};
use crate::data_type::handle::Outcome;
use crate::policy::limits::Limits;
use crate::policy::replicate::{self, NewItems};
use crate::server::args::Args;
use crate::server::key::Key;
use bloomline_core::host::AnyFilter;
use bloomline_core::{Error, Layout};

/// The keyspace event of a call that inserted items.
const ADDED: &CStr = c"bloom.add";

/// BF.ADD key item
pub struct Add;
/// BF.MADD key item [item ...]
pub struct Madd;
/// BF.INSERT key [option ...] ITEMS item [item ...]; in valkey-bloom's layout also without items
pub struct Insert;

impl Handler for Add {
    const ARGS: ArgCount = 3..=3;

    fn run(call: Call) -> Result<(), Failure> {
        let options = || FilterOptions::default_for(Dialect::of(call.source));
        let insert = |filter: &mut AnyFilter, now| insert_item(call, filter, now);
        let mut key = access::write(call);
        let written = write_to(call, &mut key, AddTarget::any(options), 1, insert)?;
        written.commit(call, key, |_| {
            if written.outcome.items {
                call.context.replicate_verbatim();
            }
        });
        Ok(())
    }
}

impl Handler for Madd {
    const ARGS: ArgCount = 3..=usize::MAX;

    fn run(call: Call) -> Result<(), Failure> {
        let options = || FilterOptions::default_for(Dialect::of(call.source));
        add(call, call.rest, AddTarget::any(options), Replication::Verbatim)
    }
}

impl Handler for Insert {
    const ARGS: ArgCount = 3..=usize::MAX;

    fn run(call: Call) -> Result<(), Failure> {
        let insert = parse::insert(call.rest, Dialect::of_insert(call.source, call.rest))
            .or_else(|failure| without_options(call).ok_or(failure))?;
        insert.options.check_reach(call.source)?;
        if call.source.is_replicated_or_loaded()
            && let Some(options) = insert.creation()
            && (insert.items.is_empty() || !is_of_valkey_bloom(call))
        {
            create::reserve(call, options)?;
            if insert.items.is_empty() {
                call.context.array(0);
                return Ok(());
            }
        }
        let if_missing = insert.may_create.then_some(|| insert.options);
        let target = AddTarget { if_missing, window: insert.options.window };
        add(call, insert.items, target, Replication::Items)
    }
}

/// True if the key holds a filter in valkey-bloom's layout.
fn is_of_valkey_bloom(call: Call) -> bool {
    let key = access::read(call);
    access::found::<AnyFilter>(&key).is_some_and(|filter| filter.valkey().is_some())
}

/// The items of a call whose options are refused here, if it adds to a filter that exists, where
/// options mean nothing. The primary or the file that made the call has inserted them, so that they
/// must not be missing here. None for other calls.
#[cold]
fn without_options<'a>(call: Call<'a>) -> Option<InsertArgs<'a>> {
    let is_existing = || access::found::<AnyFilter>(&access::write(call)).is_some();
    let is_addition = call.source.is_replicated_or_loaded() && is_existing();
    is_addition.then(|| parse::items_alone(call.rest)).flatten()
}

/// The filter that a call adds to.
pub struct AddTarget<F> {
    /// The options with which a missing filter is created; if there are none, it is an error.
    pub if_missing: Option<F>,
    /// When an existing filter must forget.
    pub window: WindowOptions,
}

impl<F> AddTarget<F> {
    /// Any filter, or the one of the options if there is none.
    pub fn any(if_missing: F) -> Self {
        Self { if_missing: Some(if_missing), window: WindowOptions::default() }
    }
}

/// How new items are replicated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Replication {
    /// Verbatim if nearly all items of the call are new: that is cheaper than a new call. Otherwise
    /// like `Items`.
    Verbatim,
    /// Always as BF.ADD or BF.MADD: replicas may not know the options of the call.
    Items,
}

/// What a call added to a filter.
pub struct AddOutcome<T> {
    /// The items that were written.
    pub items: T,
    rotation: RotationOutcome,
    /// True if the filter was created, and is not replicated yet.
    is_pending: bool,
}

impl<T: Outcome> Outcome for AddOutcome<T> {
    #[inline]
    fn has_changed(&self) -> bool {
        self.items.has_changed() || self.rotation.has_changed()
    }
}

impl<T: Outcome> WriteOutcome<AddOutcome<T>> {
    /// Ends the call: its additions are replicated by `replicate`, and its events are sent. There
    /// may be no additions, if the filter was only created or has rotated.
    #[inline(always)]
    pub fn commit(&self, call: Call, key: Key, replicate: impl FnOnce(&Key)) {
        let Self { outcome, changed, is_created } = self;
        let AddOutcome { items, rotation, is_pending } = outcome;
        let has_new = items.has_changed();
        let events = [(*is_created, RESERVED), (rotation.is_opened, ROTATED), (has_new, ADDED)];
        let replicate = |key: &Key| {
            if *is_pending { create::replicate_items(call, key) } else { replicate(key) }
        };
        call.commit(key, *changed, replicate, events);
    }
}

/// Calls `write` with the filter of a key, to which it adds `items` items, and with the time of the
/// call. A missing filter is created if there are options for it, and a windowed one rotates if
/// that is due. The creation and the rotation are replicated before the items, or the creation with
/// them.
#[inline(always)]
pub fn write_to<T: Outcome>(
    call: Call,
    key: &mut Key,
    target: AddTarget<impl FnOnce() -> FilterOptions>,
    items: usize,
    write: impl FnOnce(&mut AnyFilter, u64) -> T,
) -> Result<WriteOutcome<AddOutcome<T>>, Failure> {
    let AddTarget { mut if_missing, window } = target;
    let mut is_pending = false;
    let create = |vacant: Vacant| {
        let options = if_missing.take().ok_or(NOT_FOUND)?();
        let created = create::create(call, vacant, options, items)?;
        is_pending = created.is_pending;
        Ok(created.changed)
    };
    let prepare = |filter: &mut AnyFilter| {
        window.check_existing(filter)?;
        Rotation::begin(call, filter, items)
    };
    let write = |filter: &mut AnyFilter, rotation: Option<Rotation>| {
        let rotation = rotation.unwrap_or_else(|| Rotation::of_new(call, filter, items));
        let items = write(filter, rotation.now);
        AddOutcome { items, rotation: rotation.finish(call, filter), is_pending: false }
    };
    let mut written = access::write_or_create(call, key, create, prepare, write)?;
    written.outcome.is_pending = is_pending;
    Ok(written)
}

/// Inserts items into the filter of a key.
fn add(
    call: Call,
    items: Args,
    target: AddTarget<impl FnOnce() -> FilterOptions>,
    replication: Replication,
) -> Result<(), Failure> {
    let ReplicationMemory { new, list } = ReplicationMemory::to(call, items)?;
    let insert = |filter: &mut AnyFilter, now| insert_items(call, filter, items, new, now);
    let mut key = access::write(call);
    let written = write_to(call, &mut key, target, items.len(), insert)?;
    let new = &written.outcome.items;
    written.commit(call, key, |key| {
        let is_verbatim = replication == Replication::Verbatim
            && new.are_nearly_all()
            && !may_be_refused_by_replicas(key, new.others());
        if is_verbatim {
            call.context.replicate_verbatim();
        } else {
            new.replicate(call.context, call.key, items, list, &replicate::ADD);
        }
    });
    Ok(())
}

/// True if a replica with valkey-bloom may refuse the verbatim call. From its next release on, it
/// refuses a BF.MADD as a whole if there is no room for all items, and may count those that are not
/// new: `others` in number.
///
/// A filter that grows may be at the end of its growth, where the same holds. That it has no room
/// for `others` is rare enough that nothing else needs to be known of it.
fn may_be_refused_by_replicas(key: &Key, others: usize) -> bool {
    others != 0
        && access::found::<AnyFilter>(key).is_some_and(|filter| {
            filter.layout() == Layout::ValkeyBloom && filter.room() < others as u64
        })
}

/// Inserts the one item of a call, and replies. True if it was written.
#[inline(always)]
fn insert_item(call: Call, filter: &mut AnyFilter, now: u64) -> bool {
    let Some(item) = call.rest.get(0) else { return false };
    let limits = Limits::of(call.source);
    match filter.insert(item.bytes(), now, &mut limits.permit()) {
        Ok(insertion) => {
            call.context.boolean(insertion.is_new());
            insertion.is_written()
        }
        Err(error) => {
            refuse(call, filter.layout(), error, &limits);
            false
        }
    }
}

/// Inserts items, and replies for each, up to the first for which the filter is full.
fn insert_items(
    call: Call,
    filter: &mut AnyFilter,
    items: Args,
    mut new: NewItems,
    now: u64,
) -> NewItems {
    let context = call.context;
    let may_end_early = filter.may_become_full() && (filter.room() as usize) < items.len();
    if may_end_early {
        context.array_of_unknown_len();
    } else {
        context.array(items.len());
    }
    let (limits, layout) = (Limits::of(call.source), filter.layout());
    let mut permit = limits.permit();
    let _ = filter.insert_batch(items.bytes(), now, &mut permit, |result| match result {
        Ok(insertion) => {
            new.record(insertion.is_written());
            context.boolean(insertion.is_new());
            ControlFlow::Continue(())
        }
        Err(error) => refuse_one(&mut new, &call, layout, error, &limits),
    });
    if may_end_early {
        context.array_len(new.recorded());
    }
    new
}

/// Records and replies for one of several items that was not inserted. The first one for which the
/// filter is full is the last one of the call.
// Not inlined, and by reference, so that the answer to an item that was inserted stays short.
#[cold]
#[inline(never)]
fn refuse_one(
    new: &mut NewItems,
    call: &Call,
    layout: Layout,
    error: Error,
    limits: &Limits,
) -> ControlFlow<()> {
    new.record_refused();
    let is_full = matches!(error, Error::Full(_));
    refuse(*call, layout, error, limits);
    if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// Replies for an item that was not inserted. An error for one that is replicated or loaded would
/// be an error in the replication stream, which some servers do not survive.
#[cold]
fn refuse(call: Call, layout: Layout, error: Error, limits: &Limits) {
    match refused(call, layout, error, limits) {
        Some(text) => call.context.error(text),
        None => call.context.boolean(false),
    }
}

/// Counts and logs an item that was not inserted. Returns the error reply; none for an item that is
/// replicated or loaded from a file.
#[cold]
pub fn refused(call: Call, layout: Layout, error: Error, limits: &Limits) -> Option<&'static CStr> {
    count_refused(call, layout, error, limits);
    (!limits.source.is_replicated_or_loaded()).then(|| error::insertion(error))
}
