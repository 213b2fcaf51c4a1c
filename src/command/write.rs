//! BF.RESERVE, BF.ADD, BF.MADD and BF.INSERT.

use std::ffi::CStr;

use super::args::{self, Asked, Sender};
use super::handler::{Call, Handler};
use super::text::{self, Failure, ITEM_EXISTS, NOT_FOUND, WRONG_TYPE};
use crate::data_type::handle::{Lookup, filter_mut, store};
use crate::server::args::Args;
use crate::server::counters::{CREATIONS_REFUSED, GROWTHS_REFUSED};
use crate::server::key::Key;
use crate::server::limits::Limits;
use crate::server::replicate::NewItems;
use crate::server::reply::Context;
use crate::server::{log, seed};
use bloomline_core::{AnyFilter, Error, Filter, Growth, Layout};

/// The event of a filter that was created.
const RESERVED: &CStr = c"bloom.reserve";
/// The event of items that were new.
const ADDED: &CStr = c"bloom.add";

/// BF.RESERVE key error_rate capacity [EXPANSION n] [NONSCALING]
pub struct Reserve;
/// BF.ADD key item
pub struct Add;
/// BF.MADD key item [item ...]
pub struct Madd;
/// BF.INSERT key [option ...] ITEMS item [item ...]
pub struct Insert;

impl Handler for Reserve {
    const LEAST: usize = 4;
    fn run(call: Call) -> Result<(), Failure> {
        let asked = args::reserve(call.key, call.rest, sender(call.context))?;
        let mut key = Key::write(call.context, call.key);
        match filter_mut(&mut key) {
            Lookup::Found(_) => return Err(ITEM_EXISTS.into()),
            Lookup::WrongType => return Err(WRONG_TYPE.into()),
            Lookup::Missing => {}
        }
        create(call, &mut key, asked)?;
        // The last use of the key: whoever is told of the event may delete it.
        drop(key);
        call.context.signal_change(call.key, RESERVED);
        call.context.simple(c"OK");
        Ok(())
    }
}

impl Handler for Add {
    const LEAST: usize = 3;
    const MOST: usize = 3;

    fn run(call: Call) -> Result<(), Failure> {
        let asked = || Asked::by_default(sender(call.context));
        add(call, call.rest, Some(asked), Replicate::Call, Reply::Single)
    }
}

impl Handler for Madd {
    const LEAST: usize = 3;

    fn run(call: Call) -> Result<(), Failure> {
        let asked = || Asked::by_default(sender(call.context));
        add(call, call.rest, Some(asked), Replicate::Call, Reply::Array)
    }
}

impl Handler for Insert {
    const LEAST: usize = 4;

    fn run(call: Call) -> Result<(), Failure> {
        let insert = args::insert(call.rest, sender(call.context))?;
        let asked = insert.may_create.then_some(|| insert.asked);
        add(call, insert.items, asked, Replicate::Items, Reply::Array)
    }
}

/// How the answers are sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reply {
    /// The answer for the one item.
    Single,
    /// An array with an answer an item.
    Array,
}

/// How new items are replicated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Replicate {
    /// By the call, if nearly all its items are new: it is cheaper to repeat than to make another
    /// one.
    Call,
    /// By a call of BF.ADD or BF.MADD always: the words of this one are not those of every replica.
    Items,
}

/// Who sends the call, and so how it is read. A script that is repeated is read as the client's
/// that it was.
fn sender(context: Context) -> Sender {
    if context.is_obeyed() && !context.is_in_old_script() {
        Sender::RedisBloom
    } else {
        Sender::Client
    }
}

/// Adds items to the key's filter, which is made if it is missing and may be.
fn add(
    call: Call,
    items: Args,
    mut asked: Option<impl FnOnce() -> Asked>,
    replicate: Replicate,
    reply: Reply,
) -> Result<(), Failure> {
    let mut key = Key::write(call.context, call.key);
    let mut is_created = false;
    let new = loop {
        match filter_mut(&mut key) {
            Lookup::WrongType => return Err(WRONG_TYPE.into()),
            Lookup::Missing => {}
            Lookup::Found(mut filter) => break insert_items(call, &mut filter, items, reply),
        }
        create(call, &mut key, asked.take().ok_or(NOT_FOUND)?())?;
        is_created = true;
    };
    if replicate == Replicate::Call && new.are_nearly_all() {
        call.context.replicate_call();
    } else {
        call.context.replicate_items(call.key, &new);
    }
    // The last use of the key: whoever is told of the events may delete it.
    drop(key);
    if is_created {
        call.context.signal_change(call.key, RESERVED);
    }
    if !new.is_none() {
        call.context.signal_change(call.key, ADDED);
    }
    Ok(())
}

