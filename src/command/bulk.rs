//! Commands whose items are packed in one string; among them BF.BULKEXISTS and CF.BULKEXISTS.
//!
//! The server parses one argument and sends one reply, however many items there are. Otherwise they
//! are the commands with one argument per item: BF.BULKADD is BF.MADD, and items added by either
//! command are found by the other.

use std::ffi::CStr;
use std::marker::PhantomData;

use super::access;
use super::answers::Answers;
use super::error::Failure;
use super::handler::{ArgCount, Call, Handler};
use super::items::no_memory;
use super::packed::{self, BulkReply, Packed};
use super::read::Contains;
use crate::data_type::handle::DataType;
use crate::data_type::replicate::{is_own, plainly};
use crate::policy::replicate::{self, ItemCommands, NewItems};
use crate::server::key::Key;

/// A command whose items are packed in one string: `key FIXED width data | PREFIXED data | LINES
/// data [COUNT]`.
pub struct Bulk<C>(PhantomData<C>);

/// The error reply for an item that was refused, or that of the whole call.
pub type BulkResult = Result<Option<&'static CStr>, Failure>;

/// What such a command does with its items.
pub trait BulkCommand {
    /// Processes the items, and pushes the answer to each.
    ///
    /// # Errors
    ///
    /// The error reply of the whole call.
    fn process(call: Call, items: Packed, answers: &mut Answers) -> BulkResult;

    /// What a call with COUNT has done, if an item was refused.
    fn describe(_done: &Done) -> String {
        String::new()
    }
}

impl<C: BulkCommand> Handler for Bulk<C> {
    const ARGS: ArgCount = 4..=7;

    fn run(call: Call) -> Result<(), Failure> {
        let (items, reply) = packed::parse(call.rest)?;
        let mut answers = Answers::to(items).ok_or_else(|| no_memory(call))?;
        let refusal = C::process(call, items, &mut answers)?;
        send(call, items, answers, reply, refusal, C::describe)
    }
}

/// BF.BULKEXISTS, and CF.BULKEXISTS
pub struct BulkExists<F>(PhantomData<F>);

impl<F: Contains> BulkCommand for BulkExists<F> {
    fn process(call: Call, items: Packed, answers: &mut Answers) -> BulkResult {
        let key = access::read(call);
        match access::found::<F>(&key) {
            Some(filter) => filter.contains_batch(items.iter(), |found| answers.push(found)),
            None => items.iter().for_each(|_| answers.push(false)),
        }
        Ok(None)
    }
}

/// Replicates the items of a call that changed the filter: verbatim if they are nearly all, or
/// packed in the same form into `list`, which has room for them. In layouts of other modules, which
/// know no packed items, plainly.
pub fn replicate_packed<F: DataType>(
    call: Call,
    key: &Key,
    changed: &NewItems,
    items: Packed,
    mut list: Vec<u8>,
    by: &ItemCommands,
) {
    let selected = changed.select(items.iter());
    match access::found::<F>(key) {
        Some(filter) if !is_own(&*filter) => {
            let filter = (&*filter, key.expires_at());
            plainly(call.context, call.key, filter, by, selected);
        }
        _ if changed.are_nearly_all() => call.context.replicate_verbatim(),
        _ if changed.is_empty() => {}
        _ => {
            let form = items.form();
            form.pack(selected, &mut list);
            replicate::packed(call.context, call.key, by, form.name(), form.width(), &list);
        }
    }
}

/// What a bulk call has done before its reply.
pub struct Done<'a> {
    /// `item` or `line`.
    pub unit: &'a str,
    /// Items and empty lines of the call.
    pub all: usize,
    /// Those that were processed.
    pub processed: usize,
    /// The ones among the answers.
    pub ones: usize,
}

/// Replies with the number of items and empty lines that were processed, their answers, and the
/// error of a refused item.
///
/// # Errors
///
/// The error of a call with COUNT, with the text of `describe`. Nobody looks for an error behind
/// two numbers: `redis-cli -e` and scripts in Lua see only one that is the whole reply.
fn send(
    call: Call,
    items: Packed,
    mut answers: Answers,
    reply: BulkReply,
    refusal: Option<&CStr>,
    describe: impl FnOnce(&Done) -> String,
) -> Result<(), Failure> {
    answers.end_empty_lines();
    let answers = answers.into_bits();
    let processed = answers.count();
    if let (BulkReply::Count, Some(text)) = (reply, refusal) {
        let (unit, all, ones) = (items.form().unit(), items.answers(), answers.ones());
        let described = describe(&Done { unit, all, processed, ones });
        return Err(Failure::Formatted(format!("{}: {described}", text.to_string_lossy())));
    }
    call.context.array(2 + usize::from(refusal.is_some()));
    call.context.count(processed as u64);
    match reply {
        BulkReply::Bitmap => call.context.bulk(&answers.into_bitmap()),
        BulkReply::Count => call.context.count(answers.ones() as u64),
    }
    if let Some(text) = refusal {
        call.context.error(text);
    }
    Ok(())
}
