//! The arguments of commands as COMMAND DOCS tells them.

use std::ffi::{CStr, c_int};
use std::ptr;

use redis_module::raw::{
    self, REDISMODULE_CMD_ARG_MULTIPLE, REDISMODULE_CMD_ARG_NONE, REDISMODULE_CMD_ARG_OPTIONAL,
    RedisModuleCommandArg,
};

/// An argument of a command, as COMMAND DOCS tells it.
pub struct Takes {
    /// Its name.
    pub name: &'static CStr,
    /// Its kind.
    pub kind: Kind,
    /// The word before it.
    pub token: Option<&'static CStr>,
    /// Whether it may be left out.
    pub optional: bool,
    /// Whether there may be several.
    pub multiple: bool,
}

/// The kind of an argument.
pub enum Kind {
    /// The key, by the first key specification.
    Key,
    /// Any bytes.
    Text,
    /// An integer.
    Integer,
    /// A number.
    Number,
    /// Only its token.
    Token,
    /// One of these.
    OneOf(&'static [Takes]),
}

/// Arguments as the server reads them: a list with an empty last one, and the lists its members
/// point to.
pub(super) struct Described {
    list: Vec<RedisModuleCommandArg>,
    _inner: Vec<Self>,
}

impl Described {
    /// Writes the arguments as the server reads them.
    pub(super) fn new(takes: &[Takes]) -> Self {
        let mut inner: Vec<Self> = Vec::new();
        let mut list: Vec<_> = takes
            .iter()
            .map(|arg| {
                let (kind, parts) = match arg.kind {
                    Kind::Key => (raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_KEY, None),
                    Kind::Text => {
                        (raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_STRING, None)
                    }
                    Kind::Integer => {
                        (raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_INTEGER, None)
                    }
                    Kind::Number => {
                        (raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_DOUBLE, None)
                    }
                    Kind::Token => {
                        (raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_PURE_TOKEN, None)
                    }
                    Kind::OneOf(parts) => {
                        (raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_ONEOF, Some(parts))
                    }
                };
                let mut flags = REDISMODULE_CMD_ARG_NONE;
                if arg.optional {
                    flags |= REDISMODULE_CMD_ARG_OPTIONAL;
                }
                if arg.multiple {
                    flags |= REDISMODULE_CMD_ARG_MULTIPLE;
                }
                let mut described = no_arg();
                described.name = arg.name.as_ptr();
                described.type_ = kind;
                described.key_spec_index = if matches!(arg.kind, Kind::Key) { 0 } else { -1 };
                described.token = arg.token.map_or(ptr::null(), CStr::as_ptr);
                described.flags = flags as c_int;
                if let Some(parts) = parts {
                    let mut parts = Self::new(parts);
                    // The list stays where it is when its owner moves.
                    described.subargs = parts.list.as_mut_ptr();
                    inner.push(parts);
                }
                described
            })
            .collect();
        list.push(no_arg());
        Self { list, _inner: inner }
    }

    /// The list, which lives as long as this does.
    pub(super) fn as_mut_ptr(&mut self) -> *mut RedisModuleCommandArg {
        self.list.as_mut_ptr()
    }
}

/// The end of a list of arguments.
fn no_arg() -> RedisModuleCommandArg {
    // SAFETY: null pointers and zeros are valid values of all fields.
    unsafe { std::mem::zeroed() }
}
