//! What an insertion did.

/// What an insertion did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insertion {
    /// The item was new. It was written.
    New,
    /// Only an older generation of a windowed filter contained the item. It was written to the
    /// newest one.
    Refreshed,
    /// The filter seems to contain the item. Nothing was written.
    Present,
}

impl Insertion {
    #[inline(always)]
    pub fn is_new(self) -> bool {
        self == Self::New
    }

    /// True if the filter was changed.
    #[inline(always)]
    pub fn is_written(self) -> bool {
        self != Self::Present
    }
}

impl From<bool> for Insertion {
    /// Of a filter without a window: true if the item was new.
    #[inline(always)]
    fn from(is_new: bool) -> Self {
        if is_new { Self::New } else { Self::Present }
    }
}
