//! CF.SCANDUMP and CF.LOADCHUNK: a filter is saved and restored in chunks.

use std::ffi::CStr;

use super::error::{BAD_CHUNK, BAD_HEADER, BAD_NUMBERS, BAD_POSITION};
use crate::command::access::{self, Vacant};
use crate::command::creation::load_refused;
use crate::command::error::{Failure, ITEM_EXISTS};
use crate::command::handler::{ArgCount, Call, Handler};
use crate::policy::limits::Limits;
use crate::server::args::Arg;
use crate::server::key::Key;
use bloomline_core::Error;
use bloomline_core::error::HeaderError;
use bloomline_core::host::cuckoo::AnyCuckoo;

/// CF.SCANDUMP key iterator
pub struct Scandump;
/// CF.LOADCHUNK key iterator data
pub struct Loadchunk;

/// The keyspace event of a header or chunk that was loaded.
const LOADED: &CStr = c"cuckoo.load";

const HEADER: i64 = 1;

impl Handler for Scandump {
    const ARGS: ArgCount = 3..=3;

    fn run(call: Call) -> Result<(), Failure> {
        let iterator = call.rest.get(0).and_then(Arg::iterator);
        let iterator = iterator.and_then(|given| u64::try_from(given).ok()).ok_or(BAD_POSITION)?;
        let key = access::read(call);
        let filter = &*access::existing::<AnyCuckoo>(&key)?;
        call.context.array(2);
        match iterator {
            0 => {
                call.context.integer(HEADER);
                call.context.bulk(&filter.encode_header());
            }
            _ => match filter.scan_dump(iterator) {
                Some((next, chunk)) => {
                    call.context.count(next);
                    call.context.bulk(chunk);
                }
                None => {
                    call.context.integer(0);
                    call.context.null();
                }
            },
        }
        Ok(())
    }
}

impl Handler for Loadchunk {
    const ARGS: ArgCount = 4..=4;

    fn run(call: Call) -> Result<(), Failure> {
        let (Some(iterator), Some(data)) = (call.rest.get(0), call.rest.get(1)) else {
            return Err(Failure::Arity);
        };
        let iterator = iterator.iterator().filter(|&n| n != 0).ok_or(BAD_POSITION)?;
        let mut key = access::write(call);
        let changed = if iterator == HEADER {
            let vacant = Vacant::of::<AnyCuckoo>(call, &mut key)?.ok_or(ITEM_EXISTS)?;
            let limits = Limits::of(call.source);
            let created = AnyCuckoo::decode_header(data.bytes(), &mut limits.permit());
            let filter = created.map_err(|error| bad_header(call, error, &limits))?;
            vacant.store(filter)?.1
        } else {
            let mut filter = access::existing_mut::<AnyCuckoo>(&mut key)?;
            let end = u64::try_from(iterator).map_err(|_| BAD_CHUNK)?;
            let load = |filter: &mut AnyCuckoo| filter.load_chunk(end, data.bytes());
            filter.change(load).map_err(|_| BAD_CHUNK)?;
            filter.close()
        };
        let replicate = |_: &Key| call.context.replicate_verbatim();
        call.commit(key, changed, replicate, [(true, LOADED)]);
        call.context.simple(c"OK");
        Ok(())
    }
}

/// The error reply for a header; the log line has the reason.
fn bad_header(call: Call, error: Error, limits: &Limits) -> Failure {
    let reply = match error {
        Error::Header(HeaderError::Length(_)) => BAD_HEADER,
        _ => BAD_NUMBERS,
    };
    load_refused(call, "CF.LOADCHUNK", error, limits, reply)
}
