//! The error replies, each in one place. RedisBloom's words, where it has the case: clients compare
//! them.

use std::ffi::CStr;
use std::io;

use crate::server::args::Arg;
use crate::server::limits::{Limits, Refusal};
use bloomline_core::Error;

/// Why a call failed, as the client is told.
#[derive(Debug)]
pub enum Failure {
    /// Too few or too many words; the server has a text of its own for it.
    Arity,
    /// A fixed text.
    Fixed(&'static CStr),
    /// A text with numbers or words in it.
    Made(String),
}

impl From<&'static CStr> for Failure {
    fn from(text: &'static CStr) -> Self {
        Self::Fixed(text)
    }
}

/// The key holds another type.
pub const WRONG_TYPE: &CStr = c"WRONGTYPE Operation against a key holding the wrong kind of value";
/// The key does not exist.
pub const NOT_FOUND: &CStr = c"ERR not found";
/// The key exists already.
pub const ITEM_EXISTS: &CStr = c"ERR item exists";
/// A non-scaling filter takes no further item.
pub const FULL: &CStr = c"ERR non scaling filter is full";
/// The next layer can't be had.
pub const PROBLEM_INSERTING: &CStr = c"ERR problem inserting into filter";
/// EXPANSION for a filter that does not scale.
pub const CANNOT_EXPAND: &CStr = c"Nonscaling filters cannot expand";
/// No such field of BF.INFO.
pub const BAD_FIELD: &CStr = c"Invalid information value";
/// BF.SCANDUMP: the iterator is no number.
pub const DUMP_ITERATOR: &CStr = c"Second argument must be numeric";
/// BF.LOADCHUNK: the iterator is no number.
pub const LOAD_ITERATOR: &CStr = c"ERR Second argument must be numeric";
/// BF.LOADCHUNK: no header, or no pair of iterator and data.
pub const BAD_DATA: &CStr = c"ERR received bad data";
/// BF.LOADCHUNK: no layer has such a byte.
pub const NO_LINK: &CStr = c"ERR invalid offset - no link found";
/// BF.LOADCHUNK: longer than the rest of the layer.
pub const CHUNK_TOO_BIG: &CStr = c"ERR invalid chunk - Too big for current filter";
/// The error rate needs a layer below the smallest of the layout.
pub const RATE_TOO_SMALL: &CStr = c"ERR error rate is too small for this layout";
/// A filter can't be made of these numbers.
pub const COULD_NOT_CREATE: &CStr = c"ERR could not create filter";

/// What a client is told when a filter can't be created.
pub fn creation(error: Error, limits: &Limits) -> Failure {
    match (error, limits.refusal()) {
        (Error::ErrorRateTooSmall(_), _) => RATE_TOO_SMALL.into(),
        (Error::Refused(_), Some(refusal @ (Refusal::Unsavable { .. } | Refusal::OwnLayout))) => {
            Failure::Made(format!("ERR could not create filter: {refusal}"))
        }
        (Error::Refused(_), Some(refusal)) => {
            Failure::Made(format!("ERR Insufficient memory to create filter: {refusal}"))
        }
        (Error::OutOfMemory(bytes), _) => Failure::Made(format!(
            "ERR Insufficient memory to create filter: the system has no {bytes} bytes for it"
        )),
        _ => COULD_NOT_CREATE.into(),
    }
}

/// What a client is told when the system gives no seed for a filter.
pub fn no_seed(error: &io::Error) -> Failure {
    Failure::Made(format!("ERR could not create filter: no random seed from the system: {error}"))
}

/// What a client is told when an item can't be added.
pub fn insertion(error: Error) -> &'static CStr {
    match error {
        Error::Full(_) => FULL,
        _ => PROBLEM_INSERTING,
    }
}

/// What a client is told of a word that belongs nowhere.
pub fn unknown_word(word: Arg) -> Failure {
    Failure::Made(format!("Unknown argument received: '{}'", word.shown()))
}
