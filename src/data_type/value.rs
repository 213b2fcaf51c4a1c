//! The filter as the server holds it: a box whose content is counted in the totals of INFO.

use std::ffi::c_void;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::server::counters::{
    BYTES, CAPACITY, FILTERS, FILTERS_BLOOMLINE, ITEMS, LAYERS, LAYERS_ADDED,
};
use bloomline_core::{AnyFilter, Layout};

/// Boxes a filter for the server.
pub fn give(filter: AnyFilter) -> NonNull<c_void> {
    FILTERS.add(1);
    FILTERS_BLOOMLINE.add(u64::from(filter.layout() == Layout::Bloomline));
    LAYERS.add(filter.layer_count().into());
    ITEMS.add(filter.len());
    CAPACITY.add(filter.capacity());
    BYTES.add(filter.size_bytes());
    NonNull::from(Box::leak(Box::new(filter))).cast()
}

/// Takes a filter back. May run on any thread.
///
/// # Safety
///
/// `value` must come from [`give`], and nobody may use it any more.
pub unsafe fn take_back(value: NonNull<c_void>) -> Box<AnyFilter> {
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

/// A filter of the keyspace to be changed; the totals follow when it is dropped.
pub struct Held<'a> {
    filter: &'a mut AnyFilter,
    layers_before: u32,
    newest_len_before: u64,
}

impl<'a> Held<'a> {
    /// Holds a filter that [`give`] has counted.
    pub fn new(filter: &'a mut AnyFilter) -> Self {
        let (layers_before, newest_len_before) = (filter.layer_count(), filter.newest_len());
        Self { filter, layers_before, newest_len_before }
    }
}

impl Deref for Held<'_> {
    type Target = AnyFilter;

    #[inline]
    fn deref(&self) -> &AnyFilter {
        self.filter
    }
}

impl DerefMut for Held<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut AnyFilter {
        self.filter
    }
}

impl Drop for Held<'_> {
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
