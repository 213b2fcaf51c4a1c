//! What single items and batches need of a filter of any kind.

use std::ops::ControlFlow;

use super::group::Group;
use crate::bloom::layer::{Layer, LayerShape, Located, Rules};
use crate::error::Error;
use crate::insertion::Insertion;
use crate::mask::Mask;
use crate::permit::Permit;
use crate::simd::Backend;

/// A filter as a ring of generations. Only the newest takes items. A filter without a window is one
/// generation, and never rotates.
pub(crate) trait Generations: Sized {
    /// Hashes, locates and tests items.
    type Shape: LayerShape;

    /// What items are hashed with.
    fn seed(&self) -> SeedOf<Self>;

    /// Locates an item in the newest layer.
    fn locate(&self, hash: &HashOf<Self>) -> SpotOf<Self>;

    /// The layer, if it is the only one and not small: items are located once.
    #[inline(always)]
    fn only_layer(&self) -> Option<&Layer<Self::Shape>> {
        None
    }

    /// True if a generation that answers at the time `now` contains the item.
    fn contains_hash<B: Backend>(&self, backend: B, hash: &HashOf<Self>, now: u64) -> bool;

    /// Which items of a group the generations contain that answer at the time `now`.
    fn test_group<B: Backend>(&self, backend: B, group: &Group<Self::Shape, B>, now: u64) -> Mask;

    /// Inserts an item of which nothing is known. A rotation that it causes happens at the time
    /// `now`, in milliseconds, which filters without a window ignore.
    ///
    /// # Errors
    ///
    /// [`Error::Full`], or why the next layer or generation could not be created. The item is not
    /// inserted then.
    fn insert_spot<B: Backend>(
        &mut self,
        backend: B,
        spot: SpotOf<Self>,
        now: u64,
        permit: Permit,
    ) -> Result<Insertion, Error>;

    /// Inserts an item of a group that was located in the only layer.
    #[inline(always)]
    fn insert_located<B: Backend>(
        &mut self,
        backend: B,
        located: &LocatedOf<Self>,
        index: usize,
        now: u64,
        permit: Permit,
    ) -> Result<Insertion, Error> {
        let spot = self.locate(&located.hash(index));
        self.insert_spot(backend, spot, now, permit)
    }

    /// Inserts the items of a group, and answers for each, up to the answer that stops.
    fn insert_group<B: Backend>(
        &mut self,
        backend: B,
        group: &Group<Self::Shape, B>,
        now: u64,
        permit: Permit,
        answer: &mut impl FnMut(Result<Insertion, Error>) -> ControlFlow<()>,
    ) -> ControlFlow<()>;
}

/// What the items of a filter are hashed with.
pub(crate) type SeedOf<F> = <<F as Generations>::Shape as Rules>::Seed;
/// The hash of an item in the layers of a filter.
pub(crate) type HashOf<F> = <<F as Generations>::Shape as Rules>::Hash;
/// Where an item lies in a layer of a filter.
pub(crate) type SpotOf<F> = <<F as Generations>::Shape as LayerShape>::Spot;
/// The items of a group in the only layer of a filter.
pub(crate) type LocatedOf<F> = <<F as Generations>::Shape as LayerShape>::Located;
