//! The arguments of commands of both families, as COMMAND DOCS, BF.HELP and CF.HELP show them.

use crate::server::command_docs::{ArgKind, ArgSpec};

pub const KEY_ONLY: &[ArgSpec] = &[KEY];
/// BF.ADD and BF.EXISTS; those of cuckoo filters.
pub const ADD: &[ArgSpec] = &[KEY, ITEM];
/// BF.MADD and BF.MEXISTS; those of cuckoo filters.
pub const MADD: &[ArgSpec] = &[KEY, ITEMS];
pub const BULK: &[ArgSpec] = &[
    KEY,
    ArgSpec::required(
        c"form",
        ArgKind::OneOf(&[
            ArgSpec { token: Some(c"FIXED"), ..ArgSpec::required(c"width", ArgKind::Integer) },
            ArgSpec::choice(c"prefixed", c"PREFIXED"),
            ArgSpec::choice(c"lines", c"LINES"),
        ]),
    ),
    ArgSpec::required(c"data", ArgKind::Text),
    ArgSpec::optional(c"count", c"COUNT", ArgKind::Token),
];
pub const SCANDUMP: &[ArgSpec] = &[KEY, ArgSpec::required(c"iterator", ArgKind::Integer)];
pub const LOADCHUNK: &[ArgSpec] = &[
    KEY,
    ArgSpec::required(c"iterator", ArgKind::Integer),
    ArgSpec::required(c"data", ArgKind::Text),
];

pub const KEY: ArgSpec = ArgSpec::required(c"key", ArgKind::Key);
const ITEM: ArgSpec = ArgSpec::required(c"item", ArgKind::Text);
/// One or more items.
const ITEMS: ArgSpec = ArgSpec { multiple: true, ..ITEM };
/// One or more items behind options.
pub const NAMED_ITEMS: ArgSpec = ArgSpec { token: Some(c"ITEMS"), ..ITEMS };
