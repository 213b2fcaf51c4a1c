//! BF.SCANDUMP and BF.LOADCHUNK: a filter out and in, piece by piece.
//!
//! The iterator of a piece is 1 for the header; for bits it is the offset behind their last byte,
//! plus 1.

use std::ffi::CStr;
use std::ops::ControlFlow;

use super::handler::{Call, Handler};
use super::info::existing;
use super::text::{BAD_DATA, CHUNK_TOO_BIG, DUMP_ITERATOR, Failure, LOAD_ITERATOR, NO_LINK};
use super::write::refused_creation;
use crate::data_type::handle::{Lookup, filter, filter_mut, store};
use crate::server::counters::LOADS_REFUSED;
use crate::server::key::Key;
use crate::server::limits::Limits;
use crate::server::log;
use bloomline_core::chunk::{Chunk, MAX_CHUNK_BYTES};
use bloomline_core::error::ChunkError;
use bloomline_core::{AnyFilter, Error, Layout};

/// BF.SCANDUMP key iterator
pub struct Scandump;
/// BF.LOADCHUNK key iterator data
pub struct Loadchunk;

/// The event of a piece that was loaded.
const LOADED: &CStr = c"bloom.load";

/// The iterator that asks for the header.
const START: i64 = 0;
/// The iterator that comes with the header.
const HEADER: i64 = 1;

impl Handler for Scandump {
    const LEAST: usize = 3;
    const MOST: usize = 3;

    fn run(call: Call) -> Result<(), Failure> {
        let key = Key::read(call.context, call.key);
        let filter = existing(filter(&key))?;
        let iterator = call.rest.get(0).and_then(|word| word.integer()).ok_or(DUMP_ITERATOR)?;
        call.context.array(2);
        if iterator == START {
            call.context.integer(HEADER);
            call.context.bulk(&filter.encode_header());
            return Ok(());
        }
        match u64::try_from(iterator).ok().and_then(|next| next_chunk(filter, next - 1)) {
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
    const LEAST: usize = 4;
    const MOST: usize = 4;

    fn run(call: Call) -> Result<(), Failure> {
        let (Some(iterator), Some(data)) = (call.rest.get(0), call.rest.get(1)) else {
            return Err(Failure::Arity);
        };
        let iterator = iterator.integer().ok_or(LOAD_ITERATOR)?;
        let data = data.bytes();
        let mut key = Key::write(call.context, call.key);
        // What a primary or a file creates replaces whatever the key holds: the key was free where
        // it comes from.
        let is_missing = matches!(filter_mut(&mut key), Lookup::Missing);
        let is_free = is_missing || call.context.is_obeyed();
        if iterator == HEADER && is_free && (!data.is_empty() || is_missing) {
            let limits = Limits::of_call(call.context);
            let created = AnyFilter::decode_header(data, &mut limits.permit());
            store(&mut key, created.map_err(|error| bad_header(call, error, &limits))?);
        } else {
            let mut filter = existing(filter_mut(&mut key))?;
            write_chunk(&mut filter, iterator, data)?;
        }
        call.context.replicate_call();
        // The last use of the key: whoever is told of the event may delete it.
        drop(key);
        call.context.signal_change(call.key, LOADED);
        call.context.simple(c"OK");
        Ok(())
    }
}

/// The chunk that a reply brings, from a byte on; none past the last.
///
/// In our own layout chunks of full size without a set bit are left out, since a filter that is
/// loaded starts with zeros. RedisBloom has them, so they stay in its layout.
fn next_chunk(filter: &AnyFilter, from: u64) -> Option<Chunk<'_>> {
    /// Chunks that one call looks at: zeros that were written once take 0.6 ms each.
    const MOST: usize = 64;
    let (mut found, mut seen) = (None, 0);
    filter.each_chunk(from, |chunk| {
        seen += 1;
        let may_be_left_out =
            filter.layout() == Layout::Bloomline && chunk.len() == MAX_CHUNK_BYTES;
        let is_left_out = may_be_left_out && chunk.is_zero();
        found = (!is_left_out || seen == MOST).then_some(chunk);
        if found.is_none() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    found
}

fn write_chunk(filter: &mut AnyFilter, iterator: i64, data: &[u8]) -> Result<(), Failure> {
    let end = u64::try_from(iterator).map_err(|_| BAD_DATA)?;
    let behind = end.checked_sub(data.len() as u64).filter(|_| end > 0).ok_or(BAD_DATA)?;
    let offset = behind.checked_sub(1).ok_or(NO_LINK)?;
    filter.write_chunk(offset, data).map_err(|error| match error {
        Error::Chunk(ChunkError::TooLong(_)) => CHUNK_TOO_BIG.into(),
        _ => NO_LINK.into(),
    })
}

/// What a client is told of a header; the log says more.
fn bad_header(call: Call, error: Error, limits: &Limits) -> Failure {
    match error {
        Error::Refused(_) | Error::OutOfMemory(_) => refused_creation(call, error, limits),
        _ => {
            LOADS_REFUSED.add(1);
            log::refusal(format_args!("BF.LOADCHUNK of '{}' refused: {error}", call.key.shown()));
            BAD_DATA.into()
        }
    }
}
