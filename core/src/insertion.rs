//! What an insertion did.

/// What an insertion did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insertion {
    /// The item was new. It was written.
    New,
    /// Only an older generation of a filter that forgets contained the item. It was written to the
    /// newest one.
    Refreshed,
    /// The filter seems to contain the item. Nothing was written.
    Present,
}

impl Insertion {
    /// True if the item was new.
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
    /// Of a filter that forgets nothing: true if the item was new.
    #[inline(always)]
    fn from(is_new: bool) -> Self {
        if is_new { Self::New } else { Self::Present }
    }
}
