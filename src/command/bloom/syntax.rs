//! The arguments of the commands of Bloom filters, as COMMAND DOCS and BF.HELP show them.

use super::option;
use crate::command::syntax::{ITEMS, KEY};
use crate::server::command_docs::{ArgSpec, Kind};

/// BF.RESERVE.
pub const RESERVE: &[ArgSpec] = &[
    KEY,
    ArgSpec::required(c"error_rate", Kind::Number),
    ArgSpec::required(c"capacity", Kind::Integer),
    option::EXPANSION.docs,
    option::NONSCALING.docs,
    option::LAYOUT.docs,
    WINDOW,
    option::GENERATIONS.docs,
    option::NOREFRESH.docs,
    option::TTL.docs,
    option::SEED.docs,
];
/// BF.INSERT.
pub const INSERT: &[ArgSpec] = &[
    KEY,
    option::CAPACITY.docs,
    option::ERROR.docs,
    option::EXPANSION.docs,
    option::NOCREATE.docs,
    option::NONSCALING.docs,
    option::LAYOUT.docs,
    WINDOW,
    option::GENERATIONS.docs,
    option::NOREFRESH.docs,
    option::TTL.docs,
    option::SEED.docs,
    ArgSpec { token: Some(c"ITEMS"), ..ITEMS },
];
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
/// BF._HASHCHECK.
pub const HASH_CHECK: &[ArgSpec] = &[KEY, ArgSpec::required(c"hash", Kind::Text)];

const WINDOW: ArgSpec = ArgSpec {
    optional: true,
    ..ArgSpec::required(
        c"window",
        Kind::OneOf(&[
            ArgSpec { optional: false, ..option::WINDOW.docs },
            ArgSpec { optional: false, ..option::LAST.docs },
        ]),
    )
};
