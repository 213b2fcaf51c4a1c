//! Opening a key, and the error replies if it does not hold the filter that a command needs.

use std::ffi::CStr;

use super::error::{Failure, NOT_FOUND, WRONG_TYPE};
use super::handler::Call;
use crate::data_type::handle::{
    Changed, DataType, FilterMut, FilterRef, Lookup, Outcome, filter, filter_mut,
};
use crate::server::key::Key;

/// Opens the key of a call for reading.
#[inline]
pub fn read(call: Call) -> Key {
    Key::read(call.context, call.key)
}

/// Opens the key of a call for writing.
#[inline]
pub fn write(call: Call) -> Key {
    Key::write(call.context, call.key)
}

/// The filter of a key; none if the key is missing.
///
/// # Errors
///
/// The key holds another type.
#[inline]
pub fn optional<F: DataType>(key: &Key) -> Result<Option<FilterRef<'_, F>>, Failure> {
    match filter(key) {
        Lookup::Found(filter) => Ok(Some(filter)),
        Lookup::Missing => Ok(None),
        Lookup::WrongType => Err(WRONG_TYPE.into()),
    }
}

/// The filter of a key, to be changed; none if the key is missing.
///
/// # Errors
///
/// The key holds another type.
#[inline(always)]
pub fn optional_mut<F: DataType>(key: &mut Key) -> Result<Option<FilterMut<'_, F>>, Failure> {
    match filter_mut(key) {
        Lookup::Found(filter) => Ok(Some(filter)),
        Lookup::Missing => Ok(None),
        Lookup::WrongType => Err(WRONG_TYPE.into()),
    }
}

/// The filter of a key.
///
/// # Errors
///
/// The key is missing, or holds another type.
#[inline]
pub fn existing<F: DataType>(key: &Key) -> Result<FilterRef<'_, F>, Failure> {
    optional(key)?.ok_or_else(|| NOT_FOUND.into())
}

/// The filter of a key, to be changed.
///
/// # Errors
///
/// The key is missing, or holds another type.
#[inline]
pub fn existing_mut<F: DataType>(key: &mut Key) -> Result<FilterMut<'_, F>, Failure> {
    optional_mut(key)?.ok_or_else(|| NOT_FOUND.into())
}

/// The filter of a key, for commands that treat a key of another type as a missing one: it does not
/// contain the items.
#[inline]
pub fn found<F: DataType>(key: &Key) -> Option<FilterRef<'_, F>> {
    match filter(key) {
        Lookup::Found(filter) => Some(filter),
        Lookup::Missing | Lookup::WrongType => None,
    }
}

/// The same for a filter to be changed.
///
/// # Errors
///
/// `otherwise` for both.
#[inline]
pub fn found_mut<F: DataType>(
    key: &mut Key,
    otherwise: impl Into<Failure>,
) -> Result<FilterMut<'_, F>, Failure> {
    match filter_mut(key) {
        Lookup::Found(filter) => Ok(filter),
        Lookup::Missing | Lookup::WrongType => Err(otherwise.into()),
    }
}

/// Checks that a filter can be created in the key of a call: the key is missing. If the call is
/// replicated or loaded from a file, it was missing at its origin, and the new filter replaces what
/// it holds here.
///
/// # Errors
///
/// The key holds a filter of the family, which is `exists`, or another type.
pub fn missing<F: DataType>(call: Call, key: &Key, exists: &'static CStr) -> Result<(), Failure> {
    if call.source.is_replicated_or_loaded() || optional::<F>(key)?.is_none() {
        return Ok(());
    }
    Err(exists.into())
}

/// What a call wrote to a key.
#[must_use = "what has changed is replicated and signalled"]
pub struct WriteOutcome<T> {
    /// The result of the writing.
    pub outcome: T,
    pub changed: Changed,
    /// True if the key was missing, and a filter was created in it.
    pub is_created: bool,
}

/// Calls `write` with the filter of a key, and with what `prepare` returned for it. If the key is
/// missing, `create` stores a filter first, for which nothing is to be prepared: what is created
/// and replicated is always written to, signalled and reported as well.
///
/// # Errors
///
/// The key holds another type, and those of `create` and `prepare`.
#[inline(always)]
pub fn write_or_create<F: DataType, P, T: Outcome>(
    key: &mut Key,
    mut create: impl FnMut(&mut Key) -> Result<Changed, Failure>,
    prepare: impl FnOnce(&mut F) -> Result<P, Failure>,
    write: impl FnOnce(&mut F, Option<P>) -> T,
) -> Result<WriteOutcome<T>, Failure> {
    let mut created = None;
    loop {
        // A second time only after `create` has stored a filter.
        match filter_mut::<F>(key) {
            Lookup::Found(mut filter) => {
                let is_created = created.is_some();
                let outcome = filter.write(|filter| {
                    let prepared = if is_created { None } else { Some(prepare(filter)?) };
                    Ok::<_, Failure>(write(filter, prepared))
                })?;
                let changed = filter.close();
                let changed = created.map_or(changed, |created| changed | created);
                return Ok(WriteOutcome { outcome, changed, is_created });
            }
            Lookup::Missing => {}
            Lookup::WrongType => return Err(WRONG_TYPE.into()),
        }
        created = Some(create(key)?);
    }
}
