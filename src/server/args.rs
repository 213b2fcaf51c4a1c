//! The words of a command, as the server hands them over.

use std::ffi::{c_char, c_int};
use std::fmt;
use std::slice;

use redis_module::raw::{RedisModuleString, Status};

use super::api::api;

/// A word of a command; any bytes.
#[derive(Clone, Copy)]
pub struct Arg<'a> {
    string: *mut RedisModuleString,
    life: std::marker::PhantomData<&'a RedisModuleString>,
}

/// Words of a command, in order.
#[derive(Clone, Copy)]
pub struct Args<'a> {
    strings: &'a [*mut RedisModuleString],
}

impl<'a> Args<'a> {
    /// The words that the server passed to a command handler.
    ///
    /// # Safety
    ///
    /// `argv` must point to `argc` valid strings that live as long as `'a`: what the server
    /// promises a handler.
    pub unsafe fn new(argv: *mut *mut RedisModuleString, argc: c_int) -> Self {
        let len = usize::try_from(argc).unwrap_or_default();
        if argv.is_null() || len == 0 {
            return Self { strings: &[] };
        }
        // SAFETY: promised by the caller.
        Self { strings: unsafe { slice::from_raw_parts(argv, len) } }
    }

    /// Number of words.
    pub fn len(&self) -> usize {
        self.strings.len()
    }

    /// Whether there is no word.
    pub fn is_empty(&self) -> bool {
        self.strings.is_empty()
    }

    /// The word at an index.
    pub fn get(&self, index: usize) -> Option<Arg<'a>> {
        self.strings.get(index).map(|&string| Arg::new(string))
    }

    /// The words from an index on; none past the end.
    pub fn from(&self, index: usize) -> Self {
        Self { strings: self.strings.get(index..).unwrap_or_default() }
    }

    /// The words one after the other.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Arg<'a>> + use<'a> {
        self.strings.iter().map(|&string| Arg::new(string))
    }

    /// The bytes of each word.
    #[inline]
    pub fn bytes(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        self.iter().map(Arg::bytes)
    }

    /// The server's own strings.
    pub(super) fn strings(&self) -> &'a [*mut RedisModuleString] {
        self.strings
    }
}

impl<'a> Arg<'a> {
    fn new(string: *mut RedisModuleString) -> Self {
        Self { string, life: std::marker::PhantomData }
    }

    /// A string of the server that somebody else keeps alive.
    ///
    /// # Safety
    ///
    /// It must be valid for as long as the reference is.
    pub unsafe fn borrowed(string: &'a *mut RedisModuleString) -> Self {
        Self::new(*string)
    }

    /// The bytes of the word.
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        let mut len = 0;
        // SAFETY: the string is valid for 'a, and the server does not change it meanwhile.
        unsafe {
            let start: *const c_char = api!(RedisModule_StringPtrLen)(self.string, &mut len);
            if start.is_null() { &[] } else { slice::from_raw_parts(start.cast(), len) }
        }
    }

    /// The word for people to read: at most 64 bytes, those that are not printable escaped.
    pub fn shown(self) -> impl fmt::Display + use<'a> {
        const SHOWN: usize = 64;
        let bytes = self.bytes();
        bytes.get(..SHOWN).unwrap_or(bytes).escape_ascii()
    }

    /// Whether the word is this one, in letters of any case.
    pub fn is(self, word: &str) -> bool {
        self.bytes().eq_ignore_ascii_case(word.as_bytes())
    }

    /// The number the word is to the server: none for what it takes for no 64-bit integer.
    pub fn integer(self) -> Option<i64> {
        let mut value = 0;
        // SAFETY: the string is valid, and the number is written to a local.
        let status = unsafe { api!(RedisModule_StringToLongLong)(self.string, &mut value) };
        (status == Status::Ok as c_int).then_some(value)
    }

    /// The number the word is to the server: none for what it takes for no number.
    pub fn number(self) -> Option<f64> {
        let mut value = 0.0;
        // SAFETY: as in `integer`.
        let status = unsafe { api!(RedisModule_StringToDouble)(self.string, &mut value) };
        (status == Status::Ok as c_int && !value.is_nan()).then_some(value)
    }

    /// The server's own string.
    pub(super) fn string(self) -> *mut RedisModuleString {
        self.string
    }
}
