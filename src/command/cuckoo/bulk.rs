//! CF.BULKADD: items packed in one string.

use std::ffi::CStr;

use super::add::{self, STORED};
use super::error;
use super::options::NewFilter;
use crate::command::add::count_refused;
use crate::command::answers::Answers;
use crate::command::bulk::{self, Done};
use crate::command::error::{Failure, NO_ANSWERS};
use crate::command::handler::{ArgCount, Call, Handler};
use crate::command::packed::{self, Packed};
use crate::policy::limits::Limits;
use crate::policy::replicate::{self, NewItems};
use crate::server::args::Args;
use bloomline_core::host::cuckoo::AnyCuckoo;

/// CF.BULKADD key FIXED width data | PREFIXED data | LINES data [COUNT]
pub struct BulkAdd;

impl Handler for BulkAdd {
    const ARGS: ArgCount = 4..=7;

    fn is_unknown_to_redisbloom(_rest: Args) -> bool {
        true
    }

    fn run(call: Call) -> Result<(), Failure> {
        let (items, reply) = packed::parse(call.rest)?;
        let mut answers = Answers::to(items).ok_or(NO_ANSWERS)?;
        if items.len() == 0 {
            return bulk::send(call, items, answers, reply, None, added);
        }
        let insert = |filter: &mut AnyCuckoo| insert_items(call, filter, items, &mut answers);
        let new = NewFilter::by_default();
        let ((stored, refusal), written) = add::write_to(call, Some(&new), insert)?;
        if replicate::replicas_know_own_commands() {
            bulk::replicate_packed(call, &stored, items, &STORED);
        } else {
            replicate::unpacked(call.context, call.key, &STORED, stored.select(items.iter()));
        }
        add::signal(call, written, &stored);
        bulk::send(call, items, answers, reply, refusal, added)
    }
}

/// How many items a call has added.
fn added(done: &Done) -> String {
    let Done { unit, processed, ones, .. } = done;
    format!("{ones} of {processed} {unit}s were added")
}

/// Adds items. Returns which were stored, and the error reply for the first that was not: the next
/// ones are tried, as by CF.INSERT.
fn insert_items(
    call: Call,
    filter: &mut AnyCuckoo,
    items: Packed,
    answers: &mut Answers,
) -> (NewItems, Option<&'static CStr>) {
    let limits = Limits::of(call.source);
    let (mut stored, mut refusal) = (NewItems::default(), None);
    filter.insert_batch(items.iter(), false, &mut limits.permit(), |result| {
        answers.push(result.is_ok());
        match result {
            Ok(is_stored) => stored.record(is_stored),
            Err(error) => {
                count_refused(call, error, &limits);
                stored.record_refused();
                refusal.get_or_insert(error::insertion(error));
            }
        }
    });
    // An error of an item that is replicated would be one in the replication stream.
    (stored, refusal.filter(|_| !call.source.is_replicated_or_loaded()))
}
