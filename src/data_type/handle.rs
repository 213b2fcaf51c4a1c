//! Filters as values of keys: boxed, checked, and counted.

use std::ffi::c_void;
use std::ops::{BitOr, Deref};
use std::ptr::NonNull;

use super::server_type::ServerType;
use crate::policy::family::Family;
use crate::policy::replicate::NewItems;
use crate::server::audit;
use crate::server::key::{Content, Key};
use bloomline_core::host::AnyFilter;
use bloomline_core::host::cuckoo::Compaction;

/// A family of filters whose filters are values of keys.
pub trait DataType: Family {
    /// The types of the server whose values are filters of the family.
    fn types() -> &'static [&'static ServerType];

    /// The type of a filter, which follows from its layout.
    fn server_type(&self) -> &'static ServerType;
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

/// What the key holds: a value of any type of the family is one of its filters.
#[inline]
fn content<F: DataType>(key: &Key) -> Content {
    key.content(|found| F::types().iter().any(|server_type| server_type.handle() == found))
}

/// The filter of a key, for reading.
#[inline]
pub fn filter<F: DataType>(key: &Key) -> Lookup<&F> {
    match content::<F>(key) {
        Content::Missing => Lookup::Missing,
        Content::Other => Lookup::WrongType,
        // SAFETY: values of the family's types come from `into_raw` and live while the key holds
        // them; commands run one at a time, and the key is borrowed.
        Content::Value(value) => Lookup::Found(unsafe { value.cast().as_ref() }),
    }
}

/// The filter of a key, for writing. The key must be open for writing.
#[inline]
pub fn filter_mut<F: DataType>(key: &mut Key) -> Lookup<FilterMut<'_, F>> {
    match content::<F>(key) {
        Content::Missing => Lookup::Missing,
        Content::Other => Lookup::WrongType,
        // SAFETY: as in `filter`, and the key is borrowed exclusively.
        Content::Value(value) => Lookup::Found(FilterMut::new(unsafe { value.cast().as_mut() })),
    }
}

/// The server did not take a value: the key is not open for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotStored;

/// Stores a filter in a key, and frees the old value.
///
/// # Errors
///
/// [`NotStored`]; the key is unchanged.
pub fn store<F: DataType>(key: &mut Key, filter: F) -> Result<Changed, NotStored> {
    let handle = filter.server_type().handle();
    let value = into_raw(filter);
    // SAFETY: the callbacks of the type expect what `into_raw` of the family returns.
    if unsafe { key.set(handle, value) } {
        audit::changed();
        return Ok(Changed(true));
    }
    // SAFETY: the server did not take the value.
    drop(unsafe { from_raw::<F>(value) });
    Err(NotStored)
}

/// Whether a call has changed the value of its key. Only this file makes one, from what was
/// written: commands cannot guess.
#[must_use = "what a call has changed is replicated and signalled"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed(bool);

impl Changed {
    /// True if a byte of the value has changed.
    #[inline]
    pub fn is_true(self) -> bool {
        self.0
    }
}

impl BitOr for Changed {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The result of a method that may change a filter: it says exactly whether a byte of the filter's
/// header, tables or bits has changed.
pub trait Outcome {
    /// True if it has.
    fn has_changed(&self) -> bool;
}

/// True for a change.
impl Outcome for bool {
    #[inline]
    fn has_changed(&self) -> bool {
        *self
    }
}

/// The items that were written.
impl Outcome for NewItems {
    #[inline]
    fn has_changed(&self) -> bool {
        !self.is_empty()
    }
}

impl Outcome for Compaction {
    #[inline]
    fn has_changed(&self) -> bool {
        self.is_changed
    }
}

/// A method that fails has changed nothing.
impl<T: Outcome, E> Outcome for Result<T, E> {
    #[inline]
    fn has_changed(&self) -> bool {
        self.as_ref().is_ok_and(T::has_changed)
    }
}

/// What was written, and the error reply or the number of bytes that goes with it.
impl<T: Outcome, U> Outcome for (T, U) {
    #[inline]
    fn has_changed(&self) -> bool {
        self.0.has_changed()
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
/// `value` must come from [`into_raw`] of this family, and nothing may use it afterwards.
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
/// `value` must come from [`into_raw`] of this family, and nothing may change it while the result
/// is used. The server guarantees this to callbacks that read, until they return.
pub(super) unsafe fn borrowed<'a, F: DataType>(value: *const c_void) -> &'a F {
    // SAFETY: promised by the caller.
    unsafe { &*value.cast() }
}

/// A filter that is open for writing. When it is closed or dropped, the totals are updated.
///
/// Builds with a debug allocator compare all bytes of the filter with those before, and end the
/// process if the methods that wrote said something else.
pub struct FilterMut<'a, F: Family> {
    filter: &'a mut F,
    before: F::Before,
    is_changed: bool,
    #[cfg(feature = "audit")]
    hash_before: u64,
}

impl<'a, F: Family> FilterMut<'a, F> {
    fn new(filter: &'a mut F) -> Self {
        let before = filter.before_change();
        #[cfg(feature = "audit")]
        let hash_before = hash_of(filter);
        Self {
            filter,
            before,
            is_changed: false,
            #[cfg(feature = "audit")]
            hash_before,
        }
    }

    /// Calls `write` with the filter, to which it adds items. Its result says whether it did.
    #[inline(always)]
    pub fn write<T: Outcome>(&mut self, write: impl FnOnce(&mut F) -> T) -> T {
        let outcome = write(self.filter);
        self.is_changed |= outcome.has_changed();
        outcome
    }

    /// Ends the writing. Whether any of the writes has changed the filter.
    #[inline]
    pub fn close(self) -> Changed {
        Changed(self.is_changed)
    }

    /// Compares what the writes said with what they did.
    #[cfg(feature = "audit")]
    fn compare(&self) {
        let is_changed = hash_of(self.filter) != self.hash_before;
        if is_changed != self.is_changed {
            let said = self.is_changed;
            audit::wrong(&format!(
                "filter changed: {is_changed}, its methods say {said}: {:?}",
                self.filter
            ));
        }
        if is_changed {
            audit::changed();
        }
    }
}

/// A hash of everything about a filter: of the calls that would recreate it.
#[cfg(feature = "audit")]
fn hash_of<F: Family>(filter: &F) -> u64 {
    let mut hash = xxhash_rust::xxh3::Xxh3Default::new();
    filter.each_loadchunk(|iterator, data| {
        hash.update(&iterator.to_le_bytes());
        hash.update(data);
    });
    hash.digest()
}

impl FilterMut<'_, AnyFilter> {
    /// [`FilterMut::write`] for a change in which the filter does not only grow.
    pub fn replace<T: Outcome>(&mut self, change: impl FnOnce(&mut AnyFilter) -> T) -> T {
        self.before.widen(self.filter);
        self.write(change)
    }
}

impl<F: Family> Deref for FilterMut<'_, F> {
    type Target = F;

    #[inline]
    fn deref(&self) -> &F {
        self.filter
    }
}

impl<F: Family> Drop for FilterMut<'_, F> {
    #[inline]
    fn drop(&mut self) {
        check(self.filter);
        #[cfg(feature = "audit")]
        self.compare();
        self.filter.after_change(&self.before);
    }
}
