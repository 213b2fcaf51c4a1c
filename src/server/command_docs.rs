//! The arguments of commands as COMMAND DOCS shows them.

use std::ffi::{CStr, c_int};
use std::ptr;

use redis_module::raw::{
    self, REDISMODULE_CMD_ARG_MULTIPLE, REDISMODULE_CMD_ARG_NONE, REDISMODULE_CMD_ARG_OPTIONAL,
    RedisModuleCommandArg,
};

use super::args::Arg;

/// An argument of a command.
#[derive(Clone, Copy)]
pub struct ArgSpec {
    pub name: &'static CStr,
    pub kind: ArgKind,
    /// The word before it.
    pub token: Option<&'static CStr>,
    /// True if it may be left out.
    pub optional: bool,
    /// True if it may be repeated.
    pub multiple: bool,
}

#[derive(Clone, Copy)]
pub enum ArgKind {
    /// A key, or several. The first such argument has the first key specification, and so on.
    Key,
    /// Any bytes.
    Text,
    Integer,
    Number,
    /// Only its token.
    Token,
    /// One of these.
    OneOf(&'static [ArgSpec]),
}

impl ArgSpec {
    pub const fn required(name: &'static CStr, kind: ArgKind) -> Self {
        Self { name, kind, token: None, optional: false, multiple: false }
    }

    /// An optional token, with a value unless the kind is [`ArgKind::Token`].
    pub const fn optional(name: &'static CStr, token: &'static CStr, kind: ArgKind) -> Self {
        Self { name, kind, token: Some(token), optional: true, multiple: false }
    }

    /// A token without a value, one of several.
    pub const fn choice(name: &'static CStr, token: &'static CStr) -> Self {
        Self { name, kind: ArgKind::Token, token: Some(token), optional: false, multiple: false }
    }

    /// True if an argument of a call is the token.
    pub fn has_token(&self, arg: Arg) -> bool {
        self.token.is_some_and(|token| arg.bytes().eq_ignore_ascii_case(token.to_bytes()))
    }
}

/// A list of arguments in the server's form: ended by an empty argument, and owning the lists that
/// its elements point to.
pub(super) struct ArgDocs {
    list: Vec<RedisModuleCommandArg>,
    _inner: Vec<Self>,
}

impl ArgDocs {
    /// The arguments in the server's form.
    pub(super) fn new(args: &[ArgSpec]) -> Self {
        let mut inner: Vec<Self> = Vec::new();
        let mut key_specs = 0..;
        let mut list: Vec<_> = args
            .iter()
            .map(|arg| {
                let (kind, parts) = match arg.kind {
                    ArgKind::Key => (raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_KEY, None),
                    ArgKind::Text => {
                        (raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_STRING, None)
                    }
                    ArgKind::Integer => {
                        (raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_INTEGER, None)
                    }
                    ArgKind::Number => {
                        (raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_DOUBLE, None)
                    }
                    ArgKind::Token => {
                        (raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_PURE_TOKEN, None)
                    }
                    ArgKind::OneOf(parts) => {
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
                let mut spec = no_arg();
                spec.name = arg.name.as_ptr();
                spec.type_ = kind;
                let key_spec =
                    if matches!(arg.kind, ArgKind::Key) { key_specs.next() } else { None };
                spec.key_spec_index = key_spec.unwrap_or(-1);
                spec.token = arg.token.map_or(ptr::null(), CStr::as_ptr);
                spec.flags = flags as c_int;
                if let Some(parts) = parts {
                    let mut parts = Self::new(parts);
                    // Moving the owner does not move the elements on the heap.
                    spec.subargs = parts.list.as_mut_ptr();
                    inner.push(parts);
                }
                spec
            })
            .collect();
        list.push(no_arg());
        Self { list, _inner: inner }
    }

    /// The first element of the list. It must not be used after the list is dropped.
    pub(super) fn as_mut_ptr(&mut self) -> *mut RedisModuleCommandArg {
        self.list.as_mut_ptr()
    }
}

/// The argument that ends a list.
fn no_arg() -> RedisModuleCommandArg {
    // SAFETY: null pointers and zeros are valid values of all fields.
    unsafe { std::mem::zeroed() }
}
