//! Filters as values of keys: boxed, and counted in the totals of INFO.

use std::ffi::c_void;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

use redis_module::raw::RedisModuleType;

use crate::policy::counters::{
    BYTES, CAPACITY, FILTERS, FILTERS_BLOOMLINE, FILTERS_WINDOWED, GENERATIONS_DROPPED, ITEMS,
    LAYERS, LAYERS_ADDED, ROTATIONS,
};
use crate::server::background;
use crate::server::key::{Content, Key};
use bloomline_core::memory::pages::LARGE;
use bloomline_core::window::Generation;
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

/// What a filter adds to the totals of INFO.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Totals {
    layers: u64,
    items: u64,
    capacity: u64,
    bytes: u64,
}

impl Totals {
    fn of(filter: &AnyFilter) -> Self {
        Self {
            layers: filter.layer_count().into(),
            items: filter.len(),
            capacity: filter.capacity(),
            bytes: filter.size_bytes(),
        }
    }

    fn add(self) {
        LAYERS.add(self.layers);
        ITEMS.add(self.items);
        CAPACITY.add(self.capacity);
        BYTES.add(self.bytes);
    }

    fn subtract(self) {
        LAYERS.subtract(self.layers);
        ITEMS.subtract(self.items);
        CAPACITY.subtract(self.capacity);
        BYTES.subtract(self.bytes);
    }
}

/// Boxes a filter for the server, and adds it to the totals.
pub(super) fn into_raw(filter: AnyFilter) -> NonNull<c_void> {
    FILTERS.add(1);
    FILTERS_BLOOMLINE.add(u64::from(filter.layout() == Layout::Bloomline));
    FILTERS_WINDOWED.add(u64::from(filter.windowed().is_some()));
    Totals::of(&filter).add();
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
    FILTERS_WINDOWED.subtract(u64::from(filter.windowed().is_some()));
    Totals::of(&filter).subtract();
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
    before: Before,
}

/// What is known of a filter before it is written.
enum Before {
    /// A filter that only grows: its layers, and the items in the newest.
    Growing { layers: u32, newest_len: u64 },
    /// A filter of which anything may change: its totals.
    Whole(Totals),
    /// A filter that forgets: its totals, the number of its newest generation, and its generations.
    Windowed { totals: Totals, number: u64, generations: u64 },
}

impl<'a> FilterMut<'a> {
    fn new(filter: &'a mut AnyFilter) -> Self {
        let before = match filter.windowed() {
            None => {
                Before::Growing { layers: filter.layer_count(), newest_len: filter.newest_len() }
            }
            Some(windowed) => Before::Windowed {
                number: windowed.number(),
                generations: windowed.generation_count() as u64,
                totals: Totals::of(filter),
            },
        };
        Self { filter, before }
    }

    /// Changes the filter in a way in which it does not only grow.
    pub fn replace<T>(&mut self, change: impl FnOnce(&mut AnyFilter) -> T) -> T {
        if let Before::Growing { .. } = self.before {
            self.before = Before::Whole(Totals::of(self.filter));
        }
        change(self.filter)
    }

    /// Adds what a filter that only grows has gained.
    #[inline]
    fn count_growth(&self, layers: u32, newest_len: u64) {
        if (self.filter.layer_count(), self.filter.newest_len()) == (layers, newest_len) {
            return;
        }
        let Some(added) = self.filter.added_since(layers, newest_len) else { return };
        ITEMS.add(added.items);
        if added.layers != 0 {
            LAYERS.add(added.layers.into());
            LAYERS_ADDED.add(added.layers.into());
            CAPACITY.add(added.capacity);
            BYTES.add(added.bytes);
        }
    }

    /// Counts the difference to earlier totals.
    #[cold]
    fn count_change(&self, before: Totals) {
        let now = Totals::of(self.filter);
        if now != before {
            now.add();
            before.subtract();
        }
    }

    /// Counts what a filter that forgets has gained and lost, and frees what it has dropped
    /// elsewhere.
    fn count_rotations(&mut self, totals: Totals, number: u64, generations: u64) {
        self.count_change(totals);
        let Some(windowed) = self.filter.windowed_mut() else { return };
        let opened = windowed.number() - number;
        ROTATIONS.add(opened);
        let present = windowed.generation_count() as u64;
        GENERATIONS_DROPPED.add(generations + opened - present);
        let dropped = windowed.take_dropped();
        if dropped.iter().map(Generation::size_bytes).sum::<u64>() >= LARGE as u64 {
            background::drop_later(dropped);
        }
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
        match self.before {
            Before::Growing { layers, newest_len } => self.count_growth(layers, newest_len),
            Before::Whole(totals) => self.count_change(totals),
            Before::Windowed { totals, number, generations } => {
                self.count_rotations(totals, number, generations);
            }
        }
    }
}
