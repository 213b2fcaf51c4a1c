//! The question whether the memory of new layers may be allocated, and its answer.

use crate::error::Error;
use crate::spec::Layout;

/// The memory that new layers need, for a [`Permit`] to grant or refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Bytes of the bits of all new layers.
    pub new_bytes: u64,
    /// Bytes of the bits of the largest of them.
    pub largest_layer: u64,
    /// [`ScalableFilter::size_bytes`](crate::bloom::scalable::ScalableFilter::size_bytes) with the
    /// new layers; in valkey-bloom's layout before the newest layer has made the vector of layers
    /// larger.
    pub filter_bytes: u64,
    pub layout: Layout,
    /// Tables of a cuckoo filter in the end, when a doubled one has replaced its predecessor. 0 for
    /// other filters.
    pub tables: u32,
}

/// Decides whether new layers may be allocated. It is called before memory is allocated.
pub type Permit<'a> = &'a mut dyn FnMut(Demand) -> bool;

/// Asks `permit` for new layers or tables, whose bits take `new` bytes each. `size` maps the bytes
/// of all of them to those of the whole filter.
///
/// # Errors
///
/// [`Error::Refused`].
pub(crate) fn request(
    permit: Permit,
    layout: Layout,
    new: impl IntoIterator<Item = u64>,
    size: impl FnOnce(u64) -> u64,
) -> Result<(), Error> {
    request_tables(permit, layout, 0, new, size)
}

/// [`request`] for a cuckoo filter of `tables` tables with the new ones.
///
/// # Errors
///
/// [`Error::Refused`].
pub(crate) fn request_tables(
    permit: Permit,
    layout: Layout,
    tables: u32,
    new: impl IntoIterator<Item = u64>,
    size: impl FnOnce(u64) -> u64,
) -> Result<(), Error> {
    let (mut new_bytes, mut largest_layer) = (0u64, 0);
    for bytes in new {
        new_bytes = new_bytes.saturating_add(bytes);
        largest_layer = largest_layer.max(bytes);
    }
    let filter_bytes = size(new_bytes);
    let is_granted = permit(Demand { new_bytes, largest_layer, filter_bytes, layout, tables });
    if is_granted { Ok(()) } else { Err(Error::Refused(filter_bytes)) }
}
