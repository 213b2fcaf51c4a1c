//! The arguments of the commands of Bloom filters, as COMMAND DOCS and BF.HELP show them.

use super::option::OPTIONS;
use crate::command::option::{self, CreateCommand};
use crate::command::syntax::{KEY, NAMED_ITEMS};
use crate::server::command_docs::{ArgKind, ArgSpec};

pub static RESERVE: [ArgSpec; 13] = option::syntax(
    &[
        KEY,
        ArgSpec::required(c"error_rate", ArgKind::Number),
        ArgSpec::required(c"capacity", ArgKind::Integer),
    ],
    &OPTIONS,
    CreateCommand::Reserve,
    &[],
);
pub static INSERT: [ArgSpec; 15] =
    option::syntax(&[KEY], &OPTIONS, CreateCommand::Insert, &[NAMED_ITEMS]);
pub const LOAD: &[ArgSpec] = &[KEY, ArgSpec::required(c"payload", ArgKind::Text)];
pub const STATS: &[ArgSpec] = &[
    KEY,
    ArgSpec { optional: true, multiple: true, ..ArgSpec::required(c"field", ArgKind::Text) },
];
pub const ROTATE: &[ArgSpec] = &[KEY, ArgSpec::optional(c"milliseconds", c"AT", ArgKind::Integer)];
pub const MERGE: &[ArgSpec] = &[
    ArgSpec::required(c"destination", ArgKind::Key),
    ArgSpec { multiple: true, ..ArgSpec::required(c"source", ArgKind::Key) },
];
