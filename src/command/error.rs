//! The error replies, each in one place. Clients compare them, so they are RedisBloom's wherever
//! RedisBloom has the case.

use std::ffi::CStr;
use std::fmt;
use std::io;

use crate::data_type::handle::NotStored;
use crate::policy::limits::Limits;
use crate::server::args::Arg;
use bloomline_core::Error;
use bloomline_core::error::{ChunkError, Parameter};
use bloomline_core::host::valkey::{MAX_LAYER_BYTES, ValkeyError};

/// Why a call failed: the error reply.
#[derive(Debug)]
pub enum Failure {
    /// Wrong number of arguments; the server has a text for it.
    Arity,
    Fixed(&'static CStr),
    /// A text with numbers or arguments in it.
    Formatted(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arity => to.write_str("wrong number of arguments"),
            Self::Fixed(text) => to.write_str(&text.to_string_lossy()),
            Self::Formatted(text) => to.write_str(text),
        }
    }
}

impl From<&'static CStr> for Failure {
    fn from(text: &'static CStr) -> Self {
        Self::Fixed(text)
    }
}

impl From<NotStored> for Failure {
    fn from(_: NotStored) -> Self {
        Self::Fixed(c"ERR the server does not take the filter: the key is not open for writing")
    }
}

pub const WRONG_TYPE: &CStr = c"WRONGTYPE Operation against a key holding the wrong kind of value";
/// The key does not exist.
pub const NOT_FOUND: &CStr = c"ERR not found";
/// The key already exists.
pub const ITEM_EXISTS: &CStr = c"ERR item exists";
pub const FULL: &CStr = c"ERR non scaling filter is full";
/// The next layer cannot be added.
pub const PROBLEM_INSERTING: &CStr = c"ERR problem inserting into filter";
/// EXPANSION for a filter that does not scale.
pub const CANNOT_EXPAND: &CStr = c"Nonscaling filters cannot expand";
/// BF.INFO: no such field.
pub const BAD_FIELD: &CStr = c"Invalid information value";
/// BF.SCANDUMP: the iterator is not an integer.
pub const DUMP_ITERATOR: &CStr = c"Second argument must be numeric";
/// BF.LOADCHUNK: the iterator is not an integer.
pub const LOAD_ITERATOR: &CStr = c"ERR Second argument must be numeric";
/// BF.LOADCHUNK: the data is not a header, or does not fit the iterator.
pub const BAD_DATA: &CStr = c"ERR received bad data";
/// BF.LOADCHUNK: the offset is past the last layer.
pub const NO_LINK: &CStr = c"ERR invalid offset - no link found";
/// BF.LOADCHUNK: the chunk is longer than the rest of its layer.
pub const CHUNK_TOO_BIG: &CStr = c"ERR invalid chunk - Too big for current filter";
/// BF.LOAD: the key holds something.
pub const BUSY_KEY: &CStr = c"BUSYKEY Target key name already exists.";
/// BF.LOAD: the payload is not a filter.
pub const DECODING_FAILED: &CStr = c"ERR bloom object decoding failed";
/// BF.LOAD: the payload has another version.
pub const UNSUPPORTED_PAYLOAD: &CStr = c"ERR bloom object decoding failed. Unsupported version";
/// BF.LOAD: the error rate or the tightening ratio is out of range.
pub const PAYLOAD_RATE: &CStr = c"ERR (0 < error rate range < 1)";
/// BF.ROTATE: the filter has no window.
pub const NO_GENERATIONS: &CStr =
    c"ERR the filter has no generations: create it with GENERATIONS, WINDOW or LAST";
/// BF.ROTATE: the filter rotates by time or by count.
pub const NOT_BY_HAND: &CStr =
    c"ERR the filter rotates by itself: only one with GENERATIONS alone is rotated by hand";
/// BF.ROTATE: the time is not a number of milliseconds.
pub const BAD_TIME: &CStr = c"ERR AT needs a Unix time in milliseconds";
/// BF.ROTATE: the time is in the future.
pub const AT_IN_FUTURE: &CStr = c"ERR AT must not be in the future";
/// A command that writes, in a script that is or may be replicated by its text.
pub const SCRIPT_BY_TEXT: &CStr = c"ERR before Redis 7.0, scripts that write filters need \
    lua-replicate-commands yes, a CONFIG command that is not renamed, and a server that is no replica";
/// BF.SCANDUMP: the iterator is in a generation that was dropped.
pub const DROPPED: &CStr =
    c"ERR the filter was compacted, or has dropped a generation, since the dump began: begin again with iterator 0";
/// There is no memory for what a call needs beside the filter. Nothing has changed.
pub const NO_MEMORY: &CStr = c"ERR no memory for the items of the call: send fewer per call";
/// BF.BULKADD and BF.BULKEXISTS: COUNT stands between the form and the data, as if it were the
/// data. The data is not shown: `redis-cli -x` puts a whole file behind this COUNT.
pub const MISPLACED_COUNT: &CStr =
    c"ERR COUNT must come before the form or after the data: COUNT LINES data";
