//! BF.BULKADD: items packed in one string.

use std::ffi::CStr;
use std::ops::ControlFlow;

use super::add::{self, AddTarget};
use super::options::{Dialect, FilterOptions};
use crate::command::access;
use crate::command::answers::Answers;
use crate::command::bulk::{self, BulkCommand, BulkResult, Done};
use crate::command::handler::Call;
use crate::command::items::ReplicationMemory;
use crate::command::packed::Packed;
use crate::policy::limits::Limits;
use crate::policy::replicate::{ADD, NewItems};
use bloomline_core::host::AnyFilter;

pub struct BulkAdd;

impl BulkCommand for BulkAdd {
    fn process(call: Call, items: Packed, answers: &mut Answers) -> BulkResult {
        if items.len() == 0 {
            return Ok(None);
        }
        let options = || FilterOptions::default_for(Dialect::of(call.source));
        let ReplicationMemory { new, list } = ReplicationMemory::to_packed(call, items)?;
        let insert =
            |filter: &mut AnyFilter, now| insert_items(call, filter, items, new, now, answers);
        let target = AddTarget::any(options);
        let mut key = access::write(call);
        let written = add::write_to(call, &mut key, target, items.len(), insert)?;
        let (new, refusal) = &written.outcome.items;
        written.commit(call, key, |key| {
            bulk::replicate_packed::<AnyFilter>(call, key, new, items, list, &ADD);
        });
        Ok(*refusal)
    }

    fn describe(done: &Done) -> String {
        let Done { unit, all, processed, ones } = done;
        let number = processed + 1;
        format!(
            "{unit} {number} of {all} was refused, {ones} of the {processed} before it were new"
        )
    }
}

/// Inserts items up to the first that is refused. Returns which were written, and the error reply
/// for the refused one.
fn insert_items(
    call: Call,
    filter: &mut AnyFilter,
    items: Packed,
    mut new: NewItems,
    now: u64,
    answers: &mut Answers,
) -> (NewItems, Option<&'static CStr>) {
    let (limits, layout) = (Limits::of(call.source), filter.layout());
    let mut refusal = None;
    let _ = filter.insert_batch(items.iter(), now, &mut limits.permit(), |result| match result {
        Ok(insertion) => {
            new.record(insertion.is_written());
            answers.push(insertion.is_new());
            ControlFlow::Continue(())
        }
        Err(error) => {
            new.record_refused();
            refusal = add::refused(call, layout, error, &limits);
            ControlFlow::Break(())
        }
    });
    (new, refusal)
}
