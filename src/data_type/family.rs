//! What the server's types ask of each family of filters.

use super::packed::Packed;
use super::server_type::ServerType;
use crate::policy::family::Family;

/// A family of filters whose filters are values of keys.
pub trait DataType: Family {
    /// The types of the server whose values are filters of the family.
    fn types() -> &'static [&'static ServerType];

    /// The type of a filter, which follows from its layout.
    fn server_type(&self) -> &'static ServerType;

    /// Gives up a filter that needs no box.
    ///
    /// # Errors
    ///
    /// The filter, if it needs one.
    #[inline(always)]
    fn pack(self) -> Result<Packed, Self> {
        Err(self)
    }

    /// Takes such a filter back; none if all filters of the family need a box.
    ///
    /// # Safety
    ///
    /// `packed` must come from [`DataType::pack`], and the filter must have no other owner while
    /// the result is used to change or to free it.
    #[inline(always)]
    unsafe fn unpack(_packed: Packed) -> Option<Self> {
        None
    }
}
