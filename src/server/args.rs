//! The arguments of a call, as the server passes them.

use std::ffi::{c_char, c_int};
use std::fmt;
use std::marker::PhantomData;
use std::slice;

use arrayvec::ArrayVec;
use redis_module::raw::RedisModuleString;

use super::api::api;
use super::number;

#[derive(Clone, Copy)]
pub struct Arg<'a> {
    string: *mut RedisModuleString,
    life: PhantomData<&'a RedisModuleString>,
}

#[derive(Clone, Copy)]
pub struct Args<'a> {
    strings: &'a [*mut RedisModuleString],
}

/// The most arguments of an [`ArgList`] that allocates nothing.
const FEW: usize = 16;

/// Room for arguments picked from a call.
pub struct ArgList<'a> {
    /// Has no memory if there is room for few only: they are picked on the stack.
    strings: Vec<*mut RedisModuleString>,
    life: PhantomData<&'a RedisModuleString>,
}

impl<'a> Args<'a> {
    /// The arguments that the server passed to a command handler.
    ///
    /// # Safety
    ///
    /// `argv` must point to `argc` valid strings that live as long as `'a`. The server guarantees
    /// this to a handler until it returns.
    pub unsafe fn new(argv: *mut *mut RedisModuleString, argc: c_int) -> Self {
        let len = usize::try_from(argc).unwrap_or_default();
        if argv.is_null() || len == 0 {
            return Self { strings: &[] };
        }
        // SAFETY: promised by the caller.
        Self { strings: unsafe { slice::from_raw_parts(argv, len) } }
    }

    pub fn len(&self) -> usize {
        self.strings.len()
    }

    pub fn is_empty(&self) -> bool {
        self.strings.is_empty()
    }

    pub fn get(&self, index: usize) -> Option<Arg<'a>> {
        self.strings.get(index).map(|&string| Arg::new(string))
    }

    /// The arguments after the first `count`; none if there are no more.
    pub fn skip(&self, count: usize) -> Self {
        Self { strings: self.strings.get(count..).unwrap_or_default() }
    }

    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Arg<'a>> + Clone + use<'a> {
        self.strings.iter().map(|&string| Arg::new(string))
    }

    /// The bytes of each argument, in order.
    #[inline]
    pub fn bytes(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone + use<'a> {
        self.iter().map(Arg::bytes)
    }

    pub(super) fn strings(&self) -> &'a [*mut RedisModuleString] {
        self.strings
    }
}

impl<'a> Arg<'a> {
    fn new(string: *mut RedisModuleString) -> Self {
        Self { string, life: PhantomData }
    }

    /// A string of the server that somebody else keeps alive.
    ///
    /// # Safety
    ///
    /// The string must be valid for as long as the reference is.
    pub unsafe fn borrowed(string: &'a *mut RedisModuleString) -> Self {
        Self::new(*string)
    }

    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        let mut len = 0;
        // SAFETY: the string is valid for 'a, and the server does not change it during that time.
        unsafe {
            let start: *const c_char = api!(RedisModule_StringPtrLen)(self.string, &mut len);
            if start.is_null() { &[] } else { slice::from_raw_parts(start.cast(), len) }
        }
    }

    /// The argument for error texts and log lines: at most its first 64 bytes, with bytes that are
    /// not printable escaped.
    pub fn shown(self) -> impl fmt::Display + use<'a> {
        const SHOWN: usize = 64;
        let bytes = self.bytes();
        bytes.get(..SHOWN).unwrap_or(bytes).escape_ascii()
    }

    /// True if the argument is this word in letters of any case.
    pub fn is(self, word: &str) -> bool {
        self.bytes().eq_ignore_ascii_case(word.as_bytes())
    }

    /// True if the upper case of the argument in Unicode is this word: `ı` becomes `I`, `ſ` becomes
    /// `S`. valkey-bloom compares names so.
    pub fn is_in_upper_case(self, word: &str) -> bool {
        let text = str::from_utf8(self.bytes());
        text.is_ok_and(|text| text.chars().flat_map(char::to_uppercase).eq(word.chars()))
    }

    /// The argument as a 64-bit integer; none if it is not one.
    pub fn integer(self) -> Option<i64> {
        number::integer(self.bytes())
    }

    /// The argument as an iterator of a dump; none if it is not an integer in the one form in which
    /// servers write them. LOADCHUNK is replicated verbatim, also to servers with RedisBloom, which
    /// take no other form.
    pub fn iterator(self) -> Option<i64> {
        number::canonical(self.bytes())
    }

    /// The argument as an unsigned 64-bit integer; none if it is not one.
    pub fn unsigned(self) -> Option<u64> {
        number::unsigned(self.bytes())
    }

    /// The argument as a number; none if it is not one, or NaN.
    pub fn number(self) -> Option<f64> {
        number::number(self.bytes())
    }

    /// The argument as a number of valkey-bloom; none if it is not one.
    pub fn float(self) -> Option<f64> {
        number::float(self.bytes())
    }

    pub(super) fn string(self) -> *mut RedisModuleString {
        self.string
    }
}

impl<'a> ArgList<'a> {
    /// Room for `capacity` arguments; `None` if there is no memory for it.
    pub fn with_room(capacity: usize) -> Option<Self> {
        let mut strings = Vec::new();
        if capacity > FEW {
            strings.try_reserve_exact(capacity).ok()?;
        }
        Some(Self { strings, life: PhantomData })
    }

    /// Calls `with` with the arguments, for which there must be room, in their order.
    pub fn pick(mut self, args: impl Iterator<Item = Arg<'a>>, with: impl FnOnce(Args)) {
        let mut strings = args.map(Arg::string);
        if self.strings.capacity() == 0 {
            let few: ArrayVec<_, FEW> = strings.by_ref().take(FEW).collect();
            return with(Args { strings: &few });
        }
        self.strings.extend(strings);
        with(Args { strings: &self.strings });
    }
}
