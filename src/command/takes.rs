//! What the commands take, as COMMAND DOCS tells it.

use std::ffi::CStr;

use crate::server::docs::{Kind, Takes};

/// Only a key.
pub const KEY_ONLY: &[Takes] = &[KEY];
/// BF.ADD and BF.EXISTS.
pub const ADD: &[Takes] = &[KEY, ITEM];
/// BF.MADD and BF.MEXISTS.
pub const MADD: &[Takes] = &[KEY, ITEMS];
/// BF.RESERVE.
pub const RESERVE: &[Takes] = &[
    KEY,
    one(c"error_rate", Kind::Number),
    one(c"capacity", Kind::Integer),
    EXPANSION,
    word(c"nonscaling", c"NONSCALING"),
    LAYOUT,
];
/// BF.INSERT.
pub const INSERT: &[Takes] = &[
    KEY,
    option(c"capacity", c"CAPACITY", Kind::Integer),
    option(c"error", c"ERROR", Kind::Number),
    EXPANSION,
    word(c"nocreate", c"NOCREATE"),
    word(c"nonscaling", c"NONSCALING"),
    LAYOUT,
    Takes { token: Some(c"ITEMS"), ..ITEMS },
];
/// BF.INFO.
pub const INFO: &[Takes] = &[
    KEY,
    Takes {
        optional: true,
        ..one(
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
            ]),
        )
    },
];
/// BF.SCANDUMP.
pub const SCANDUMP: &[Takes] = &[KEY, one(c"iterator", Kind::Integer)];
/// BF.LOADCHUNK.
pub const LOADCHUNK: &[Takes] = &[KEY, one(c"iterator", Kind::Integer), one(c"data", Kind::Text)];

const KEY: Takes = one(c"key", Kind::Key);
const ITEM: Takes = one(c"item", Kind::Text);
const ITEMS: Takes = Takes { multiple: true, ..ITEM };
const EXPANSION: Takes = option(c"expansion", c"EXPANSION", Kind::Integer);
const LAYOUT: Takes = option(
    c"layout",
    c"LAYOUT",
    Kind::OneOf(&[choice(c"bloomline", c"BLOOMLINE"), choice(c"redisbloom", c"REDISBLOOM")]),
);

/// An argument that must be there.
const fn one(name: &'static CStr, kind: Kind) -> Takes {
    Takes { name, kind, token: None, optional: false, multiple: false }
}

/// A value behind a word, which may be left out.
const fn option(name: &'static CStr, token: &'static CStr, kind: Kind) -> Takes {
    Takes { name, kind, token: Some(token), optional: true, multiple: false }
}

/// A word alone, which may be left out.
const fn word(name: &'static CStr, token: &'static CStr) -> Takes {
    option(name, token, Kind::Token)
}

/// A word alone, one of several.
const fn choice(name: &'static CStr, token: &'static CStr) -> Takes {
    Takes { optional: false, ..word(name, token) }
}
