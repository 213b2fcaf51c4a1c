//! Opening a key, and the error replies if it does not hold the filter that a command needs.

use super::error::{Failure, NOT_FOUND, WRONG_TYPE};
use super::handler::Call;
use crate::data_type::handle::{
    self, Changed, DataType, FilterMut, FilterRef, Lookup, Outcome, filter, filter_mut,
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

/// A key in which a call may create a filter. Nothing else stores a new filter, so all calls that
/// create one replace the same things.
///
/// A client's call creates in a missing key only. The key of a call that is replicated or loaded
/// from a file was missing at its origin, or holds a filter there. So what it holds here, expired
/// or not, is another value: a client's of a writable replica, say. The new filter replaces it.
pub struct Vacant<'a>(&'a mut Key);

impl<'a> Vacant<'a> {
    /// For a call that only creates: `None` if a client's call finds a filter of the family.
    ///
    /// # Errors
    ///
    /// A client's call finds another type.
    pub fn of<F: DataType>(call: Call, key: &'a mut Key) -> Result<Option<Self>, Failure> {
        if call.source.is_replicated_or_loaded() {
            return Ok(Some(Self(key)));
        }
        Self::without_filter::<F>(call, key)
    }

    /// For a call that creates a filter or changes the one that exists: `None` if there is one of
    /// the family.
    ///
    /// # Errors
    ///
    /// As for [`Vacant::of`].
    pub fn without_filter<F: DataType>(
        call: Call,
        key: &'a mut Key,
    ) -> Result<Option<Self>, Failure> {
        let found = filter::<F>(key);
        Ok(unless_vacant(call, found)?.is_none().then_some(Self(key)))
    }

    /// Stores a filter in the key, whose value and expiry it replaces. Returns the key.
    ///
    /// # Errors
    ///
    /// The server does not take the filter; the key stays as it was.
    pub fn store<F: DataType>(self, filter: F) -> Result<(&'a mut Key, Changed), Failure> {
        let changed = handle::store(self.0, filter)?;
        Ok((self.0, changed))
    }
}

/// The filter that was found in the key of a call; `None` if the key is vacant.
///
/// # Errors
///
/// As for [`Vacant::of`].
#[inline(always)]
fn unless_vacant<T>(call: Call, found: Lookup<T>) -> Result<Option<T>, Failure> {
    match found {
        Lookup::Found(filter) => Ok(Some(filter)),
        Lookup::Missing => Ok(None),
        Lookup::WrongType if call.source.is_replicated_or_loaded() => Ok(None),
        Lookup::WrongType => Err(WRONG_TYPE.into()),
    }
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
/// vacant, `create` stores a filter first, for which nothing is to be prepared: what is created
/// and replicated is always written to, signalled and reported as well.
///
/// # Errors
///
/// Those of [`Vacant::without_filter`], and those of `create` and `prepare`.
#[inline(always)]
pub fn write_or_create<F: DataType, P, T: Outcome>(
    call: Call,
    key: &mut Key,
    mut create: impl FnMut(Vacant) -> Result<Changed, Failure>,
    prepare: impl FnOnce(&mut F) -> Result<P, Failure>,
    write: impl FnOnce(&mut F, Option<P>) -> T,
) -> Result<WriteOutcome<T>, Failure> {
    let mut created = None;
    loop {
        // A second time only after `create` has stored a filter.
        if let Some(mut filter) = unless_vacant(call, filter_mut::<F>(key))? {
            let is_created = created.is_some();
            let outcome = filter.grow(|filter| {
                let prepared = if is_created { None } else { Some(prepare(filter)?) };
                Ok::<_, Failure>(write(filter, prepared))
            })?;
            let changed = filter.close();
            let changed = created.map_or(changed, |created| changed | created);
            return Ok(WriteOutcome { outcome, changed, is_created });
        }
        created = Some(create(Vacant(key))?);
    }
}
