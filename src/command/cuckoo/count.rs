//! CF.COUNT. A key of another type does not contain the item.

use crate::command::access;
use crate::command::error::Failure;
use crate::command::handler::{ArgCount, Call, Handler};
use bloomline_core::host::cuckoo::AnyCuckoo;

/// CF.COUNT key item
pub struct Count;

impl Handler for Count {
    const ARGS: ArgCount = 3..=3;

    fn run(call: Call) -> Result<(), Failure> {
        let key = access::read(call);
        let count = |filter: &AnyCuckoo| call.rest.bytes().map(|item| filter.count(item)).sum();
        call.context.count(access::found(&key).map_or(0, count));
        Ok(())
    }
}
