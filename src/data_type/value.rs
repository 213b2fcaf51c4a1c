//! The filter as the server holds it: a box whose content is counted in the totals of INFO.

use std::ffi::c_void;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::bloom::Filter;
use crate::bloom::filter::size_bytes;
use crate::server::counters::{BYTES, CAPACITY, FILTERS, ITEMS, LAYERS, LAYERS_ADDED};

/// Boxes a filter for the server.
pub fn give(filter: Filter) -> NonNull<c_void> {
    FILTERS.add(1);
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
pub unsafe fn take_back(value: NonNull<c_void>) -> Box<Filter> {
    // SAFETY: promised by the caller.
    let filter = unsafe { Box::from_raw(value.cast::<Filter>().as_ptr()) };
    FILTERS.subtract(1);
    LAYERS.subtract(filter.layer_count().into());
    ITEMS.subtract(filter.len());
    CAPACITY.subtract(filter.capacity());
    BYTES.subtract(filter.size_bytes());
    filter
}

/// A filter of the keyspace to be changed; the totals follow when it is dropped.
pub struct Held<'a> {
    filter: &'a mut Filter,
    layers_before: u32,
    newest_len_before: u64,
}

impl<'a> Held<'a> {
    /// Holds a filter that [`give`] has counted.
    pub fn new(filter: &'a mut Filter) -> Self {
        let (layers_before, newest_len_before) = (filter.layer_count(), filter.newest_len());
        Self { filter, layers_before, newest_len_before }
    }
}

impl Deref for Held<'_> {
    type Target = Filter;

    #[inline]
    fn deref(&self) -> &Filter {
        self.filter
    }
}

impl DerefMut for Held<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Filter {
        self.filter
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        let added = self.filter.layer_count() - self.layers_before;
        if added == 0 {
            let items = self.filter.newest_len() - self.newest_len_before;
            if items != 0 {
                ITEMS.add(items);
            }
            return;
        }
        // The layer that was the newest is full now, and so are those between it and the newest of today.
        let newest_before = self.layers_before as usize - 1;
        let mut items = self.filter.newest_len().wrapping_sub(self.newest_len_before);
        for (old, new) in
            self.filter.layers().skip(newest_before).zip(self.filter.layers().skip(newest_before + 1))
        {
            items = items.wrapping_add(old.capacity());
            CAPACITY.add(new.capacity());
            BYTES.add(new.geometry().bytes());
        }
        ITEMS.add(items);
        LAYERS.add(added.into());
        LAYERS_ADDED.add(added.into());
        BYTES.add(size_bytes(0, 1 + added) - size_bytes(0, 1));
    }
}
