//! CF.RESERVE, and the creation of filters by all commands.

use std::ffi::CStr;

use super::options::NewFilter;
use crate::command::access::{self, Vacant};
use crate::command::creation::{expire, refused, replicate_header, seed};
use crate::command::error::{Failure, ITEM_EXISTS};
use crate::command::handler::{ArgCount, Call, Handler};
use crate::data_type::handle::Changed;
use crate::policy::limits::Limits;
use bloomline_core::Layout;
use bloomline_core::host::cuckoo::{AnyCuckoo, CuckooSpec};

/// The keyspace event of a filter that was created.
pub const RESERVED: &CStr = c"cuckoo.reserve";

/// CF.RESERVE key capacity [BUCKETSIZE n] [MAXITERATIONS n] [EXPANSION n] [ERROR rate] [LAYOUT
/// name] [TTL seconds] [SEED n]
pub struct Reserve;

impl Handler for Reserve {
    const ARGS: ArgCount = 3..=usize::MAX;

    fn run(call: Call) -> Result<(), Failure> {
        // A name without a value would make the number of arguments even.
        if call.rest.len().is_multiple_of(2) {
            return Err(Failure::Arity);
        }
        let new = NewFilter::reserved(call)?;
        let mut key = access::write(call);
        let vacant = Vacant::of::<AnyCuckoo>(call, &mut key)?.ok_or(ITEM_EXISTS)?;
        let created = create(call, vacant, &new)?;
        call.commit(key, created, |_| {}, [(true, RESERVED)]);
        call.context.simple(c"OK");
        Ok(())
    }
}

/// Creates a filter in a key, and replicates its header.
///
/// # Errors
///
/// The filter cannot be created; the key stays as it was.
pub fn create(call: Call, vacant: Vacant, new: &NewFilter) -> Result<Changed, Failure> {
    let limits = Limits::of(call.source);
    let NewFilter { capacity, options, .. } = *new;
    let mut permit = limits.permit();
    let created = match new.layout(call.source) {
        Layout::Bloomline => {
            let spec = CuckooSpec { capacity, error_rate: new.error_rate(), options };
            AnyCuckoo::bloomline(spec, seed(new.seed)?, &mut permit)
        }
        // Cuckoo filters have two layouts.
        Layout::RedisBloom | Layout::ValkeyBloom => {
            AnyCuckoo::redisbloom(capacity, options, &mut permit)
        }
    };
    let filter = created.map_err(|error| refused(call, error, &limits))?;
    let header = filter.encode_header();
    let (key, created) = vacant.store(filter)?;
    expire(key, new.ttl);
    replicate_header::<AnyCuckoo>(call, key, &header);
    Ok(created)
}
