//! CF.COUNT. A key of another type does not contain the item.

use crate::command::error::Failure;
use crate::command::handler::{ArgCount, Call, Handler};
use crate::data_type::handle::{Lookup, filter};
use crate::server::key::Key;
use bloomline_core::host::cuckoo::AnyCuckoo;

/// CF.COUNT key item
pub struct Count;

impl Handler for Count {
    const ARGS: ArgCount = 3..=3;

    fn run(call: Call) -> Result<(), Failure> {
        let key = Key::read(call.context, call.key);
        let copies = match filter::<AnyCuckoo>(&key) {
            Lookup::Found(filter) => call.rest.bytes().map(|item| filter.count(item)).sum(),
            Lookup::Missing | Lookup::WrongType => 0,
        };
        call.context.count(copies);
        Ok(())
    }
}
