//! The context of a call: its reply, its replication, and what the server reports about it.

use std::ffi::{CStr, c_long, c_longlong};
use std::ptr::{self, NonNull};
use std::slice;

use redis_module::raw::{self, REDISMODULE_POSTPONED_LEN, RedisModuleCtx};

use super::api::{api, optional_api};
use super::args::{Arg, Args};
use super::{audit, log};

/// The context that the server passes to a command handler.
///
/// Copied freely: it is a pointer, and must not outlive the handler.
#[derive(Clone, Copy)]
pub struct Context {
    ctx: NonNull<RedisModuleCtx>,
}

/// What the server reports about a call, or about itself: `REDISMODULE_CTX_FLAGS_…`.
#[derive(Clone, Copy)]
pub struct Flags(u32);

/// What follows the key in a replicated command.
#[derive(Clone, Copy)]
pub enum Operands<'a> {
    None,
    Integer(i64),
    IntegerAndBytes(i64, &'a [u8]),
    /// The name of an option and its value.
    Option(&'a CStr, i64),
    /// Arguments of the call.
    Args(Args<'a>),
    /// A word and arguments of the call.
    WordAndArgs(&'a CStr, Args<'a>),
    /// Items in one string, and how they are packed.
    Packed {
        form: &'a CStr,
        /// The integer behind the name, if there is one.
        width: Option<i64>,
        data: &'a [u8],
    },
}

impl Context {
    /// The context that the server passed to a handler; none if it is null.
    ///
    /// # Safety
    ///
    /// `ctx` must be null, or valid for as long as the result and its copies are used. The server
    /// guarantees this until the handler returns.
    pub unsafe fn new(ctx: *mut RedisModuleCtx) -> Option<Self> {
        NonNull::new(ctx).map(|ctx| Self { ctx })
    }

    #[inline]
    pub(super) fn as_ptr(self) -> *mut RedisModuleCtx {
        self.ctx.as_ptr()
    }

    #[inline]
    pub fn integer(self, value: i64) {
        // SAFETY: the caller of `new` guarantees a valid context, for this and all other methods.
        unsafe { api!(RedisModule_ReplyWithLongLong)(self.as_ptr(), value as c_longlong) };
    }

    /// Replies with a count. Counts above 2^63 - 1 are sent as 2^63 - 1, the largest integer of the
    /// protocol.
    pub fn count(self, value: u64) {
        self.integer(i64::try_from(value).unwrap_or(i64::MAX));
    }

    /// Replies with a boolean: the integer 1 or 0 for clients of RESP2, and on servers before 7.0.
    #[inline]
    pub fn boolean(self, value: bool) {
        // SAFETY: see `integer`.
        unsafe {
            match raw::RedisModule_ReplyWithBool {
                Some(reply) => reply(self.as_ptr(), value.into()),
                None => api!(RedisModule_ReplyWithLongLong)(self.as_ptr(), value.into()),
            }
        };
    }

    /// True if the client speaks RESP3 and the server has booleans for it.
    pub fn has_booleans(self) -> bool {
        // SAFETY: the pointer is written once, while the module is loaded.
        let is_available = || unsafe { optional_api!(RedisModule_ReplyWithBool).is_some() };
        self.flags().is_resp3() && is_available()
    }

    /// Begins an array; its `len` elements follow.
    #[inline]
    pub fn array(self, len: usize) {
        // SAFETY: see `integer`.
        unsafe { api!(RedisModule_ReplyWithArray)(self.as_ptr(), len as c_long) };
    }

    /// Begins an array whose length [`Context::array_len`] sets after its elements.
    pub fn array_of_unknown_len(self) {
        // SAFETY: see `integer`.
        unsafe {
            api!(RedisModule_ReplyWithArray)(self.as_ptr(), REDISMODULE_POSTPONED_LEN.into())
        };
    }

    /// Ends an array of unknown length.
    pub fn array_len(self, len: usize) {
        // SAFETY: see `integer`.
        unsafe { api!(RedisModule_ReplySetArrayLength)(self.as_ptr(), len as c_long) };
    }

    /// Begins a map; its `len` pairs follow. A flat array for clients of RESP2, and on servers
    /// before 7.0.
    pub fn map(self, len: usize) {
        // SAFETY: see `integer`.
        unsafe {
            match raw::RedisModule_ReplyWithMap {
                Some(reply) => reply(self.as_ptr(), len as c_long),
                None => api!(RedisModule_ReplyWithArray)(self.as_ptr(), 2 * len as c_long),
            }
        };
    }

    /// True if the client speaks RESP3 and the server has maps for it.
    pub fn has_maps(self) -> bool {
        // SAFETY: the pointer is written once, while the module is loaded.
        let is_available = || unsafe { optional_api!(RedisModule_ReplyWithMap).is_some() };
        self.flags().is_resp3() && is_available()
    }

    pub fn null(self) {
        // SAFETY: see `integer`.
        unsafe { api!(RedisModule_ReplyWithNull)(self.as_ptr()) };
    }

    pub fn simple(self, text: &CStr) {
        // SAFETY: see `integer`; the text ends with a zero byte and is copied.
        unsafe { api!(RedisModule_ReplyWithSimpleString)(self.as_ptr(), text.as_ptr()) };
    }

    pub fn bulk(self, bytes: &[u8]) {
        // SAFETY: see `integer`; the bytes are copied.
        unsafe {
            api!(RedisModule_ReplyWithStringBuffer)(
                self.as_ptr(),
                bytes.as_ptr().cast(),
                bytes.len(),
            )
        };
    }

    /// Replies with an error, sent verbatim.
    pub fn error(self, text: &CStr) {
        // SAFETY: see `simple`.
        unsafe { api!(RedisModule_ReplyWithError)(self.as_ptr(), text.as_ptr()) };
    }

    /// Replies with an error. Control characters become blanks, because an error is one line.
    pub fn error_text(self, text: &str) {
        self.error(&log::line(text));
    }

    /// Replies with the server's error for a wrong number of arguments.
    pub fn wrong_arity(self) {
        // SAFETY: see `integer`.
        unsafe { api!(RedisModule_WrongArity)(self.as_ptr()) };
    }

    /// Replicates the call as the client sent it.
    pub fn replicate_verbatim(self) {
        audit::replicated();
        // SAFETY: see `integer`.
        unsafe { api!(RedisModule_ReplicateVerbatim)(self.as_ptr()) };
    }

    /// Replicates another command in place of the call. A call may replicate several.
    pub fn replicate(self, command: &CStr, key: Arg, operands: Operands) {
        audit::replicated();
        let (ctx, name, key) = (self.as_ptr(), command.as_ptr(), key.string());
        // SAFETY: see `integer`; each format describes the arguments behind it, which the server
        // copies.
        unsafe {
            let replicate = api!(RedisModule_Replicate);
            match operands {
                Operands::None => replicate(ctx, name, c"s".as_ptr(), key),
                Operands::Integer(value) => {
                    replicate(ctx, name, c"sl".as_ptr(), key, value as c_longlong)
                }
                Operands::IntegerAndBytes(value, bytes) => replicate(
                    ctx,
                    name,
                    c"slb".as_ptr(),
                    key,
                    value as c_longlong,
                    bytes.as_ptr(),
                    bytes.len(),
                ),
                Operands::Option(name_of, value) => replicate(
                    ctx,
                    name,
                    c"scl".as_ptr(),
                    key,
                    name_of.as_ptr(),
                    value as c_longlong,
                ),
                Operands::Args(args) => {
                    let strings = args.strings();
                    replicate(ctx, name, c"sv".as_ptr(), key, strings.as_ptr(), strings.len())
                }
                Operands::WordAndArgs(word, args) => {
                    let (word, strings) = (word.as_ptr(), args.strings());
                    let format = c"scv".as_ptr();
                    replicate(ctx, name, format, key, word, strings.as_ptr(), strings.len())
                }
                Operands::Packed { form, width: None, data } => replicate(
                    ctx,
                    name,
                    c"scb".as_ptr(),
                    key,
                    form.as_ptr(),
                    data.as_ptr(),
                    data.len(),
                ),
                Operands::Packed { form, width: Some(width), data } => replicate(
                    ctx,
                    name,
                    c"sclb".as_ptr(),
                    key,
                    form.as_ptr(),
                    width as c_longlong,
                    data.as_ptr(),
                    data.len(),
                ),
            };
        }
    }

    /// [`Context::replicate`] with the first `MOST` of some strings that are not arguments of the
    /// call. The list of them is on the stack: what has changed is replicated without memory, too.
    pub fn replicate_strings<'a, const MOST: usize>(
        self,
        command: &CStr,
        key: Arg,
        strings: impl IntoIterator<Item = &'a [u8]>,
    ) {
        audit::replicated();
        let mut made = [ptr::null_mut(); MOST];
        let mut len = 0;
        // SAFETY: as in `replicate`; each string is created here, and freed once.
        unsafe {
            let create = api!(RedisModule_CreateString);
            for (string, bytes) in made.iter_mut().zip(strings) {
                *string = create(self.as_ptr(), bytes.as_ptr().cast(), bytes.len());
                len += 1;
            }
            let made = made.get(..len).unwrap_or_default();
            let (name, format) = (command.as_ptr(), c"sv".as_ptr());
            let replicate = api!(RedisModule_Replicate);
            replicate(self.as_ptr(), name, format, key.string(), made.as_ptr(), made.len());
            let free = api!(RedisModule_FreeString);
            made.iter().for_each(|&string| free(self.as_ptr(), string));
        }
    }

    /// Reports a change of the key to watchers and caching clients.
    pub fn signal_change(self, key: Arg) {
        audit::signalled();
        // SAFETY: context and key are valid.
        unsafe { api!(RedisModule_SignalModifiedKey)(self.as_ptr(), key.string()) };
    }

    /// Sends a keyspace event of the key.
    pub fn notify(self, key: Arg, event: &CStr) {
        // SAFETY: context and key are valid, and the event ends with a zero byte.
        unsafe {
            let class = raw::REDISMODULE_NOTIFY_GENERIC;
            api!(RedisModule_NotifyKeyspaceEvent)(
                self.as_ptr(),
                class,
                event.as_ptr(),
                key.string(),
            );
        }
    }

    /// What the server reports about the call. Not free: the server computes its memory usage for
    /// the answer.
    pub fn flags(self) -> Flags {
        // SAFETY: see `integer`.
        unsafe { flags(self.as_ptr()) }
    }

    /// True if a setting of the server is known to have this value: CONFIG may be renamed.
    pub fn config_is(self, setting: &CStr, value: &[u8]) -> bool {
        // SAFETY: the pointers are written once, while the module is loaded; the context is valid,
        // the format describes two C strings, and the reply is freed once.
        unsafe {
            let (Some(call), Some(element), Some(text), Some(free)) = (
                optional_api!(RedisModule_Call),
                optional_api!(RedisModule_CallReplyArrayElement),
                optional_api!(RedisModule_CallReplyStringPtr),
                optional_api!(RedisModule_FreeCallReply),
            ) else {
                return false;
            };
            let reply = call(
                self.as_ptr(),
                c"CONFIG".as_ptr(),
                c"cc".as_ptr(),
                c"GET".as_ptr(),
                setting.as_ptr(),
            );
            if reply.is_null() {
                return false;
            }
            let mut len = 0;
            let found = element(reply, 1);
            let start = if found.is_null() { ptr::null() } else { text(found, &mut len) };
            let is_equal =
                !start.is_null() && slice::from_raw_parts(start.cast::<u8>(), len) == value;
            free(reply);
            is_equal
        }
    }
}

impl Flags {
    /// What the server reports outside of calls.
    pub fn outside_calls() -> Self {
        // SAFETY: the server allows a null context, and reports the flags that need none.
        unsafe { flags(ptr::null_mut()) }
    }

    fn has(self, flag: u32) -> bool {
        self.0 & flag != 0
    }

    /// True while a file, or the data set of a primary, is loaded.
    pub fn is_loading(self) -> bool {
        self.has(raw::REDISMODULE_CTX_FLAGS_LOADING)
    }

    /// True while a data set is loaded beside the old one, which still serves clients.
    pub fn is_loading_async(self) -> bool {
        self.has(raw::REDISMODULE_CTX_FLAGS_ASYNC_LOADING)
    }

    /// True for a call that the primary replicated.
    pub fn is_replicated(self) -> bool {
        self.has(raw::REDISMODULE_CTX_FLAGS_REPLICATED)
    }

    pub fn is_replica(self) -> bool {
        self.has(raw::REDISMODULE_CTX_FLAGS_SLAVE)
    }

    /// True for a call of a Lua script.
    pub fn is_script(self) -> bool {
        self.has(raw::REDISMODULE_CTX_FLAGS_LUA)
    }

    /// True if the client speaks RESP3.
    pub fn is_resp3(self) -> bool {
        self.has(raw::REDISMODULE_CTX_FLAGS_RESP3)
    }
}

/// # Safety
///
/// The context must be null or valid.
unsafe fn flags(ctx: *mut RedisModuleCtx) -> Flags {
    // SAFETY: promised by the caller.
    Flags(unsafe { api!(RedisModule_GetContextFlags)(ctx) as u32 })
}
