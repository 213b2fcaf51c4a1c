//! BF.EXISTS and BF.MEXISTS, which are CF.EXISTS and CF.MEXISTS for a cuckoo filter.

use std::marker::PhantomData;

use super::access;
use super::error::Failure;
use super::handler::{ArgCount, Call, Handler};
use crate::data_type::handle::DataType;

/// BF.EXISTS key item, and CF.EXISTS
pub struct Exists<F>(PhantomData<F>);
/// BF.MEXISTS key item [item ...], and CF.MEXISTS
pub struct Mexists<F>(PhantomData<F>);

/// A filter of which a call asks whether it contains items.
pub trait Contains: DataType {
    /// True if the item may be in the filter.
    fn contains(&self, item: &[u8]) -> bool;

    /// Calls `answer` for each item, in order.
    fn contains_batch(&self, items: impl Iterator<Item: AsRef<[u8]>>, answer: impl FnMut(bool));
}

impl<F: Contains> Handler for Exists<F> {
    const ARGS: ArgCount = 3..=3;

    fn run(call: Call) -> Result<(), Failure> {
        let key = access::read(call);
        let filter = access::found::<F>(&key);
        let contains = |item| filter.as_ref().is_some_and(|filter| filter.contains(item));
        call.context.boolean(call.rest.bytes().all(contains));
        Ok(())
    }
}

impl<F: Contains> Handler for Mexists<F> {
    const ARGS: ArgCount = 3..=usize::MAX;

    fn run(call: Call) -> Result<(), Failure> {
        let key = access::read(call);
        call.context.array(call.rest.len());
        match access::found::<F>(&key) {
            Some(filter) => {
                let answer = |found| call.context.boolean(found);
                filter.contains_batch(call.rest.bytes(), answer);
            }
            None => call.rest.iter().for_each(|_| call.context.boolean(false)),
        }
        Ok(())
    }
}
