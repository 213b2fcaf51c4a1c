//! Replies, in the protocol the client speaks.

use std::ffi::{CStr, CString, c_long, c_longlong};
use std::ptr::NonNull;

use redis_module::raw::{self, REDISMODULE_POSTPONED_LEN, RedisModuleCtx};

use super::api::{api, optional_api};

/// The client's call, as far as it can be answered.
///
/// Copied freely: it is the pointer the server passes to a handler, and must not outlive it.
#[derive(Clone, Copy)]
pub struct Context {
    ctx: NonNull<RedisModuleCtx>,
}

impl Context {
    /// The context that the server passed to a handler.
    ///
    /// # Safety
    ///
    /// `ctx` must be valid for as long as the result and its copies are used: what the server
    /// promises until the handler returns.
    pub unsafe fn new(ctx: *mut RedisModuleCtx) -> Option<Self> {
        NonNull::new(ctx).map(|ctx| Self { ctx })
    }

    /// The server's own pointer.
    #[inline]
    pub(super) fn as_ptr(self) -> *mut RedisModuleCtx {
        self.ctx.as_ptr()
    }

    /// An integer.
    #[inline]
    pub fn integer(self, value: i64) {
        // SAFETY: the context is valid; so in every function of this file.
        unsafe { api!(RedisModule_ReplyWithLongLong)(self.as_ptr(), value as c_longlong) };
    }

    /// An integer of which the server has no larger kind: above 2^63 - 1 it says that.
    pub fn count(self, value: u64) {
        self.integer(i64::try_from(value).unwrap_or(i64::MAX));
    }

    /// A boolean: the integer 1 or 0 to clients of RESP2, and on servers older than 7.0.
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

    /// An array of `len` elements, which follow.
    #[inline]
    pub fn array(self, len: usize) {
        // SAFETY: see `integer`.
        unsafe { api!(RedisModule_ReplyWithArray)(self.as_ptr(), len as c_long) };
    }

    /// An array whose length is told by [`Context::array_len`] after its elements.
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

    /// A map of `len` pairs, which follow; a flat array to clients of RESP2, and on servers older
    /// than 7.0.
    pub fn map(self, len: usize) {
        // SAFETY: see `integer`.
        unsafe {
            match raw::RedisModule_ReplyWithMap {
                Some(reply) => reply(self.as_ptr(), len as c_long),
                None => api!(RedisModule_ReplyWithArray)(self.as_ptr(), 2 * len as c_long),
            }
        };
    }

    /// Whether the client speaks RESP3 and the server has maps for it.
    pub fn has_maps(self) -> bool {
        // SAFETY: see `integer`.
        let flags = unsafe { api!(RedisModule_GetContextFlags)(self.as_ptr()) };
        let resp3 = flags as u32 & raw::REDISMODULE_CTX_FLAGS_RESP3 != 0;
        // SAFETY: the pointer is written once, while the module is loaded.
        resp3 && unsafe { optional_api!(RedisModule_ReplyWithMap).is_some() }
    }

    /// Null.
    pub fn null(self) {
        // SAFETY: see `integer`.
        unsafe { api!(RedisModule_ReplyWithNull)(self.as_ptr()) };
    }

    /// A status or a name.
    pub fn simple(self, text: &CStr) {
        // SAFETY: see `integer`; the text ends with a zero byte and is copied.
        unsafe { api!(RedisModule_ReplyWithSimpleString)(self.as_ptr(), text.as_ptr()) };
    }

    /// Bytes.
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

    /// An error, sent as it stands.
    pub fn error(self, text: &CStr) {
        // SAFETY: see `simple`.
        unsafe { api!(RedisModule_ReplyWithError)(self.as_ptr(), text.as_ptr()) };
    }

    /// The server's own error for a wrong number of words.
    pub fn wrong_arity(self) {
        // SAFETY: see `integer`.
        unsafe { api!(RedisModule_WrongArity)(self.as_ptr()) };
    }

    /// An error made of parts; control characters become blanks, since an error is one line.
    pub fn error_text(self, text: &str) {
        let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        self.error(&CString::new(line).unwrap_or_default());
    }
}
