//! Filters as values of keys: checked, and counted.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{BitOr, Deref};
use std::ptr::NonNull;

pub use super::family::DataType;
use crate::policy::counters::Counter;
use crate::policy::replicate::NewItems;
use crate::server::audit;
use crate::server::key::{Content, Key};
use bloomline_core::host::cuckoo::Compaction;

/// What a key holds.
pub enum Lookup<T> {
    Missing,
    /// A value of another type.
    WrongType,
    Found(T),
}

/// What the key holds: a value of any type of the family is one of its filters.
#[inline]
fn content<F: DataType>(key: &Key) -> Content {
    key.content(|found| F::types().iter().any(|server_type| server_type.handle() == found))
}

/// The filter of a key, for reading.
#[inline]
pub fn filter<F: DataType>(key: &Key) -> Lookup<FilterRef<'_, F>> {
    match content::<F>(key) {
        Content::Missing => Lookup::Missing,
        Content::Other => Lookup::WrongType,
        // SAFETY: values of the family's types come from `into_raw` and live while the key holds
        // them; commands run one at a time, and the key is borrowed.
        Content::Value(word) => Lookup::Found(unsafe { FilterRef::new(word) }),
    }
}

/// The filter of a key, for writing. The key must be open for writing.
#[inline]
pub fn filter_mut<F: DataType>(key: &mut Key) -> Lookup<FilterMut<'_, F>> {
    match content::<F>(key) {
        Content::Missing => Lookup::Missing,
        Content::Other => Lookup::WrongType,
        // SAFETY: as in `filter`, and the key is borrowed exclusively.
        Content::Value(word) => Lookup::Found(unsafe { FilterMut::new(key, word) }),
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
fn check<F: DataType>(filter: &F) {
    #[cfg(feature = "audit")]
    if let Err(error) = filter.check() {
        crate::server::log::warning(&format!("invalid filter: {error}; {filter:?}"));
        std::process::abort();
    }
    let _ = filter;
}

/// Gives up a filter to the server, and adds it to the totals.
pub(super) fn into_raw<F: DataType>(filter: F) -> NonNull<c_void> {
    check(&filter);
    filter.each_total(Counter::add);
    filter.into_raw()
}

/// Takes a filter back from the server, and subtracts it from the totals. May run on any thread.
///
/// # Safety
///
/// `value` must come from [`into_raw`] of this family, and nothing may use it afterwards.
pub(super) unsafe fn from_raw<F: DataType>(value: NonNull<c_void>) -> F {
    // SAFETY: promised by the caller.
    let filter = unsafe { F::from_raw(value) };
    filter.each_total(Counter::subtract);
    filter
}

/// A filter that is open for reading.
pub struct FilterRef<'a, F> {
    filter: ManuallyDrop<F>,
    value: PhantomData<&'a F>,
}

impl<F: DataType> FilterRef<'_, F> {
    /// The filter of a value.
    ///
    /// # Safety
    ///
    /// `word` must come from [`into_raw`] of this family, and nothing may change the filter while
    /// the result is used.
    #[inline(always)]
    unsafe fn new(word: NonNull<c_void>) -> Self {
        // SAFETY: guaranteed by the caller. It is only read, and not dropped.
        Self { filter: ManuallyDrop::new(unsafe { F::from_raw(word) }), value: PhantomData }
    }
}

impl<F> Deref for FilterRef<'_, F> {
    type Target = F;

    #[inline(always)]
    fn deref(&self) -> &F {
        &self.filter
    }
}

/// A value that the server passes to a callback of the type, for reading.
///
/// # Safety
///
/// `value` must come from [`into_raw`] of this family, and nothing may change it while the result
/// is used. The server guarantees this to callbacks that read, until they return.
pub(super) unsafe fn borrowed<'a, F: DataType>(value: *const c_void) -> FilterRef<'a, F> {
    // SAFETY: promised by the caller; the server's values are not null.
    unsafe { FilterRef::new(NonNull::new_unchecked(value.cast_mut())) }
}

