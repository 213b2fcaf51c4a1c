//! Lists that grow without panics: each function returns [`Error::OutOfMemory`] instead.

use crate::error::Error;

/// Appends a value to a list. On failure the list is unchanged.
pub(crate) fn try_push<T>(list: &mut Vec<T>, value: T) -> Result<(), Error> {
    list.try_reserve(1).map_err(|_| no_room_for_one_more(list))?;
    list.push(value);
    Ok(())
}

/// The list cannot grow by one value.
pub(crate) fn no_room_for_one_more<T>(list: &[T]) -> Error {
    Error::OutOfMemory(size_of::<T>() as u64 * (list.len() as u64 + 1))
}

/// Inserts a value at an index of a list without spare capacity. On failure the list is unchanged,
/// and the value dropped.
pub(crate) fn try_insert<T>(list: &mut Box<[T]>, index: usize, value: T) -> Result<(), Error> {
    let mut values = std::mem::take(list).into_vec();
    let room = values.try_reserve_exact(1);
    if room.is_ok() {
        values.insert(index, value);
    }
    *list = values.into_boxed_slice();
    room.map_err(|_| no_room_for_one_more(list))
}

/// A list of exactly `count` values.
///
/// # Errors
///
/// Those of the values, too.
pub(crate) fn try_collect<T>(
    count: usize,
    values: impl IntoIterator<Item = Result<T, Error>>,
) -> Result<Box<[T]>, Error> {
    let mut list = Vec::new();
    let bytes = size_of::<T>() as u64 * count as u64;
    list.try_reserve_exact(count).map_err(|_| Error::OutOfMemory(bytes))?;
    for value in values {
        list.push(value?);
    }
    Ok(list.into_boxed_slice())
}
