//! BF.EXISTS, BF.MEXISTS and BF.CARD.

use super::error::{Failure, WRONG_TYPE};
use super::handler::{Call, Handler};
use crate::data_type::handle::{Lookup, filter};
use crate::server::clock;
use crate::server::key::Key;
use bloomline_core::host::AnyFilter;

/// BF.EXISTS key item
pub struct Exists;
/// BF.MEXISTS key item [item ...]
pub struct Mexists;
/// BF.CARD key
pub struct Card;

/// The time for which a filter answers, in milliseconds. The clock is read only for a filter that
/// remembers by time.
#[inline]
pub fn now_for(filter: &AnyFilter) -> u64 {
    match filter.windowed() {
        Some(windowed) if windowed.has_time() => clock::now(),
        _ => 0,
    }
}

impl Handler for Exists {
    const MIN_ARGS: usize = 3;
    const MAX_ARGS: usize = 3;

    fn run(call: Call) -> Result<(), Failure> {
        let key = Key::read(call.context, call.key);
        let found = match filter::<AnyFilter>(&key) {
            Lookup::Found(filter) => {
                let now = now_for(filter);
                call.rest.bytes().all(|item| filter.contains(item, now))
            }
            // A key of another type does not contain the item.
            Lookup::Missing | Lookup::WrongType => false,
        };
        call.context.boolean(found);
        Ok(())
    }
}

impl Handler for Mexists {
    const MIN_ARGS: usize = 3;

    fn run(call: Call) -> Result<(), Failure> {
        let key = Key::read(call.context, call.key);
        call.context.array(call.rest.len());
        match filter::<AnyFilter>(&key) {
            Lookup::Found(filter) => {
                let now = now_for(filter);
                filter.contains_batch(call.rest.bytes(), now, |found| call.context.boolean(found));
            }
            Lookup::Missing | Lookup::WrongType => {
                call.rest.iter().for_each(|_| call.context.boolean(false));
            }
        }
        Ok(())
    }
}

impl Handler for Card {
    const MIN_ARGS: usize = 2;
    const MAX_ARGS: usize = 2;

    fn run(call: Call) -> Result<(), Failure> {
        let key = Key::read(call.context, call.key);
        match filter::<AnyFilter>(&key) {
            Lookup::Found(filter) => call.context.count(filter.len_at(now_for(filter))),
            Lookup::Missing => call.context.integer(0),
            Lookup::WrongType => return Err(WRONG_TYPE.into()),
        }
        Ok(())
    }
}
