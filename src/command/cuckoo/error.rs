//! The error replies of cuckoo filters: RedisBloom's. Some have no code such as `ERR`.

use std::ffi::CStr;

use crate::policy::limits::Limits;
use bloomline_core::Error;

/// CF.DEL: there is no such key, or it holds another type.
pub const NOTHING_TO_DELETE: &CStr = c"Not found";
/// CF.COMPACT: there is no such key, or it holds another type.
pub const NOTHING_TO_COMPACT: &CStr = c"Cuckoo filter was not found";
/// The filter has as many tables as `cf-max-expansions` allows.
pub const TOO_MANY_EXPANSIONS: &CStr = c"Maximum expansions reached";
/// CF.RESERVE and CF.INSERT: the capacity is not an integer.
pub const BAD_CAPACITY: &CStr = c"Bad capacity";
/// CF.RESERVE: the capacity is out of range.
pub const RESERVED_CAPACITY: &CStr = c"Capacity must be in the range [2 * BUCKETSIZE, 1073741824]";
/// CF.INSERT: the capacity is out of range.
pub const INSERTED_CAPACITY: &CStr =
    c"Capacity must be in the range [cf-bucket-size * 2, 1073741824]";
/// CF.INSERT: no option begins with this letter.
pub const UNKNOWN_ARGUMENT: &CStr = c"Unknown argument received";
/// CF.SCANDUMP and CF.LOADCHUNK: the iterator is not one.
pub const BAD_POSITION: &CStr = c"Invalid position";
/// CF.LOADCHUNK: a header has 38 bytes.
pub const BAD_HEADER: &CStr = c"Invalid header";
/// CF.LOADCHUNK: the numbers of the header are those of no filter.
pub const BAD_NUMBERS: &CStr = c"Couldn't create filter!";
/// CF.LOADCHUNK: the data does not fit where the iterator says.
pub const BAD_CHUNK: &CStr = c"Couldn't load chunk!";

/// The reply for an item that cannot be added.
pub fn insertion(error: Error, limits: &Limits) -> &'static CStr {
    match error {
        Error::Full(_) => c"Filter is full",
        _ if limits.forbids_expansion() => TOO_MANY_EXPANSIONS,
        _ => c"ERR Insufficient memory",
    }
}
