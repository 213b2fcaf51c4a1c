//! CF.BULKADD: items packed in one string.

use std::ffi::CStr;

use super::add::{self, STORED};
use super::error;
use super::options::NewFilter;
use crate::command::access;
use crate::command::answers::Answers;
use crate::command::bulk::{self, BulkCommand, BulkResult, Done};
use crate::command::handler::Call;
use crate::command::items::{ReplicationMemory, count_refused};
use crate::command::packed::Packed;
use crate::policy::limits::Limits;
use crate::policy::replicate::NewItems;
use bloomline_core::host::cuckoo::AnyCuckoo;

pub struct BulkAdd;

impl BulkCommand for BulkAdd {
    fn process(call: Call, items: Packed, answers: &mut Answers) -> BulkResult {
        if items.len() == 0 {
            return Ok(None);
        }
        let ReplicationMemory { new, list } = ReplicationMemory::to_packed(call, items)?;
        let insert = |filter: &mut AnyCuckoo| insert_items(call, filter, items, new, answers);
        let mut key = access::write(call);
        let written = add::write_to(call, &mut key, Some(NewFilter::by_default), insert)?;
        let (stored, refusal) = &written.outcome;
        add::commit(call, key, &written, |key| {
            bulk::replicate_packed::<AnyCuckoo>(call, key, stored, items, list, &STORED);
        });
        Ok(*refusal)
    }

    fn describe(done: &Done) -> String {
        let Done { unit, processed, ones, .. } = done;
        format!("{ones} of {processed} {unit}s were added")
    }
}

/// Adds items. Returns which were stored, and the error reply for the first that was not: the next
/// ones are tried, as by CF.INSERT.
fn insert_items(
    call: Call,
    filter: &mut AnyCuckoo,
    items: Packed,
    mut stored: NewItems,
    answers: &mut Answers,
) -> (NewItems, Option<&'static CStr>) {
    let (limits, layout) = (Limits::of(call.source), filter.layout());
    let mut refusal = None;
    let permit = &mut limits.permit_within_expansions(filter.options().max_iterations);
    filter.insert_batch(items.iter(), false, permit, |result| {
        answers.push(result.is_ok());
        match result {
            Ok(is_stored) => stored.record(is_stored),
            Err(error) => {
                count_refused(call, layout, error, &limits);
                stored.record_refused();
                refusal.get_or_insert(error::insertion(error, &limits));
            }
        }
    });
    // An error of an item that is replicated would be one in the replication stream.
    (stored, refusal.filter(|_| !call.source.is_replicated_or_loaded()))
}