/// A filter that is open for writing.
pub struct FilterMut<'a, F> {
    key: &'a mut Key,
    filter: ManuallyDrop<F>,
    is_changed: bool,
}

impl<F> Deref for FilterMut<'_, F> {
    type Target = F;

    #[inline(always)]
    fn deref(&self) -> &F {
        &self.filter
    }
}

impl<'a, F: DataType> FilterMut<'a, F> {
    /// Opens the value of a key.
    ///
    /// # Safety
    ///
    /// `word` must be the value, and come from [`into_raw`] of this family.
    #[inline(always)]
    unsafe fn new(key: &'a mut Key, word: NonNull<c_void>) -> Self {
        // SAFETY: guaranteed by the caller. The filter stays the key's: it is not dropped.
        let filter = ManuallyDrop::new(unsafe { F::from_raw(word) });
        Self { key, filter, is_changed: false }
    }

    /// Calls `grow` with the filter, which says whether it has changed the filter. A Bloom filter
    /// without a window may get items and layers there, and lose none: its totals are then updated
    /// without a sum over its layers.
    #[inline(always)]
    pub fn grow<T: Outcome>(&mut self, grow: impl FnOnce(&mut F) -> T) -> T {
        self.change_beside(F::before_growth, grow)
    }

    /// The same for a `change` of any kind.
    pub fn change<T: Outcome>(&mut self, change: impl FnOnce(&mut F) -> T) -> T {
        self.change_beside(F::before_change, change)
    }

    /// Calls `change` with the filter, and updates the totals, of which `before` says what is
    /// needed to know of the filter.
    ///
    /// Builds with a debug allocator compare all bytes of the filter with those before, and the
    /// update with all of its totals, and end the process if one of them is wrong.
    #[inline(always)]
    fn change_beside<T: Outcome>(
        &mut self,
        before: impl FnOnce(&F) -> F::Before,
        change: impl FnOnce(&mut F) -> T,
    ) -> T {
        let filter = &mut *self.filter;
        let (stored, before) = (filter.as_raw(), before(filter));
        #[cfg(feature = "audit")]
        let (hash_before, others) = (hash_of(filter), totals_of_others(filter));
        let outcome = change(filter);
        check(filter);
        #[cfg(feature = "audit")]
        compare(filter, hash_before, outcome.has_changed());
        filter.after_change(&before);
        #[cfg(feature = "audit")]
        if totals_of_others(filter) != others {
            audit::wrong(&format!("the totals are not those of the filter: {filter:?}"));
        }
        let word = filter.as_raw();
        if word != stored {
            // SAFETY: the key is that of the old word, whose filter the new one holds.
            unsafe { self.key.replace(word) };
        }
        self.is_changed |= outcome.has_changed();
        outcome
    }

    /// Ends the writing. Whether any of the writes has changed the filter.
    #[inline]
    pub fn close(self) -> Changed {
        Changed(self.is_changed)
    }
}

/// Compares what a write said with what it did.
#[cfg(feature = "audit")]
fn compare<F: DataType>(filter: &F, hash_before: u64, said: bool) {
    let is_changed = hash_of(filter) != hash_before;
    if is_changed != said {
        audit::wrong(&format!("filter changed: {is_changed}, its methods say {said}: {filter:?}"));
    }
    if is_changed {
        audit::changed();
    }
}

/// What this thread has added to the totals, without the share of the filter: equal before and
/// after a change of it.
#[cfg(feature = "audit")]
fn totals_of_others<F: DataType>(filter: &F) -> Vec<u64> {
    let mut others = Vec::new();
    filter.each_total(|counter, value| others.push(counter.added().wrapping_sub(value)));
    others
}

/// A hash of everything about a filter: of the calls that would recreate it.
#[cfg(feature = "audit")]
fn hash_of<F: DataType>(filter: &F) -> u64 {
    let mut hash = xxhash_rust::xxh3::Xxh3Default::new();
    filter.each_loadchunk(|iterator, data| {
        hash.update(&iterator.to_le_bytes());
        hash.update(data);
    });
    hash.digest()
}
