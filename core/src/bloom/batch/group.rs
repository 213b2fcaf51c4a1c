//! Items that are tested together.

use arrayvec::ArrayVec;

use crate::bloom::layer::{Layer, LayerShape, Part, Readable};
use crate::mask::Mask;
use crate::simd::Backend;

/// The hashes of up to [`Mask::ITEMS`] items, as many as a processor can fetch blocks for at once,
/// and what is prepared of them for many layers.
pub(crate) struct Group<S: LayerShape, B: Backend> {
    hashes: ArrayVec<S::Hash, { Mask::ITEMS }>,
    prepared: ArrayVec<S::Prepared<B>, { Mask::ITEMS }>,
}

impl<S: LayerShape, B: Backend> Group<S, B> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self { hashes: ArrayVec::new(), prepared: ArrayVec::new() }
    }

    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.hashes.clear();
        self.prepared.clear();
    }

    /// Adds an item. There must be fewer than [`Mask::ITEMS`].
    #[inline(always)]
    pub(super) fn push(&mut self, hash: S::Hash) {
        // There is room: the caller adds no more items.
        let _ = self.hashes.try_push(hash);
    }

    /// Prepares the hashes, all of which are added.
    #[inline(always)]
    pub(super) fn prepare(&mut self, backend: B) {
        for hash in &self.hashes {
            // There is room for as many as there are hashes.
            let _ = self.prepared.try_push(S::prepare(backend, hash));
        }
    }

    #[inline(always)]
    pub(super) fn hashes(&self) -> &[S::Hash] {
        &self.hashes
    }

    #[inline(always)]
    pub(super) fn all(&self) -> Mask {
        Mask::below(self.hashes.len())
    }

    /// Prefetches a part of the blocks that some of the items have in a layer.
    #[inline(always)]
    pub(super) fn prefetch<W: Readable>(&self, layer: &Layer<S, W>, items: Mask, part: Part) {
        if layer.bytes() < S::PREFETCH_FROM {
            return;
        }
        for index in items {
            layer.prefetch(&layer.locate(self.hash(index)), part);
        }
    }

    /// Which of the `pending` items a layer contains.
    ///
    /// The first parts of all items are tested without a branch, then the rest of those that
    /// passed. About one absent item in twelve passes: a branch per item would be
    /// mispredicted once or twice.
    #[inline(always)]
    pub(super) fn test<W: Readable>(&self, backend: B, layer: &Layer<S, W>, pending: Mask) -> Mask {
        let layer = &layer.local();
        let mut found = Mask::EMPTY;
        if layer.shape().is_small() {
            for hash in self.hashes.iter().rev() {
                found.push_front(S::small_contains(layer, &layer.locate(hash)));
            }
            return found.and(pending);
        }
        let passed = self.test_first(backend, layer, pending);
        if layer.bytes() >= S::STAGED_FROM {
            self.prefetch(layer, passed, Part::Rest);
        }
        for index in passed {
            let spot = layer.locate(self.hash(index));
            found.insert_if(index, layer.test_rest(backend, &spot));
        }
        found
    }

    /// Which of the `pending` items have their first part set.
    ///
    /// If at least half of the group is pending, all items are tested and the result is masked: to
    /// find the next pending item takes as long as to test it.
    #[inline(always)]
    fn test_first<W: Readable>(&self, backend: B, layer: &Layer<S, W>, pending: Mask) -> Mask {
        let mut passed = Mask::EMPTY;
        if pending.count() * 2 >= self.hashes.len() {
            let (hashes, last_hashes) = self.hashes.as_chunks::<4>();
            let (prepared, last_prepared) = self.prepared.as_chunks::<4>();
            for (hash, prepared) in last_hashes.iter().zip(last_prepared).rev() {
                passed.push_front(layer.test_first(backend, &layer.locate(hash), Some(prepared)));
            }
            // Four at a time, so that the loop is unrolled.
            for (hashes, prepared) in hashes.iter().zip(prepared).rev() {
                for (hash, prepared) in hashes.iter().zip(prepared).rev() {
                    let spot = layer.locate(hash);
                    passed.push_front(layer.test_first(backend, &spot, Some(prepared)));
                }
            }
            return passed.and(pending);
        }
        for index in pending {
            let spot = layer.locate(self.hash(index));
            let is_set = layer.test_first(backend, &spot, Some(self.prepared(index)));
            passed.insert_if(index, is_set);
        }
        passed
    }

    /// The hash of an item of a mask of this group.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "masks of a group hold items of the group")]
    fn hash(&self, index: usize) -> &S::Hash {
        &self.hashes[index]
    }

    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "masks of a group hold items of the group")]
    fn prepared(&self, index: usize) -> &S::Prepared<B> {
        &self.prepared[index]
    }
}
