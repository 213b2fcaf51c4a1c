//! The batches in a filter without a window, and in the layers of any filter.

use std::borrow::Borrow;
use std::ops::ControlFlow;

use super::generations::Generations;
use super::group::Group;
use crate::bloom::layer::{Layer, LayerShape, Located, Part, Readable};
use crate::bloom::scalable::ScalableFilter;
use crate::error::Error;
use crate::insertion::Insertion;
use crate::mask::Mask;
use crate::memory::words::Words;
use crate::permit::Permit;
use crate::simd::Backend;

/// Which of some items of a group any of the layers contains. The first parts in the first layer
/// are prefetched already.
///
/// Layer by layer: what is known of a layer stays in registers, and what is known of the items in
/// the nearest cache. The first parts in a layer are prefetched while the layer before it is
/// tested; the blocks of all layers would not fit that cache.
#[inline(always)]
pub(super) fn test_layers<S: LayerShape, W: Readable, B: Backend>(
    backend: B,
    group: &Group<S, B>,
    mut layers: impl Iterator<Item: Borrow<Layer<S, W>>>,
    items: Mask,
) -> Mask {
    let mut missing = items;
    let mut next = layers.next();
    while let Some(layer) = next {
        next = layers.next();
        if let Some(next) = &next {
            group.prefetch(next.borrow(), missing, Part::First);
        }
        missing = missing.without(group.test(backend, layer.borrow(), missing));
        if missing.is_empty() {
            break;
        }
    }
    items.without(missing)
}

impl<S: LayerShape> ScalableFilter<S> {
    #[inline(always)]
    fn older_contain<B: Backend>(&self, backend: B, hash: &S::Hash) -> bool {
        let with_small = S::with_small(&self.params, self.older.len());
        let (oldest, others) = self.older.split_at(with_small);
        for layer in others.iter().rev() {
            if layer.blocks_contain(backend, hash) {
                return true;
            }
        }
        for layer in oldest.iter().rev() {
            if layer.contains_hash(backend, hash) {
                return true;
            }
        }
        false
    }

    /// Inserts an item that no layer contains, and that lies at `spot` of the newest.
    #[inline(always)]
    pub(super) fn push<B: Backend>(
        &mut self,
        backend: B,
        mut spot: S::Spot,
        permit: Permit,
    ) -> Result<Insertion, Error> {
        if self.room() == 0 {
            self.grow(permit)?;
            spot = self.newest.locate(&spot.into());
        }
        self.newest.set(backend, &spot);
        self.newest_len += 1;
        Ok(Insertion::New)
    }
}

impl<S: LayerShape> Generations for ScalableFilter<S> {
    type Shape = S;

    #[inline(always)]
    fn seed(&self) -> S::Seed {
        S::seed(&self.params)
    }

    #[inline(always)]
    fn locate(&self, hash: &S::Hash) -> S::Spot {
        self.newest.locate(hash)
    }

    #[inline(always)]
    fn only_layer(&self) -> Option<&Layer<S>> {
        let is_only = self.older.is_empty() && !self.newest.shape.is_small();
        is_only.then_some(&self.newest)
    }

    /// The newest layer is tested first: it is the largest, and holds the most recent items.
    #[inline(always)]
    fn contains_hash<B: Backend>(&self, backend: B, hash: &S::Hash, _now: u64) -> bool {
        self.newest.contains_hash(backend, hash) || self.older_contain(backend, hash)
    }

    #[inline(always)]
    fn test_group<B: Backend>(&self, backend: B, group: &Group<S, B>, _now: u64) -> Mask {
        group.prefetch(&self.newest, group.all(), Part::First);
        test_layers::<S, Words, B>(backend, group, self.layers().rev(), group.all())
    }

    #[inline(always)]
    fn insert_spot<B: Backend>(
        &mut self,
        backend: B,
        spot: S::Spot,
        _now: u64,
        permit: Permit,
    ) -> Result<Insertion, Error> {
        self.newest.prefault(self.newest_len, &spot);
        let is_found =
            self.newest.contains(backend, &spot) || self.older_contain(backend, &spot.into());
        if is_found { Ok(Insertion::Present) } else { self.push(backend, spot, permit) }
    }

    #[inline(always)]
    fn insert_located<B: Backend>(
        &mut self,
        backend: B,
        located: &S::Located,
        index: usize,
        now: u64,
        permit: Permit,
    ) -> Result<Insertion, Error> {
        let spot = self.newest.locate(&located.hash(index));
        // Another item of the group may have filled the layer in which the items are located.
        if !self.older.is_empty() || self.room() == 0 {
            return self.insert_spot(backend, spot, now, permit);
        }
        self.newest.prefault(self.newest_len, &spot);
        if located.is_in(backend, &self.newest, index) {
            return Ok(Insertion::Present);
        }
        located.set(backend, &mut self.newest, index);
        self.newest_len += 1;
        Ok(Insertion::New)
    }

    #[inline(always)]
    fn insert_group<B: Backend>(
        &mut self,
        backend: B,
        group: &Group<S, B>,
        _now: u64,
        permit: Permit,
        answer: &mut impl FnMut(Result<Insertion, Error>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for hash in group.hashes() {
            let spot = self.newest.locate(hash);
            self.newest.prefault(self.newest_len, &spot);
        }
        group.prefetch(&self.newest, group.all(), Part::First);
        group.prefetch(&self.newest, group.all(), Part::Rest);
        // What is found stays found. An item that is not found may be inserted as another item of
        // the group, into the newest layer.
        let mut found =
            test_layers::<S, Words, B>(backend, group, self.layers().rev(), group.all());
        for (index, hash) in group.hashes().iter().enumerate() {
            if found.contains(index) {
                answer(Ok(Insertion::Present))?;
                continue;
            }
            let layers = self.older.len();
            let spot = self.newest.locate(hash);
            let result = if self.newest.contains(backend, &spot) {
                Ok(Insertion::Present)
            } else {
                self.push(backend, spot, permit)
            };
            if self.older.len() > layers
                && let Some(full) = self.older.last()
            {
                found = found.or(group.test(backend, full, group.all()));
            }
            answer(result)?;
        }
        ControlFlow::Continue(())
    }
}
