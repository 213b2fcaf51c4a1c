//! Filters as values of keys: boxed, checked, and counted.

use std::ffi::c_void;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

use redis_module::raw::RedisModuleType;

use crate::policy::family::Family;
use crate::server::key::{Content, Key};
use bloomline_core::host::AnyFilter;
use bloomline_core::host::cuckoo::AnyCuckoo;

/// A family of filters whose filters are values of keys.
pub trait DataType: Family {
    /// The server's handle of the type.
    fn handle() -> &'static Handle;
}

/// The server's handle of a type; null until the type is registered.
pub struct Handle(AtomicPtr<RedisModuleType>);

impl Handle {
    const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Sets the handle.
    pub(super) fn set(&self, handle: *mut RedisModuleType) {
        self.0.store(handle, Ordering::Release);
    }

    fn get(&self) -> *mut RedisModuleType {
        self.0.load(Ordering::Acquire)
    }
}

impl DataType for AnyFilter {
    #[inline]
    fn handle() -> &'static Handle {
        static HANDLE: Handle = Handle::new();
        &HANDLE
    }
}

impl DataType for AnyCuckoo {
    #[inline]
    fn handle() -> &'static Handle {
        static HANDLE: Handle = Handle::new();
        &HANDLE
    }
}

/// What a key holds.
pub enum Lookup<T> {
    /// Nothing.
    Missing,
    /// A value of another type.
    WrongType,
    /// A filter.
    Found(T),
}

/// The filter of a key, for reading.
#[inline]
pub fn filter<F: DataType>(key: &Key) -> Lookup<&F> {
    match key.content(F::handle().get()) {
        Content::Missing => Lookup::Missing,
        Content::Other => Lookup::WrongType,
        // SAFETY: values of this type come from `into_raw` and live while the key holds them;
        // commands run one at a time, and the key is borrowed.
        Content::Value(value) => Lookup::Found(unsafe { value.cast().as_ref() }),
    }
}

/// The filter of a key, for writing. The key must be open for writing.
#[inline]
pub fn filter_mut<F: DataType>(key: &mut Key) -> Lookup<FilterMut<'_, F>> {
    match key.content(F::handle().get()) {
        Content::Missing => Lookup::Missing,
        Content::Other => Lookup::WrongType,
        // SAFETY: as in `filter`, and the key is borrowed exclusively.
        Content::Value(value) => Lookup::Found(FilterMut::new(unsafe { value.cast().as_mut() })),
    }
}

/// Stores a filter in a key, and frees the old value.
pub fn store<F: DataType>(key: &mut Key, filter: F) {
    let value = into_raw(filter);
    // SAFETY: the callbacks of the type expect what `into_raw` returns.
    let is_stored = unsafe { key.set(F::handle().get(), value) };
    if !is_stored {
        // SAFETY: the server did not take the value.
        drop(unsafe { from_raw::<F>(value) });
    }
}

/// In the builds with a debug allocator: ends the process if a filter could not be loaded again.
/// Every filter passes here when it is created or loaded, and after each change.
#[inline]
fn check<F: Family>(filter: &F) {
    #[cfg(feature = "audit")]
    if let Err(error) = filter.check() {
        crate::server::log::warning(&format!("invalid filter: {error}; {filter:?}"));
        std::process::abort();
    }
    let _ = filter;
}

/// Boxes a filter for the server, and adds it to the totals.
pub(super) fn into_raw<F: DataType>(filter: F) -> NonNull<c_void> {
    check(&filter);
    filter.add_to_totals();
    NonNull::from(Box::leak(Box::new(filter))).cast()
}

/// Takes a filter back from the server, and subtracts it from the totals. May run on any thread.
///
/// # Safety
///
/// `value` must come from [`into_raw`] of this type, and nothing may use it afterwards.
pub(super) unsafe fn from_raw<F: DataType>(value: NonNull<c_void>) -> Box<F> {
    // SAFETY: promised by the caller.
    let filter = unsafe { Box::from_raw(value.cast::<F>().as_ptr()) };
    filter.subtract_from_totals();
    filter
}

/// A value that the server passes to a callback of the type, for reading.
///
/// # Safety
///
/// `value` must come from [`into_raw`] of this type, and nothing may change it while the result is used. The
/// server guarantees this to callbacks that read, until they return.
pub(super) unsafe fn borrowed<'a, F: DataType>(value: *const c_void) -> &'a F {
    // SAFETY: promised by the caller.
    unsafe { &*value.cast() }
}

/// A filter that is open for writing. When it is dropped, the totals are updated.
pub struct FilterMut<'a, F: Family> {
    filter: &'a mut F,
    change: F::Change,
}

impl<'a, F: Family> FilterMut<'a, F> {
    fn new(filter: &'a mut F) -> Self {
        let change = filter.begin_change();
        Self { filter, change }
    }
}

impl FilterMut<'_, AnyFilter> {
    /// Changes the filter in a way in which it does not only grow.
    pub fn replace<T>(&mut self, change: impl FnOnce(&mut AnyFilter) -> T) -> T {
        self.change.may_be_any(self.filter);
        change(self.filter)
    }
}

impl<F: Family> Deref for FilterMut<'_, F> {
    type Target = F;

    #[inline]
    fn deref(&self) -> &F {
        self.filter
    }
}

impl<F: Family> DerefMut for FilterMut<'_, F> {
    #[inline]
    fn deref_mut(&mut self) -> &mut F {
        self.filter
    }
}

impl<F: Family> Drop for FilterMut<'_, F> {
    #[inline]
    fn drop(&mut self) {
        check(self.filter);
        self.filter.end_change(&self.change);
    }
}
