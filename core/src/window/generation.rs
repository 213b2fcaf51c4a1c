//! One generation of a ring: its regular layer, and overflow layers after a burst.

use std::iter;
use std::ptr::NonNull;

use crate::bloomline::hash::ItemHash;
use crate::bloomline::{BlockedLayer, Filter, Shape};
use crate::error::Error;
use crate::layer::Layer;
use crate::memory::try_box;
use crate::memory::words::{Mover, relocate_slice};

/// The items that were inserted during one slot of a window.
#[derive(Debug)]
pub struct Generation {
    /// Holds the first items, up to its capacity.
    pub(crate) regular: BlockedLayer,
    /// Items in the regular layer.
    pub(crate) regular_len: u64,
    /// Holds further items.
    pub(crate) overflow: Option<Box<Filter>>,
    /// Items that no newer generation contains.
    pub(crate) live: u64,
    /// When the generation was opened, in milliseconds.
    pub(crate) opened: u64,
}

impl Generation {
    /// An empty generation.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(super) fn new(shape: &Shape, opened: u64) -> Result<Self, Error> {
        let regular = BlockedLayer::build(shape)?;
        Ok(Self { regular, regular_len: 0, overflow: None, live: 0, opened })
    }

    /// A generation equal to this one.
    pub(super) fn try_clone(&self) -> Result<Self, Error> {
        let overflow = match &self.overflow {
            Some(filter) => Some(try_box(filter.try_clone(&mut |_| true)?)?),
            None => None,
        };
        Ok(Self { regular: self.regular.try_clone()?, overflow, ..*self })
    }

    /// When the generation was opened: milliseconds of the host's time.
    pub fn opened(&self) -> u64 {
        self.opened
    }

    /// Items that were written to the generation.
    pub fn len(&self) -> u64 {
        self.regular_len.saturating_add(self.overflow.as_ref().map_or(0, |filter| filter.len()))
    }

    /// True if no item was written to the generation.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Items of the generation that were not written to a newer one since.
    pub fn live(&self) -> u64 {
        self.live
    }

    /// The layers, oldest first.
    pub fn layers(&self) -> impl DoubleEndedIterator<Item = &BlockedLayer> {
        iter::once(&self.regular).chain(self.overflow.iter().flat_map(|filter| filter.layers()))
    }

    /// The layers, oldest first, to be written.
    pub(super) fn layers_mut(&mut self) -> impl Iterator<Item = &mut BlockedLayer> {
        let overflow = self.overflow.iter_mut().flat_map(|filter| filter.layers_mut());
        iter::once(&mut self.regular).chain(overflow)
    }

    /// The layers and the number of items in each, oldest first.
    pub fn layers_with_len(&self) -> impl Iterator<Item = (&BlockedLayer, u64)> {
        let overflow = self.overflow.iter().flat_map(|filter| filter.layers_with_len());
        iter::once((&self.regular, self.regular_len)).chain(overflow)
    }

    /// The target rates of the overflow layers, oldest first.
    pub fn overflow_errors(&self) -> impl Iterator<Item = f64> {
        self.overflow.iter().flat_map(|filter| filter.layer_errors())
    }

    /// The number of layers.
    pub fn layer_count(&self) -> u32 {
        1 + self.overflow.as_ref().map_or(0, |filter| filter.layer_count())
    }

    /// Bytes of all layers: the bits, and what the overflow layers take beside them.
    pub fn size_bytes(&self) -> u64 {
        self.regular.words().bytes() + self.overflow_bytes()
    }

    /// Bytes of the overflow layers.
    pub(super) fn overflow_bytes(&self) -> u64 {
        self.overflow.as_ref().map_or(0, |filter| filter.size_bytes())
    }

    /// Bytes of the bits of all layers.
    pub(super) fn bits_bytes(&self) -> u64 {
        self.layers().map(|layer| layer.words().bytes()).sum()
    }

    /// See [`Layer::prefault`].
    #[inline(always)]
    pub(crate) fn prefault(&mut self, hash: &ItemHash) {
        let spot = self.regular.locate(hash);
        self.regular.prefault(self.regular_len, &spot);
    }

    /// The computed false-positive rate: at most the generation's part of the target rate.
    pub fn fp_rate(&self) -> f64 {
        let overflow = self.overflow.as_ref().map_or(0.0, |filter| filter.fp_rate());
        self.regular.fp_rate(self.regular_len) + overflow
    }

    /// The starts of the allocations: the bits of each layer, and what the overflow layers have.
    pub(super) fn allocations(&self) -> impl Iterator<Item = NonNull<u8>> {
        let overflow = self.overflow.iter().flat_map(|filter| {
            iter::once(NonNull::from(&**filter).cast()).chain(filter.allocations())
        });
        iter::once(self.regular.words().block().start).chain(overflow)
    }

    /// Lets `mover` move the table of the overflow layers.
    pub(super) fn relocate_table(&mut self, mover: &mut Mover) {
        if let Some(filter) = &mut self.overflow {
            relocate_slice(&mut filter.older, mover);
        }
    }
}
