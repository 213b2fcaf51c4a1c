//! Items that are looked at together.

use std::iter;

use crate::layer::Layer;
use crate::simd::Backend;

/// Some items of a group: bit i stands for item i.
pub type Chosen = u64;

/// The hashes of the items at hand, at most `N`, a power of two from 4 to 64.
pub struct Group<L: Layer, const N: usize> {
    hashes: [L::Hash; N],
    len: usize,
}

/// A group, and what is prepared of its items for many layers.
pub struct PreparedGroup<L: Layer, P: Backend, const N: usize> {
    group: Group<L, N>,
    prepared: [L::Prepared<P>; N],
}

/// Four items, and what is prepared of them.
type Four<'g, L, P> = (&'g [<L as Layer>::Hash; 4], &'g [<L as Layer>::Prepared<P>; 4]);

impl<L: Layer, const N: usize> Group<L, N> {
    /// No items.
    #[inline(always)]
    pub fn empty() -> Self {
        const { assert!(N <= Chosen::BITS as usize && N.is_power_of_two() && N >= 4) };
        Self { hashes: [L::Hash::default(); N], len: 0 }
    }

    /// Takes the next items, up to a group of them. False at the end.
    #[inline(always)]
    pub fn fill<'a>(
        &mut self,
        common: &L::Common,
        items: &mut impl Iterator<Item = &'a [u8]>,
    ) -> bool {
        // Counted here: in the group itself each would wait for the one before to be stored.
        let mut len = 0;
        for (hash, item) in self.hashes.iter_mut().zip(items) {
            *hash = L::hash(common, item);
            len += 1;
        }
        self.len = len;
        len > 0
    }

    /// The hashes.
    #[inline(always)]
    pub fn hashes(&self) -> &[L::Hash] {
        self.hashes.get(..self.len).unwrap_or_default()
    }
}

impl<L: Layer, P: Backend, const N: usize> PreparedGroup<L, P, N> {
    /// No items.
    #[inline(always)]
    pub fn empty(backend: P) -> Self {
        Self { group: Group::empty(), prepared: [L::prepare(backend, &L::Hash::default()); N] }
    }

    /// Takes the next items, up to a group of them, and prepares them. False at the end.
    #[inline(always)]
    pub fn fill<'a>(
        &mut self,
        backend: P,
        common: &L::Common,
        items: &mut impl Iterator<Item = &'a [u8]>,
    ) -> bool {
        let has_some = self.group.fill(common, items);
        for (prepared, hash) in self.prepared.iter_mut().zip(self.group.hashes()) {
            *prepared = L::prepare(backend, hash);
        }
        has_some
    }

    /// The hashes.
    #[inline(always)]
    pub fn hashes(&self) -> &[L::Hash] {
        self.group.hashes()
    }

    /// The items from the first on, four by four, so that a loop over them can be unrolled. Behind
    /// the last item, to the end of its four, stand others, of this group or an earlier one.
    #[inline(always)]
    pub fn fours(&self) -> impl DoubleEndedIterator<Item = Four<'_, L, P>> {
        let count = self.group.len.div_ceil(4);
        let (hashes, _) = self.group.hashes.as_chunks();
        let (prepared, _) = self.prepared.as_chunks();
        iter::zip(
            hashes.get(..count).unwrap_or_default(),
            prepared.get(..count).unwrap_or_default(),
        )
    }

    /// All items.
    #[inline(always)]
    pub fn all(&self) -> Chosen {
        Chosen::MAX.checked_shr(Chosen::BITS - self.group.len as u32).unwrap_or(0)
    }

    /// The hash of an item.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "the remainder is below the length")]
    pub fn hash(&self, index: usize) -> &L::Hash {
        &self.group.hashes[index % N]
    }

    /// What is prepared of an item.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "the remainder is below the length")]
    pub fn prepared(&self, index: usize) -> L::Prepared<P> {
        self.prepared[index % N]
    }
}

/// The indexes of the chosen items.
#[inline(always)]
pub fn indexes(mut chosen: Chosen) -> impl Iterator<Item = usize> {
    iter::from_fn(move || {
        let index = chosen.trailing_zeros();
        (chosen != 0).then(|| {
            // The lowest one is taken away.
            chosen &= chosen - 1;
            index as usize
        })
    })
}
