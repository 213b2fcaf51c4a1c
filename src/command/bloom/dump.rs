//! BF.SCANDUMP and BF.LOADCHUNK: a filter is saved and restored in chunks.
//!
//! The iterator of the header is 1. The iterator of a chunk of bits is one more than the offset of
//! its end. Offsets are counted over the life of a windowed filter, so a chunk never lands in
//! another generation than its own.

use std::ffi::CStr;
use std::ops::ControlFlow;

use crate::command::access::{self, Vacant};
use crate::command::creation;
use crate::command::error::{
    self, BAD_DATA, DROPPED, DUMP_ITERATOR, Failure, LOAD_ITERATOR, NO_LINK,
};
use crate::command::handler::{ArgCount, Call, Handler};
use crate::policy::layout::LayoutRow;
use crate::policy::limits::{GROWTH, Limits, is_for_memory};
use crate::server::key::Key;
use bloomline_core::Error;
use bloomline_core::host::{AnyFilter, Chunk, MAX_CHUNK_BYTES};

/// BF.SCANDUMP key iterator
pub struct Scandump;
/// BF.LOADCHUNK key iterator data
pub struct Loadchunk;

/// The keyspace event of a header or chunk that was loaded.
pub const LOADED: &CStr = c"bloom.load";

/// The iterator that requests the header; in a reply, the end.
const START: i64 = 0;
const HEADER: i64 = 1;

impl Handler for Scandump {
    const ARGS: ArgCount = 3..=3;

    fn run(call: Call) -> Result<(), Failure> {
        let key = access::read(call);
        let filter = &*access::existing::<AnyFilter>(&key)?;
        let iterator = call.rest.get(0).and_then(|arg| arg.iterator()).ok_or(DUMP_ITERATOR)?;
        if iterator == START {
            call.context.array(2);
            call.context.integer(HEADER);
            call.context.bulk(&filter.encode_header());
            return Ok(());
        }
        let from = u64::try_from(iterator).ok().map(|next| next - 1);
        // The chunk after the header is the first that there is.
        if from.is_some_and(|from| from != 0 && from < filter.first_byte()) {
            return Err(DROPPED.into());
        }
        call.context.array(2);
        match from.and_then(|from| next_chunk(filter, from)) {
            Some(chunk) => {
                call.context.integer(chunk.end() as i64 + 1);
                call.context.bulk(chunk.bytes());
            }
            None => {
                call.context.integer(START);
                call.context.bulk(&[]);
            }
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
        let iterator = iterator.iterator().ok_or(LOAD_ITERATOR)?;
        let data = data.bytes();
        let mut key = access::write(call);
        let vacant = match iterator {
            // No bytes change nothing in a filter that exists.
            HEADER if data.is_empty() => Vacant::without_filter::<AnyFilter>(call, &mut key)?,
            HEADER => Vacant::of::<AnyFilter>(call, &mut key)?,
            _ => None,
        };
        let limits = Limits::of(call.source);
        let changed = if let Some(vacant) = vacant {
            let created = AnyFilter::decode_header(data, &mut limits.permit());
            let refused =
                |error| creation::load_refused(call, "BF.LOADCHUNK", error, &limits, BAD_DATA);
            vacant.store(created.map_err(refused)?)?.1
        } else {
            let mut filter = access::existing_mut::<AnyFilter>(&mut key)?;
            filter.grow(|filter| {
                let offset = offset_of(iterator, data)?;
                filter.write_chunk(offset, data).map_err(|error| refused(call, error, &limits))
            })?;
            filter.close()
        };
        let replicate = |_: &Key| call.context.replicate_verbatim();
        call.commit(key, changed, replicate, [(true, LOADED)]);
        call.context.simple(c"OK");
        Ok(())
    }
}

/// The next chunk to send from an offset on; none after the last.
///
/// Chunks of full size without a set bit are left out, because a filter that is being loaded starts
/// with zeros. RedisBloom sends them, so they are kept in its layout.
fn next_chunk(filter: &AnyFilter, from: u64) -> Option<Chunk<'_>> {
    /// The most chunks that one call tests, and the most bytes that it reads for that: a chunk of
    /// zeros is read as a whole if it was written once, or if nobody knows whether it was.
    const MAX_TESTED: usize = 64;
    const MAX_READ: usize = 4 * MAX_CHUNK_BYTES;
    let has_all_chunks = LayoutRow::of(filter.layout()).is_redisbloom;
    let (mut found, mut tested, mut read) = (None, 0, 0);
    let mut is_left_out = |chunk: &Chunk| {
        if has_all_chunks || chunk.len() < MAX_CHUNK_BYTES {
            return false;
        }
        tested += 1;
        read += chunk.touched();
        tested < MAX_TESTED && read <= MAX_READ && chunk.is_zero()
    };
    filter.each_chunk(from, MAX_CHUNK_BYTES, |chunk| {
        found = (!is_left_out(&chunk)).then_some(chunk);
        if found.is_none() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    found
}

/// The offset of the data of a chunk.
fn offset_of(iterator: i64, data: &[u8]) -> Result<u64, Failure> {
    let end = u64::try_from(iterator).map_err(|_| BAD_DATA)?;
    let start = end.checked_sub(data.len() as u64).filter(|_| end > 0).ok_or(BAD_DATA)?;
    Ok(start.checked_sub(1).ok_or(NO_LINK)?)
}

/// Counts and logs a chunk for which a filter cannot get its bits for lack of memory, and returns
/// the error reply; see [`Limits::refuse`].
fn refused(call: Call, error: Error, limits: &Limits) -> Failure {
    if is_for_memory(error) {
        limits.refuse(&GROWTH, call.key, error);
    }
    error::chunk(error, limits)
}
