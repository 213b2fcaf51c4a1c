//! Filters as values of keys: boxed, and counted in the totals of INFO.

use std::ffi::c_void;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

use redis_module::raw::RedisModuleType;

use crate::policy::counters::{
    BYTES, CAPACITY, FILTERS, FILTERS_BLOOMLINE, ITEMS, LAYERS, LAYERS_ADDED,
};
use crate::server::key::{Content, Key};
use bloomline_core::{AnyFilter, Layout};

/// The server's handle of the type; null until the type is registered.
static TYPE: AtomicPtr<RedisModuleType> = AtomicPtr::new(ptr::null_mut());

/// What a key holds.
pub enum Lookup<T> {
    /// Nothing.
    Missing,
    /// A value of another type.
    WrongType,
    /// A filter.
    Found(T),
}

/// Sets the server's handle of the type.
pub(super) fn set_type(handle: *mut RedisModuleType) {
    TYPE.store(handle, Ordering::Release);
}

fn filter_type() -> *mut RedisModuleType {
    TYPE.load(Ordering::Acquire)
}

/// The filter of a key, for reading.
#[inline]
pub fn filter(key: &Key) -> Lookup<&AnyFilter> {
    match key.content(filter_type()) {
        Content::Missing => Lookup::Missing,
        Content::Other => Lookup::WrongType,
        // SAFETY: values of this type come from `into_raw` and live while the key holds them;
        // commands run one at a time, and the key is borrowed.
        Content::Value(value) => Lookup::Found(unsafe { value.cast().as_ref() }),
    }
}

/// The filter of a key, for writing. The key must be open for writing.
#[inline]
pub fn filter_mut(key: &mut Key) -> Lookup<FilterMut<'_>> {
    match key.content(filter_type()) {
        Content::Missing => Lookup::Missing,
        Content::Other => Lookup::WrongType,
        // SAFETY: as in `filter`, and the key is borrowed exclusively.
        Content::Value(value) => Lookup::Found(FilterMut::new(unsafe { value.cast().as_mut() })),
    }
}

/// Stores a filter in a key, and frees the old value.
pub fn store(key: &mut Key, filter: AnyFilter) {
    let value = into_raw(filter);
    // SAFETY: the callbacks of the type expect what `into_raw` returns.
    let is_stored = unsafe { key.set(filter_type(), value) };
    if !is_stored {
        // SAFETY: the server did not take the value.
        drop(unsafe { from_raw(value) });
    }
}

/// Boxes a filter for the server, and adds it to the totals.
pub(super) fn into_raw(filter: AnyFilter) -> NonNull<c_void> {
    FILTERS.add(1);
    FILTERS_BLOOMLINE.add(u64::from(filter.layout() == Layout::Bloomline));
    LAYERS.add(filter.layer_count().into());
    ITEMS.add(filter.len());
    CAPACITY.add(filter.capacity());
    BYTES.add(filter.size_bytes());
    NonNull::from(Box::leak(Box::new(filter))).cast()
}

/// Takes a filter back from the server, and subtracts it from the totals. May run on any thread.
///
/// # Safety
///
/// `value` must come from [`into_raw`], and nothing may use it afterwards.
pub(super) unsafe fn from_raw(value: NonNull<c_void>) -> Box<AnyFilter> {
    // SAFETY: promised by the caller.
    let filter = unsafe { Box::from_raw(value.cast::<AnyFilter>().as_ptr()) };
    FILTERS.subtract(1);
    FILTERS_BLOOMLINE.subtract(u64::from(filter.layout() == Layout::Bloomline));
    LAYERS.subtract(filter.layer_count().into());
    ITEMS.subtract(filter.len());
    CAPACITY.subtract(filter.capacity());
    BYTES.subtract(filter.size_bytes());
    filter
}

/// A value that the server passes to a callback of the type, for reading.
///
/// # Safety
///
/// `value` must come from [`into_raw`], and nothing may change it while the result is used. The
/// server guarantees this to callbacks that read, until they return.
pub(super) unsafe fn borrowed<'a>(value: *const c_void) -> &'a AnyFilter {
    // SAFETY: promised by the caller.
    unsafe { &*value.cast() }
}

/// A filter that is open for writing. When it is dropped, the totals are updated.
pub struct FilterMut<'a> {
    filter: &'a mut AnyFilter,
    layers_before: u32,
    newest_len_before: u64,
}

impl<'a> FilterMut<'a> {
    fn new(filter: &'a mut AnyFilter) -> Self {
        let (layers_before, newest_len_before) = (filter.layer_count(), filter.newest_len());
        Self { filter, layers_before, newest_len_before }
    }
}

impl Deref for FilterMut<'_> {
    type Target = AnyFilter;

    #[inline]
    fn deref(&self) -> &AnyFilter {
        self.filter
    }
}

impl DerefMut for FilterMut<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut AnyFilter {
        self.filter
    }
}

impl Drop for FilterMut<'_> {
    #[inline]
    fn drop(&mut self) {
        let now = (self.filter.layer_count(), self.filter.newest_len());
        if now == (self.layers_before, self.newest_len_before) {
            return;
        }
        let added = self.filter.added_since(self.layers_before, self.newest_len_before);
        ITEMS.add(added.items);
        if added.layers != 0 {
            LAYERS.add(added.layers.into());
            LAYERS_ADDED.add(added.layers.into());
            CAPACITY.add(added.capacity);
            BYTES.add(added.bytes);
        }
    }
}
