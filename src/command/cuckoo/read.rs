//! CF.COUNT, and testing items. For CF.COUNT a key of another type does not contain the item.

use crate::command::access;
use crate::command::error::Failure;
use crate::command::handler::{ArgCount, Call, Handler};
use crate::command::read::Contains;
use bloomline_core::host::cuckoo::AnyCuckoo;

/// CF.COUNT key item
pub struct Count;

impl Handler for Count {
    const ARGS: ArgCount = 3..=3;

    fn run(call: Call) -> Result<(), Failure> {
        let key = access::read(call);
        let filter = access::found::<AnyCuckoo>(&key);
        let count = |item| filter.as_ref().map_or(0, |filter| filter.count(item));
        call.context.count(call.rest.bytes().map(count).sum());
        Ok(())
    }
}

impl Contains for AnyCuckoo {
    #[inline(always)]
    fn contains(&self, item: &[u8]) -> bool {
        Self::contains(self, item)
    }

    #[inline(always)]
    fn contains_batch(&self, items: impl Iterator<Item: AsRef<[u8]>>, answer: impl FnMut(bool)) {
        Self::contains_batch(self, items, answer);
    }
}
