//! CF.EXISTS, CF.MEXISTS and CF.COUNT. A key of another type does not contain the item.

use crate::command::error::Failure;
use crate::command::handler::{Call, Handler};
use crate::data_type::handle::{Lookup, filter};
use crate::server::key::Key;
use bloomline_core::host::cuckoo::AnyCuckoo;

/// CF.EXISTS key item
pub struct Exists;
/// CF.MEXISTS key item [item ...]
pub struct Mexists;
/// CF.COUNT key item
pub struct Count;

impl Handler for Exists {
    const MIN_ARGS: usize = 3;
    const MAX_ARGS: usize = 3;

    fn run(call: Call) -> Result<(), Failure> {
        let key = Key::read(call.context, call.key);
        let found = match filter::<AnyCuckoo>(&key) {
            Lookup::Found(filter) => call.rest.bytes().all(|item| filter.contains(item)),
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
        match filter::<AnyCuckoo>(&key) {
            Lookup::Found(filter) => {
                filter.contains_batch(call.rest.bytes(), |found| call.context.boolean(found));
            }
            Lookup::Missing | Lookup::WrongType => {
                call.rest.iter().for_each(|_| call.context.boolean(false));
            }
        }
        Ok(())
    }
}

impl Handler for Count {
    const MIN_ARGS: usize = 3;
    const MAX_ARGS: usize = 3;

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
