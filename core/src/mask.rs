//! A set of items of a group.

/// Items of a group: bit i stands for item i.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mask(u64);

impl Mask {
    /// The most items of a group: a bit for each, and as many as a processor can fetch blocks for
    /// at once.
    pub(crate) const ITEMS: usize = u64::BITS as usize;
    pub(crate) const EMPTY: Self = Self(0);

    /// The items from 0 on, below `len`, which is at most [`Mask::ITEMS`].
    #[inline(always)]
    pub(crate) fn below(len: usize) -> Self {
        Self(u64::MAX.checked_shr(u64::BITS - len as u32).unwrap_or(0))
    }

    /// Moves every item one up, and puts item 0 in or leaves it out.
    #[inline(always)]
    pub(crate) fn push_front(&mut self, is_in: bool) {
        self.0 = self.0 << 1 | u64::from(is_in);
    }

    /// Puts an item in, or leaves the mask as it is.
    #[inline(always)]
    pub(crate) fn insert_if(&mut self, index: usize, is_in: bool) {
        self.0 |= u64::from(is_in) << index;
    }

    #[inline(always)]
    pub(crate) fn contains(self, index: usize) -> bool {
        self.0 >> index & 1 == 1
    }

    #[inline(always)]
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline(always)]
    pub(crate) fn count(self) -> usize {
        self.0.count_ones() as usize
    }

    #[inline(always)]
    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    #[inline(always)]
    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The items that are not in the other.
    #[inline(always)]
    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl IntoIterator for Mask {
    type Item = usize;
    type IntoIter = MaskItems;

    #[inline(always)]
    fn into_iter(self) -> MaskItems {
        MaskItems(self.0)
    }
}

/// The items of a [`Mask`], the lowest first.
pub(crate) struct MaskItems(u64);

impl Iterator for MaskItems {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let index = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(index)
    }
}
