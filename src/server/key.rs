//! A key that is open during a call.

use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};

use redis_module::raw::{
    REDISMODULE_KEYTYPE_EMPTY, REDISMODULE_READ, REDISMODULE_WRITE, RedisModuleKey,
    RedisModuleType, Status,
};

use super::api::{api, optional_api};
use super::args::Arg;
use super::context::Context;

/// An open key; closed when it is dropped.
pub struct Key {
    key: *mut RedisModuleKey,
}

/// What a key holds.
pub enum Content {
    Missing,
    /// A value of another type.
    Other,
    /// A value of a requested type: the pointer that was passed to [`Key::set`].
    Value(NonNull<c_void>),
}

impl Key {
    /// Opens a key for reading.
    pub fn read(context: Context, name: Arg) -> Self {
        Self::open(context, name, REDISMODULE_READ)
    }

    /// Opens a key for reading and writing.
    pub fn write(context: Context, name: Arg) -> Self {
        Self::open(context, name, REDISMODULE_READ | REDISMODULE_WRITE)
    }

    fn open(context: Context, name: Arg, mode: u32) -> Self {
        // SAFETY: context and name are valid. The server returns null for a missing key that is
        // opened for reading only.
        let key =
            unsafe { api!(RedisModule_OpenKey)(context.as_ptr(), name.string(), mode as c_int) };
        Self { key }
    }

    /// What the key holds: nothing, a value of a type that is requested, or of another type.
    #[inline]
    pub fn content(&self, is_requested: impl Fn(*mut RedisModuleType) -> bool) -> Content {
        // SAFETY: the key is open or null, and all three functions allow null. Module types are
        // compared by address, not by name. The server's types are not converted to an enum,
        // because newer servers have more of them.
        unsafe {
            let value_type = api!(RedisModule_ModuleTypeGetType)(self.key);
            if !value_type.is_null() && is_requested(value_type) {
                return NonNull::new(api!(RedisModule_ModuleTypeGetValue)(self.key))
                    .map_or(Content::Other, Content::Value);
            }
            match api!(RedisModule_KeyType)(self.key) as isize {
                REDISMODULE_KEYTYPE_EMPTY => Content::Missing,
                _ => Content::Other,
            }
        }
    }

    /// When the key expires, in milliseconds of Unix time; none if it does not expire.
    pub fn expires_at(&self) -> Option<i64> {
        // SAFETY: the key is open. A server that reports only the remaining time also provides the
        // clock that the time refers to.
        let at = unsafe {
            match (optional_api!(RedisModule_GetAbsExpire), optional_api!(RedisModule_GetExpire)) {
                (Some(absolute), _) => absolute(self.key),
                (None, Some(left)) => match left(self.key) {
                    left if left < 0 => left,
                    left => left + optional_api!(RedisModule_Milliseconds).map_or(0, |now| now()),
                },
                (None, None) => -1,
            }
        };
        (at >= 0).then_some(at)
    }

    /// Lets the key expire after a given number of milliseconds. The key must hold a value.
    pub fn expire_after(&mut self, millis: u64) {
        let millis = i64::try_from(millis).unwrap_or(i64::MAX);
        // SAFETY: the key is open for writing. A key without a value is refused.
        unsafe { api!(RedisModule_SetExpire)(self.key, millis) };
    }

    /// Stores a value in the key, and frees the old value. The server owns the value from then on.
    ///
    /// False if the key is not open for writing; the caller still owns the value then.
    ///
    /// # Safety
    ///
    /// The value must be valid for the callbacks of the type.
    #[must_use]
    pub unsafe fn set(&mut self, value_type: *mut RedisModuleType, value: NonNull<c_void>) -> bool {
        // SAFETY: the key is open; the rest is promised by the caller.
        let status =
            unsafe { api!(RedisModule_ModuleTypeSetValue)(self.key, value_type, value.as_ptr()) };
        status == Status::Ok as c_int
    }

    /// Stores another value in place of the value of the key, which is of the same type. The old
    /// one is not freed.
    ///
    /// # Safety
    ///
    /// The key must be open for writing and hold a value of a module, whose callbacks `value` is
    /// valid for.
    pub unsafe fn replace(&mut self, value: NonNull<c_void>) {
        // SAFETY: the key is open and holds a value of the type; the old value may be ignored.
        unsafe {
            let value_type = api!(RedisModule_ModuleTypeGetType)(self.key);
            let (new, old) = (value.as_ptr(), ptr::null_mut());
            api!(RedisModule_ModuleTypeReplaceValue)(self.key, value_type, new, old);
        }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: the key is open or null, and is not used afterwards.
        unsafe { api!(RedisModule_CloseKey)(self.key) };
    }
}
