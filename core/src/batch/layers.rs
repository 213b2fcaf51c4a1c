//! Hashed items in a filter's layers: one at a time, or a group.

use crate::batch::group::{Chosen, PreparedGroup, indexes};
use crate::error::Error;
use crate::layer::{Layer, Lines};
use crate::scalable::ScalableFilter;
use crate::simd::Backend;
use crate::spec::Permit;

impl<L: Layer> ScalableFilter<L> {
    /// The layer that takes items.
    pub(crate) fn newest(&self) -> &L {
        &self.newest
    }

    /// Looks in the newest layer first: it is the largest, and the items of today are in it.
    #[inline(always)]
    pub(crate) fn contains_hash<P: Backend>(&self, backend: P, hash: &L::Hash) -> bool {
        if self.newest.contains(backend, hash) {
            return true;
        }
        for layer in self.older.iter().rev() {
            if layer.contains(backend, hash) {
                return true;
            }
        }
        false
    }

    /// Does what is worth doing before the first look at items that may be added.
    #[inline(always)]
    pub(crate) fn expect(&mut self, hashes: &[L::Hash]) {
        for hash in hashes {
            self.newest.expect(self.newest_len, hash);
        }
    }

    /// Which items of a group any layer contains; of the newest one these lines are fetched.
    ///
    /// Layer by layer: what is known of a layer stays in registers, and what is known of the items
    /// in the nearest cache. The lines of a layer are asked for while the one before it is
    /// looked at: those of all layers would not fit there.
    #[inline(always)]
    pub(crate) fn contains_of<P: Backend, const N: usize>(
        &self,
        backend: P,
        group: &PreparedGroup<L, P, N>,
        lines: Lines,
    ) -> Chosen {
        let mut missing = group.all();
        let mut layer = &self.newest;
        layer.prefetch(group.hashes().iter(), lines);
        for next in self.older.iter().rev() {
            next.prefetch(indexes(missing).map(|index| group.hash(index)), Lines::First);
            missing &= !layer.contains_of(backend, group, missing);
            if missing == 0 {
                return group.all();
            }
            layer = next;
        }
        missing &= !layer.contains_of(backend, group, missing);
        group.all() & !missing
    }

    /// Which items of a group the youngest of the older layers contains.
    #[inline(always)]
    pub(crate) fn last_full_contains_of<P: Backend, const N: usize>(
        &self,
        backend: P,
        group: &PreparedGroup<L, P, N>,
    ) -> Chosen {
        self.older.last().map_or(0, |layer| layer.contains_of(backend, group, group.all()))
    }

    /// Adds a hashed item.
    #[inline(always)]
    pub(crate) fn insert_hash<P: Backend>(
        &mut self,
        backend: P,
        hash: &L::Hash,
        permit: Permit,
    ) -> Result<bool, Error> {
        self.newest.expect(self.newest_len, hash);
        if self.contains_hash(backend, hash) {
            return Ok(false);
        }
        self.push(backend, hash, permit)
    }

    /// Adds a hashed item that no older layer contains.
    #[inline(always)]
    pub(crate) fn insert_in_newest<P: Backend>(
        &mut self,
        backend: P,
        hash: &L::Hash,
        permit: Permit,
    ) -> Result<bool, Error> {
        if self.newest.contains(backend, hash) {
            return Ok(false);
        }
        self.push(backend, hash, permit)
    }

    /// Adds a hashed item that no layer contains.
    #[inline(always)]
    fn push<P: Backend>(
        &mut self,
        backend: P,
        hash: &L::Hash,
        permit: Permit,
    ) -> Result<bool, Error> {
        if self.room() == 0 {
            self.grow(permit)?;
        }
        self.newest.insert(backend, hash);
        self.newest_len += 1;
        Ok(true)
    }
}