/// No filter of this capacity and error rate is possible.
pub const COULD_NOT_CREATE: &CStr = c"ERR could not create filter";

/// The reply if a filter cannot be created.
pub fn creation(error: Error, limits: &Limits) -> Failure {
    match error {
        Error::ErrorRateTooSmall(rate) => Failure::Formatted(format!(
            "ERR error rate is too small for this layout: a layer would need {:.1e}, \
             below 1e-15 or capacity / 2^64",
            // A part of the least number above 0 is rounded to 0.
            rate.max(f64::from_bits(1))
        )),
        Error::Valkey(ValkeyError::Capacity(capacity)) => Failure::Formatted(format!(
            "ERR could not create filter: capacity {capacity} needs a layer of more than \
             {MAX_LAYER_BYTES} bytes at this error rate: use a smaller capacity or a larger rate"
        )),
        Error::CuckooErrorRate(_) => Failure::Formatted(format!("ERR {error}")),
        Error::Refused(_) if limits.refusal().is_some() => failed("create filter", error, limits),
        Error::OutOfMemory(bytes) => Failure::Formatted(format!(
            "ERR Insufficient memory to create filter: the system has no {bytes} bytes for it"
        )),
        _ => COULD_NOT_CREATE.into(),
    }
}

/// The reply if a filter cannot open a generation.
pub fn rotation(error: Error, limits: &Limits) -> Failure {
    failed("rotate filter", error, limits)
}

/// The reply if something cannot be done for a reason that has numbers.
fn failed(action: &str, error: Error, limits: &Limits) -> Failure {
    let cause = if limits.lacks_memory(error) { "Insufficient memory to" } else { "could not" };
    Failure::Formatted(format!("ERR {cause} {action}: {}", limits.reason(error)))
}

/// The reply if the operating system provides no seed for a filter.
pub fn no_seed(error: &io::Error) -> Failure {
    Failure::Formatted(format!(
        "ERR could not create filter: no random seed from the system: {error}"
    ))
}

/// The reply if a chunk of bits cannot be written.
pub fn chunk(error: Error, limits: &Limits) -> Failure {
    match error {
        Error::Chunk(ChunkError::TooLong(_)) => CHUNK_TOO_BIG.into(),
        Error::Chunk(_) => NO_LINK.into(),
        _ => failed("load chunk", error, limits),
    }
}

/// The reply if filters cannot be merged.
pub fn merge(error: Error, limits: &Limits) -> Failure {
    match error {
        Error::Refused(_) | Error::OutOfMemory(_) => failed("merge filters", error, limits),
        _ => Failure::Formatted(format!("ERR cannot merge: {error}: {}", merge_remedy(error))),
    }
}

/// What to do about filters that cannot be merged.
fn merge_remedy(error: Error) -> &'static str {
    match error {
        Error::Differs(Parameter::Seed) => {
            "create them with one SEED (BF.STATS shows that of each)"
        }
        Error::Differs(Parameter::Layer(_)) => "merge filters before they are compacted",
        Error::Windowed => {
            "its generations are not opened when those of another filter are: add the items to both \
             filters, or create them without WINDOW, LAST and GENERATIONS"
        }
        Error::OfValkeyBloom => {
            "valkey-bloom could not follow: add the items to both filters, or create them with \
             LAYOUT BLOOMLINE"
        }
        Error::RateExceeded { .. } | Error::LayerFull { .. } => {
            "reserve each filter with the capacity of the whole"
        }
        _ => "create them with equal options",
    }
}

/// The reply if a filter cannot be compacted.
pub fn compaction(error: Error) -> Failure {
    let remedy = match error {
        Error::OfValkeyBloom => {
            "its layers have the bits that their capacity needs: create it with LAYOUT BLOOMLINE, \
             or with a smaller capacity"
        }
        _ => {
            "its memory is freed when its generations are dropped: create it with the capacity of \
             one window, or without WINDOW, LAST and GENERATIONS"
        }
    };
    Failure::Formatted(format!("ERR cannot compact: {error}: {remedy}"))
}

/// The reply if a source of a merge does not exist.
pub fn no_source(name: Arg) -> Failure {
    Failure::Formatted(format!("ERR source '{}' not found", name.shown()))
}

/// The reply for an item that cannot be inserted.
pub fn insertion(error: Error) -> &'static CStr {
    match error {
        Error::Full(_) => FULL,
        _ => PROBLEM_INSERTING,
    }
}

/// The reply for an argument that is not an option. It may be a file that was taken for one, so
/// only the beginning is shown.
pub fn unknown_argument(arg: Arg) -> Failure {
    const SHOWN: usize = 32;
    let bytes = arg.bytes();
    let is_printable = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
    let len = bytes.iter().take(SHOWN).take_while(|byte| is_printable(byte)).count();
    let start = bytes.get(..len).unwrap_or_default().escape_ascii();
    let cut = if len < bytes.len() { "..." } else { "" };
    Failure::Formatted(format!("Unknown argument received: '{start}{cut}'"))
}
