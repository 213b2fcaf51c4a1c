//! Hashed items in a filter's layers: one at a time, or a group.

use super::Filter;
use crate::bloom::error::Error;
use crate::bloom::group::{Chosen, PreparedGroup, indexes};
use crate::bloom::layout::probe::Probe;
use crate::bloom::member::{Lines, Member};
use crate::bloom::spec::Permit;

impl<L: Member> Filter<L> {
    /// The layer that takes items.
    pub(in crate::bloom) fn newest(&self) -> &L {
        &self.newest
    }

    /// Looks in the newest layer first: it is the largest, and the items of today are in it.
    #[inline(always)]
    pub(in crate::bloom) fn contains_hash<P: Probe>(&self, probe: P, hash: &L::Hash) -> bool {
        if self.newest.contains(probe, hash) {
            return true;
        }
        for layer in self.older.iter().rev() {
            if layer.contains(probe, hash) {
                return true;
            }
        }
        false
    }

    /// Does what is worth doing before the first look at items that may be added.
    #[inline(always)]
    pub(in crate::bloom) fn expect(&mut self, hashes: &[L::Hash]) {
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
    pub(in crate::bloom) fn contains_of<P: Probe, const N: usize>(
        &self,
        probe: P,
        group: &PreparedGroup<L, P, N>,
        lines: Lines,
    ) -> Chosen {
        let mut missing = group.all();
        let mut layer = &self.newest;
        layer.prefetch(group.hashes().iter(), lines);
        for next in self.older.iter().rev() {
            next.prefetch(indexes(missing).map(|index| group.hash(index)), Lines::First);
            missing &= !layer.contains_of(probe, group, missing);
            if missing == 0 {
                return group.all();
            }
            layer = next;
        }
        missing &= !layer.contains_of(probe, group, missing);
        group.all() & !missing
    }

    /// Which items of a group the youngest of the older layers contains.
    #[inline(always)]
    pub(in crate::bloom) fn last_full_contains_of<P: Probe, const N: usize>(
        &self,
        probe: P,
        group: &PreparedGroup<L, P, N>,
    ) -> Chosen {
        self.older.last().map_or(0, |layer| layer.contains_of(probe, group, group.all()))
    }

    /// Adds a hashed item.
    #[inline(always)]
    pub(in crate::bloom) fn insert_hash<P: Probe>(
        &mut self,
        probe: P,
        hash: &L::Hash,
        permit: Permit,
    ) -> Result<bool, Error> {
        self.newest.expect(self.newest_len, hash);
        if self.contains_hash(probe, hash) {
            return Ok(false);
        }
        self.push(probe, hash, permit)
    }

    /// Adds a hashed item that no older layer contains.
    #[inline(always)]
    pub(in crate::bloom) fn insert_in_newest<P: Probe>(
        &mut self,
        probe: P,
        hash: &L::Hash,
        permit: Permit,
    ) -> Result<bool, Error> {
        if self.newest.contains(probe, hash) {
            return Ok(false);
        }
        self.push(probe, hash, permit)
    }

    /// Adds a hashed item that no layer contains.
    #[inline(always)]
    fn push<P: Probe>(&mut self, probe: P, hash: &L::Hash, permit: Permit) -> Result<bool, Error> {
        if self.room() == 0 {
            self.grow(permit)?;
        }
        self.newest.insert(probe, hash);
        self.newest_len += 1;
        Ok(true)
    }
}
