//! The arguments of the commands of Bloom filters, as COMMAND DOCS and BF.HELP show them.

use super::option::OPTIONS;
use crate::command::option::{self, Command};
use crate::command::syntax::{KEY, NAMED_ITEMS};
use crate::server::command_docs::{ArgSpec, Kind};

/// BF.RESERVE.
pub static RESERVE: [ArgSpec; 13] = option::syntax(
    &[
        KEY,
        ArgSpec::required(c"error_rate", Kind::Number),
        ArgSpec::required(c"capacity", Kind::Integer),
    ],
    &OPTIONS,
    Command::Reserve,
    &[],
);
/// BF.INSERT.
pub static INSERT: [ArgSpec; 15] =
    option::syntax(&[KEY], &OPTIONS, Command::Insert, &[NAMED_ITEMS]);
/// BF.LOAD.
pub const LOAD: &[ArgSpec] = &[KEY, ArgSpec::required(c"payload", Kind::Text)];
/// BF.STATS.
pub const STATS: &[ArgSpec] =
    &[KEY, ArgSpec { optional: true, multiple: true, ..ArgSpec::required(c"field", Kind::Text) }];
/// BF.ROTATE.
pub const ROTATE: &[ArgSpec] = &[KEY, ArgSpec::optional(c"milliseconds", c"AT", Kind::Integer)];
/// BF.MERGE.
pub const MERGE: &[ArgSpec] = &[
    ArgSpec::required(c"destination", Kind::Key),
    ArgSpec { multiple: true, ..ArgSpec::required(c"source", Kind::Key) },
];
