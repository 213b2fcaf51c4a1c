//! BF.CARD.

use crate::command::access;
use crate::command::error::Failure;
use crate::command::handler::{ArgCount, Call, Handler};
use crate::command::read::now_for;
use crate::data_type::handle::FilterRef;
use bloomline_core::host::AnyFilter;

/// BF.CARD key
pub struct Card;

impl Handler for Card {
    const ARGS: ArgCount = 2..=2;

    fn run(call: Call) -> Result<(), Failure> {
        let key = access::read(call);
        let filter = access::optional::<AnyFilter>(&key)?;
        let filter = filter.as_ref().map(FilterRef::open);
        call.context.count(filter.map_or(0, |filter| filter.len_at(now_for(&filter))));
        Ok(())
    }
}
