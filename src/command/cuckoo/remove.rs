//! CF.DEL, CF.MDEL and CF.BULKDEL.

use std::ffi::CStr;

use super::error::NOTHING_TO_DELETE;
use crate::command::access;
use crate::command::answers::Answers;
use crate::command::bulk::{self, BulkCommand, BulkResult};
use crate::command::error::Failure;
use crate::command::handler::{ArgCount, Call, Handler};
use crate::command::items::ReplicationMemory;
use crate::command::packed::Packed;
use crate::data_type::handle::{Changed, FilterMut};
use crate::data_type::replicate::{is_own, plainly};
use crate::policy::counters::{CF_DELETES, CF_DELETES_MISSED};
use crate::policy::replicate::{ItemCommands, NewItems};
use crate::server::key::Key;
use bloomline_core::host::cuckoo::AnyCuckoo;

/// The keyspace event of a call that deleted items.
const DELETED: &CStr = c"cuckoo.del";

/// How items that were deleted are replicated.
static DELETIONS: ItemCommands = ItemCommands {
    one: c"CF.DEL",
    several: c"CF.MDEL",
    before: None,
    is_several_known: false,
    packed: c"CF.BULKDEL",
};

/// CF.DEL key item
pub struct Del;
/// CF.MDEL key item [item ...]
pub struct Mdel;

impl Handler for Del {
    const ARGS: ArgCount = 3..=3;

    fn run(call: Call) -> Result<(), Failure> {
        let mut key = access::write(call);
        let mut filter: FilterMut<AnyCuckoo> = access::found_mut(&mut key, NOTHING_TO_DELETE)?;
        let is_deleted = filter
            .change(|filter| call.rest.get(0).is_some_and(|item| filter.remove(item.bytes())));
        call.context.boolean(is_deleted);
        let changed = filter.close();
        let counts = [is_deleted.into(), (!is_deleted).into()];
        commit(call, key, changed, counts, |_| call.context.replicate_verbatim());
        Ok(())
    }
}

impl Handler for Mdel {
    const ARGS: ArgCount = 3..=usize::MAX;

    fn run(call: Call) -> Result<(), Failure> {
        let items = call.rest;
        let ReplicationMemory { new: mut deleted, list } = ReplicationMemory::to(call, items)?;
        let mut key = access::write(call);
        let mut filter: FilterMut<AnyCuckoo> = access::found_mut(&mut key, NOTHING_TO_DELETE)?;
        call.context.array(items.len());
        let deleted = filter.change(|filter| {
            filter.remove_batch(items.bytes(), |is_deleted| {
                deleted.record(is_deleted);
                call.context.boolean(is_deleted);
            });
            deleted
        });
        let changed = filter.close();
        commit(call, key, changed, counts(&deleted), |key| match access::found::<AnyCuckoo>(key) {
            Some(filter) if !is_own(&*filter) => {
                let filter = (&*filter, key.expires_at());
                let items = deleted.select(items.bytes());
                plainly(call.context, call.key, filter, &DELETIONS, items);
            }
            _ if deleted.are_nearly_all() => call.context.replicate_verbatim(),
            _ => deleted.replicate(call.context, call.key, items, list, &DELETIONS),
        });
        Ok(())
    }
}

/// How many items a call has deleted, and how many were missing.
fn counts(deleted: &NewItems) -> [u64; 2] {
    let count = deleted.len();
    [count as u64, (deleted.recorded() - count) as u64]
}

/// Ends a call that deletes items: its deletions are added to the totals, replicated by
/// `replicate`, and reported.
fn commit(
    call: Call,
    key: Key,
    changed: Changed,
    [deleted, missed]: [u64; 2],
    replicate: impl FnOnce(&Key),
) {
    CF_DELETES.add(deleted);
    CF_DELETES_MISSED.add(missed);
    call.commit(key, changed, replicate, [(true, DELETED)]);
}

pub struct BulkDel;

impl BulkCommand for BulkDel {
    fn process(call: Call, items: Packed, answers: &mut Answers) -> BulkResult {
        let ReplicationMemory { new: mut deleted, list } =
            ReplicationMemory::to_packed(call, items)?;
        let mut key = access::write(call);
        let mut filter: FilterMut<AnyCuckoo> = access::found_mut(&mut key, NOTHING_TO_DELETE)?;
        let deleted = filter.change(|filter| {
            filter.remove_batch(items.iter(), |is_deleted| {
                deleted.record(is_deleted);
                answers.push(is_deleted);
            });
            deleted
        });
        let changed = filter.close();
        commit(call, key, changed, counts(&deleted), |key| {
            bulk::replicate_packed::<AnyCuckoo>(call, key, &deleted, items, list, &DELETIONS);
        });
        Ok(None)
    }
}
