//! The arguments of the commands, as COMMAND DOCS and BF.HELP show them.

use std::ffi::CStr;

use crate::server::command_docs::{ArgSpec, Kind};

/// Only a key.
pub const KEY_ONLY: &[ArgSpec] = &[KEY];
/// BF.ADD and BF.EXISTS.
pub const ADD: &[ArgSpec] = &[KEY, ITEM];
/// BF.MADD and BF.MEXISTS.
pub const MADD: &[ArgSpec] = &[KEY, ITEMS];
/// BF.BULKADD and BF.BULKEXISTS.
pub const BULK: &[ArgSpec] = &[
    KEY,
    required(
        c"form",
        Kind::OneOf(&[
            ArgSpec { token: Some(c"FIXED"), ..required(c"width", Kind::Integer) },
            choice(c"prefixed", c"PREFIXED"),
            choice(c"lines", c"LINES"),
        ]),
    ),
    required(c"data", Kind::Text),
    flag(c"count", c"COUNT"),
];
/// BF.RESERVE.
pub const RESERVE: &[ArgSpec] = &[
    KEY,
    required(c"error_rate", Kind::Number),
    required(c"capacity", Kind::Integer),
    EXPANSION,
    flag(c"nonscaling", c"NONSCALING"),
    LAYOUT,
    WINDOW,
    GENERATIONS,
    NOREFRESH,
    TTL,
    SEED,
];
/// BF.INSERT.
pub const INSERT: &[ArgSpec] = &[
    KEY,
    optional(c"capacity", c"CAPACITY", Kind::Integer),
    optional(c"error", c"ERROR", Kind::Number),
    EXPANSION,
    flag(c"nocreate", c"NOCREATE"),
    flag(c"nonscaling", c"NONSCALING"),
    LAYOUT,
    WINDOW,
    GENERATIONS,
    NOREFRESH,
    TTL,
    SEED,
    ArgSpec { token: Some(c"ITEMS"), ..ITEMS },
];
/// BF.INFO.
pub const INFO: &[ArgSpec] = &[
    KEY,
    ArgSpec {
        optional: true,
        ..required(
            c"single_value",
            Kind::OneOf(&[
                choice(c"capacity", c"CAPACITY"),
                choice(c"size", c"SIZE"),
                choice(c"filters", c"FILTERS"),
                choice(c"items", c"ITEMS"),
                choice(c"expansion", c"EXPANSION"),
                choice(c"error", c"ERROR"),
                choice(c"layout", c"LAYOUT"),
                choice(c"fill", c"FILL"),
                choice(c"fprate", c"FPRATE"),
                choice(c"window", c"WINDOW"),
                choice(c"generations", c"GENERATIONS"),
                choice(c"oldest", c"OLDEST"),
                choice(c"newest", c"NEWEST"),
                choice(c"estimate", c"ESTIMATE"),
            ]),
        )
    },
];
/// BF.ROTATE.
pub const ROTATE: &[ArgSpec] = &[KEY, optional(c"milliseconds", c"AT", Kind::Integer)];
/// BF.MERGE.
pub const MERGE: &[ArgSpec] = &[
    required(c"destination", Kind::Key),
    ArgSpec { multiple: true, ..required(c"source", Kind::Key) },
];
/// BF.SCANDUMP.
pub const SCANDUMP: &[ArgSpec] = &[KEY, required(c"iterator", Kind::Integer)];
/// BF.LOADCHUNK.
pub const LOADCHUNK: &[ArgSpec] =
    &[KEY, required(c"iterator", Kind::Integer), required(c"data", Kind::Text)];

const KEY: ArgSpec = required(c"key", Kind::Key);
const ITEM: ArgSpec = required(c"item", Kind::Text);
const ITEMS: ArgSpec = ArgSpec { multiple: true, ..ITEM };
const EXPANSION: ArgSpec = optional(c"expansion", c"EXPANSION", Kind::Integer);
const LAYOUT: ArgSpec = optional(
    c"layout",
    c"LAYOUT",
    Kind::OneOf(&[choice(c"bloomline", c"BLOOMLINE"), choice(c"redisbloom", c"REDISBLOOM")]),
);

const WINDOW: ArgSpec = ArgSpec {
    optional: true,
    ..required(
        c"window",
        Kind::OneOf(&[
            ArgSpec { token: Some(c"WINDOW"), ..required(c"seconds", Kind::Integer) },
            choice(c"last", c"LAST"),
        ]),
    )
};
const GENERATIONS: ArgSpec = optional(c"generations", c"GENERATIONS", Kind::Integer);
const NOREFRESH: ArgSpec = flag(c"norefresh", c"NOREFRESH");
const TTL: ArgSpec = optional(c"ttl", c"TTL", Kind::Integer);
const SEED: ArgSpec = optional(c"seed", c"SEED", Kind::Integer);

/// A required argument.
const fn required(name: &'static CStr, kind: Kind) -> ArgSpec {
    ArgSpec { name, kind, token: None, optional: false, multiple: false }
}

/// An optional token with a value.
const fn optional(name: &'static CStr, token: &'static CStr, kind: Kind) -> ArgSpec {
    ArgSpec { name, kind, token: Some(token), optional: true, multiple: false }
}

/// An optional token without a value.
const fn flag(name: &'static CStr, token: &'static CStr) -> ArgSpec {
    optional(name, token, Kind::Token)
}

/// A token without a value, one of several.
const fn choice(name: &'static CStr, token: &'static CStr) -> ArgSpec {
    ArgSpec { optional: false, ..flag(name, token) }
}
