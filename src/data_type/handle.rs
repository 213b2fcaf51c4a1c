//! The type's handle: from an open key to the filter it holds, and back.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use redis_module::raw::RedisModuleType;

use super::callbacks;
use super::value::{self, Held};
use crate::server::api::api;
use crate::server::key::{Content, Key};
use crate::server::loading::Loading;
use bloomline_core::AnyFilter;

/// The type's name: RedisBloom's, since files and programs know it.
const NAME: &std::ffi::CStr = c"MBbloom--";

/// Version of the encoding in RDB files: RedisBloom's, of which ours is told apart by its first
/// number.
pub const ENCODING_VERSION: i32 = 4;

/// What the server calls the type; null until it is registered.
static TYPE: AtomicPtr<RedisModuleType> = AtomicPtr::new(ptr::null_mut());

/// What a key holds, seen from a command.
pub enum Lookup<T> {
    /// Nothing.
    Missing,
    /// A value of another type.
    WrongType,
    /// A filter.
    Found(T),
}

/// Registers the type. False if the server refuses it.
pub fn register(loading: Loading) -> bool {
    let mut methods = callbacks::methods();
    // SAFETY: the server copies name and methods, and checks the rest.
    let handle = unsafe {
        api!(RedisModule_CreateDataType)(
            loading.as_ptr(),
            NAME.as_ptr(),
            ENCODING_VERSION,
            &mut methods,
        )
    };
    TYPE.store(handle, Ordering::Release);
    !handle.is_null()
}

fn handle() -> *mut RedisModuleType {
    TYPE.load(Ordering::Acquire)
}

/// The filter of a key, to be read.
#[inline]
pub fn filter(key: &Key) -> Lookup<&AnyFilter> {
    match key.content(handle()) {
        Content::Missing => Lookup::Missing,
        Content::Other => Lookup::WrongType,
        // SAFETY: values of this type are boxed filters (`value::give`), which live while the key
        // holds them; commands run one at a time, and the key is borrowed.
        Content::Value(value) => Lookup::Found(unsafe { value.cast().as_ref() }),
    }
}

/// The filter of a key, to be changed. The key must be open for writing.
#[inline]
pub fn filter_mut(key: &mut Key) -> Lookup<Held<'_>> {
    match key.content(handle()) {
        Content::Missing => Lookup::Missing,
        Content::Other => Lookup::WrongType,
        // SAFETY: as in `filter`, and the key is borrowed exclusively.
        Content::Value(value) => Lookup::Found(Held::new(unsafe { value.cast().as_mut() })),
    }
}

/// Makes the key hold a filter; what it held is freed.
pub fn store(key: &mut Key, filter: AnyFilter) {
    let value = value::give(filter);
    // SAFETY: the callbacks of the type take what `give` gives.
    let taken = unsafe { key.set(handle(), value) };
    if !taken {
        // SAFETY: the server did not take it.
        drop(unsafe { value::take_back(value) });
    }
}