/// Adds items and answers for each.
fn insert_items<'a>(
    call: Call,
    filter: &mut AnyFilter,
    items: Args<'a>,
    reply: Reply,
) -> NewItems<'a> {
    let context = call.context;
    let mut new = NewItems::of(items);
    // Only a filter that refuses items may answer for fewer than it was given.
    let may_end_early = filter.growth() == Growth::Fixed && (filter.room() as usize) < items.len();
    match reply {
        Reply::Single => {}
        Reply::Array if may_end_early => context.array_of_unknown_len(),
        Reply::Array => context.array(items.len()),
    }
    let limits = Limits::of_call(context);
    let mut permit = limits.permit();
    let mut answer = |result: Result<bool, Error>| match result {
        Ok(is_new) => {
            new.record(is_new);
            context.boolean(is_new);
        }
        Err(error) => {
            new.record_refused();
            refuse(call, error, &limits);
        }
    };
    match reply {
        Reply::Single => items.bytes().for_each(|item| answer(filter.insert(item, &mut permit))),
        Reply::Array => filter.insert_batch(items.bytes(), &mut permit, answer),
    }
    if may_end_early && reply == Reply::Array {
        context.array_len(new.seen());
    }
    new
}

/// Answers for an item that was not added.
#[cold]
fn refuse(call: Call, error: Error, limits: &Limits) {
    let is_obeyed = limits.origin().is_obeyed();
    if is_for_memory(error) {
        let (key, why) = (call.key.shown(), limits.reason(error));
        if is_obeyed {
            // A replica that left out an item would answer wrongly for ever after; the server's own
            // types end the same way.
            log::end(&format!("filter '{key}' must grow for a primary or a file, but {why}"));
        }
        GROWTHS_REFUSED.add(1);
        log::refusal(format_args!("growth of filter '{key}' refused: {why}"));
    }
    if is_obeyed {
        // An error here would be one in the stream, which some servers do not survive.
        call.context.boolean(false);
    } else {
        call.context.error(text::insertion(error));
    }
}

/// Makes the key hold a new filter, and replicates it.
fn create(call: Call, key: &mut Key, asked: Asked) -> Result<(), Failure> {
    let limits = Limits::of_call(call.context);
    let created = match asked.layout {
        Layout::Bloomline => {
            let seed = match call.context.repeatable_seed(call.key.bytes()) {
                Some(seed) => seed,
                None => seed::fresh().map_err(|error| text::no_seed(&error))?,
            };
            Filter::new(asked.spec, seed, &mut limits.permit()).map(AnyFilter::from)
        }
        Layout::RedisBloom => {
            AnyFilter::redisbloom(asked.spec, asked.stored_expansion, &mut limits.permit())
        }
    };
    let filter = created.map_err(|error| refused_creation(call, error, &limits))?;
    call.context.replicate_load(call.key, 1, &filter.encode_header());
    store(key, filter);
    Ok(())
}

/// Counts and logs a creation that was refused for want of memory, and says what the client is
/// told.
///
/// Ends the process where a primary or a file has created the filter: the rest builds on this key,
/// and the next addition would make another filter under its name.
pub fn refused_creation(call: Call, error: Error, limits: &Limits) -> Failure {
    if is_for_memory(error) {
        let (key, why) = (call.key.shown(), limits.reason(error));
        if limits.origin().is_obeyed() {
            log::end(&format!("filter '{key}' was created by a primary or a file, but {why}"));
        }
        CREATIONS_REFUSED.add(1);
        log::refusal(format_args!("creation of filter '{key}' refused: {why}"));
    }
    text::creation(error, limits)
}

fn is_for_memory(error: Error) -> bool {
    matches!(error, Error::Refused(_) | Error::OutOfMemory(_))
}
