//! What both layouts do when they allocate tables.

use crate::error::Error;
use crate::spec::{Demand, Layout, Permit};

/// Asks `permit` for new tables, whose slots take `new` bytes each. `size` maps the bytes of all
/// of them to those of the whole filter.
///
/// # Errors
///
/// [`Error::Refused`].
pub(super) fn request(
    permit: Permit,
    layout: Layout,
    new: impl IntoIterator<Item = u64>,
    size: impl FnOnce(u64) -> u64,
) -> Result<(), Error> {
    let (mut new_bytes, mut largest_layer) = (0u64, 0);
    for bytes in new {
        new_bytes = new_bytes.saturating_add(bytes);
        largest_layer = largest_layer.max(bytes);
    }
    let filter_bytes = size(new_bytes);
    let is_granted = permit(Demand { new_bytes, largest_layer, filter_bytes, layout });
    if is_granted { Ok(()) } else { Err(Error::Refused(filter_bytes)) }
}

/// A list of `count` tables.
///
/// # Errors
///
/// [`Error::OutOfMemory`], and those of the tables.
pub(super) fn try_collect<T>(
    count: u32,
    tables: impl Iterator<Item = Result<T, Error>>,
) -> Result<Box<[T]>, Error> {
    let mut list = Vec::new();
    let bytes = size_of::<T>() as u64 * u64::from(count);
    list.try_reserve_exact(count as usize).map_err(|_| Error::OutOfMemory(bytes))?;
    for table in tables {
        list.push(table?);
    }
    Ok(list.into_boxed_slice())
}

/// Puts a table behind the newest.
///
/// # Errors
///
/// [`Error::OutOfMemory`]. The list is unchanged then.
pub(super) fn try_push<T>(tables: &mut Box<[T]>, table: T) -> Result<(), Error> {
    let mut list = std::mem::take(tables).into_vec();
    let room = list.try_reserve_exact(1);
    if room.is_ok() {
        list.push(table);
    }
    *tables = list.into_boxed_slice();
    room.map_err(|_| Error::OutOfMemory(size_of_val(&**tables) as u64))
}
