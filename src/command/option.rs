//! Options that both families have: what COMMAND DOCS says of them, and their values.

use std::ffi::CStr;

use super::error::{Failure, unknown_argument};
use crate::policy::layout::{CHOICES, LayoutRow};
use crate::server::args::Arg;
use crate::server::command_docs::{ArgSpec, Kind};
use bloomline_core::Layout;
use bloomline_core::host::MAX_ERROR_RATE;

/// CAPACITY n
pub const CAPACITY: ArgSpec = ArgSpec::optional(c"capacity", c"CAPACITY", Kind::Integer);
/// ERROR rate
pub const ERROR: ArgSpec = ArgSpec::optional(c"error", c"ERROR", Kind::Number);
/// NOCREATE
pub const NOCREATE: ArgSpec = ArgSpec::optional(c"nocreate", c"NOCREATE", Kind::Token);
/// SEED n
pub const SEED: ArgSpec = ArgSpec::optional(c"seed", c"SEED", Kind::Integer);
/// TTL seconds
pub const TTL: ArgSpec = ArgSpec::optional(c"ttl", c"TTL", Kind::Integer);
/// LAYOUT name
pub const LAYOUT: ArgSpec = ArgSpec::optional(c"layout", c"LAYOUT", Kind::OneOf(CHOICES));

/// The layout of a name.
///
/// # Errors
///
/// The error reply.
pub fn layout(name: Arg) -> Result<Layout, Failure> {
    LayoutRow::named(name).map(|row| row.layout).ok_or_else(|| unknown_argument(name))
}

/// The seed of a filter.
///
/// # Errors
///
/// The error reply.
pub fn seed(arg: Arg) -> Result<u64, Failure> {
    Ok(arg.unsigned().ok_or(c"ERR seed must be in the range [0, 18446744073709551615]")?)
}

/// A target rate above 0 and below 1. Above 0.25 it becomes 0.25, as in RedisBloom.
///
/// # Errors
///
/// The first reply if the text is not a number, the second if it is out of range.
pub fn error_rate(
    arg: Arg,
    not_a_number: &'static CStr,
    out_of_range: &'static CStr,
) -> Result<f64, Failure> {
    let rate = arg.number().ok_or(not_a_number)?;
    if rate > 0.0 && rate < 1.0 { Ok(rate.min(MAX_ERROR_RATE)) } else { Err(out_of_range.into()) }
}
