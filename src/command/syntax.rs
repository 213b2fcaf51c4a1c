//! The arguments of commands of both families, as COMMAND DOCS, BF.HELP and CF.HELP show them.

use crate::server::command_docs::{ArgSpec, Kind};

/// Only a key.
pub const KEY_ONLY: &[ArgSpec] = &[KEY];
/// BF.ADD and BF.EXISTS; those of cuckoo filters.
pub const ADD: &[ArgSpec] = &[KEY, ITEM];
/// BF.MADD and BF.MEXISTS; those of cuckoo filters.
pub const MADD: &[ArgSpec] = &[KEY, ITEMS];
/// BF.BULKADD and BF.BULKEXISTS.
pub const BULK: &[ArgSpec] = &[
    KEY,
    ArgSpec::required(
        c"form",
        Kind::OneOf(&[
            ArgSpec { token: Some(c"FIXED"), ..ArgSpec::required(c"width", Kind::Integer) },
            ArgSpec::choice(c"prefixed", c"PREFIXED"),
            ArgSpec::choice(c"lines", c"LINES"),
        ]),
    ),
    ArgSpec::required(c"data", Kind::Text),
    ArgSpec::optional(c"count", c"COUNT", Kind::Token),
];
/// BF.SCANDUMP.
pub const SCANDUMP: &[ArgSpec] = &[KEY, ArgSpec::required(c"iterator", Kind::Integer)];
/// BF.LOADCHUNK.
pub const LOADCHUNK: &[ArgSpec] =
    &[KEY, ArgSpec::required(c"iterator", Kind::Integer), ArgSpec::required(c"data", Kind::Text)];

/// The key.
pub const KEY: ArgSpec = ArgSpec::required(c"key", Kind::Key);
const ITEM: ArgSpec = ArgSpec::required(c"item", Kind::Text);
/// One or more items.
const ITEMS: ArgSpec = ArgSpec { multiple: true, ..ITEM };
/// One or more items behind options.
pub const NAMED_ITEMS: ArgSpec = ArgSpec { token: Some(c"ITEMS"), ..ITEMS };
