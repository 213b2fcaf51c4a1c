//! BF.CARD, and the time for which a Bloom filter answers.

use crate::command::access;
use crate::command::error::Failure;
use crate::command::handler::{ArgCount, Call, Handler};
use crate::command::read::Contains;
use crate::server::clock;
use bloomline_core::host::AnyFilter;

/// The time for which a filter answers, in milliseconds. The clock is read only for a filter that
/// remembers by time.
#[inline]
pub fn now_for(filter: &AnyFilter) -> u64 {
    match filter.windowed() {
        Some(windowed) if windowed.has_time() => clock::now(),
        _ => 0,
    }
}

impl Contains for AnyFilter {
    #[inline(always)]
    fn contains(&self, item: &[u8]) -> bool {
        Self::contains(self, item, now_for(self))
    }

    #[inline(always)]
    fn contains_batch(&self, items: impl Iterator<Item: AsRef<[u8]>>, answer: impl FnMut(bool)) {
        Self::contains_batch(self, items, now_for(self), answer);
    }
}

/// BF.CARD key
pub struct Card;

impl Handler for Card {
    const ARGS: ArgCount = 2..=2;

    fn run(call: Call) -> Result<(), Failure> {
        let key = access::read(call);
        let filter = access::optional::<AnyFilter>(&key)?;
        call.context.count(filter.map_or(0, |filter| filter.len_at(now_for(&filter))));
        Ok(())
    }
}
