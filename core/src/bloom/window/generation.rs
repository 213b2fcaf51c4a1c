//! One generation of a ring: its regular layer, and overflow layers after a burst.

use std::iter;
use std::ptr::NonNull;

use super::size::GENERATION_BYTES;
use crate::bloom::bloomline::{BlockedLayer, BlockedPlan, Filter, LayerRef};
use crate::error::Error;
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

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Generation>() as u64 == GENERATION_BYTES);

/// A generation to be read: a [`Generation`], or one in the memory of a small ring.
#[derive(Clone, Copy)]
pub struct GenerationRef<'a> {
    pub(crate) regular: LayerRef<'a>,
    pub(crate) regular_len: u64,
    pub(crate) overflow: Option<&'a Filter>,
    pub(crate) live: u64,
    pub(crate) opened: u64,
}

impl GenerationRef<'static> {
    /// Stands for the newest generation where the compiler does not know that there is one.
    pub(crate) const NONE: Self =
        Self { regular: LayerRef::NONE, regular_len: 0, overflow: None, live: 0, opened: 0 };
}

impl<'a> GenerationRef<'a> {
    /// True if the generation answers at a time, for `lifetime` milliseconds since it was opened.
    #[inline(always)]
    pub(crate) fn answers(&self, now: u64, lifetime: u64) -> bool {
        // Generations that do not expire answer at the end of time too.
        now.min(u64::MAX - 1) < self.opened.saturating_add(lifetime)
    }

    /// When the generation was opened: milliseconds of the host's time.
    pub fn opened(&self) -> u64 {
        self.opened
    }

    /// Items that were written to the generation.
    pub fn len(&self) -> u64 {
        self.regular_len.saturating_add(self.overflow.map_or(0, Filter::len))
    }

    /// True if no item was written to the generation.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Items of the generation that were not written to a newer one since.
    pub fn live(&self) -> u64 {
        self.live
    }

    pub fn layers(&self) -> impl DoubleEndedIterator<Item = LayerRef<'a>> + use<'a> {
        let overflow = self.overflow.into_iter().flat_map(Filter::layers);
        iter::once(self.regular).chain(overflow.map(BlockedLayer::view))
    }

    /// The layers and the number of items in each, oldest first.
    pub fn layers_with_len(&self) -> impl Iterator<Item = (LayerRef<'a>, u64)> + use<'a> {
        let overflow = self.overflow.into_iter().flat_map(Filter::layers_with_len);
        let overflow = overflow.map(|(layer, len)| (layer.view(), len));
        iter::once((self.regular, self.regular_len)).chain(overflow)
    }

    /// The target rates of the overflow layers, oldest first.
    pub fn overflow_errors(&self) -> impl Iterator<Item = f64> + use<'a> {
        self.overflow.into_iter().flat_map(Filter::layer_errors)
    }

    pub fn layer_count(&self) -> u32 {
        1 + self.overflow.map_or(0, Filter::layer_count)
    }

    pub(crate) fn overflow_bytes(&self) -> u64 {
        self.overflow.map_or(0, Filter::size_bytes)
    }

    pub(crate) fn bits_bytes(&self) -> u64 {
        self.layers().map(|layer| layer.bytes()).sum()
    }

    /// The computed false-positive rate: at most the generation's part of the target rate.
    pub fn fp_rate(&self) -> f64 {
        self.regular.fp_rate(self.regular_len) + self.overflow.map_or(0.0, Filter::fp_rate)
    }
}

impl Generation {
    /// An empty generation.
    pub(crate) fn new(plan: &BlockedPlan, opened: u64) -> Result<Self, Error> {
        let regular = BlockedLayer::build(plan)?;
        Ok(Self { regular, regular_len: 0, overflow: None, live: 0, opened })
    }

    pub(crate) fn try_clone(&self) -> Result<Self, Error> {
        let overflow = match &self.overflow {
            Some(filter) => Some(try_box(filter.try_clone(&mut |_| true)?)?),
            None => None,
        };
        Ok(Self { regular: self.regular.try_clone()?, overflow, ..*self })
    }

    /// The generation, to be read.
    #[inline(always)]
    pub(crate) fn view(&self) -> GenerationRef<'_> {
        let &Self { regular_len, live, opened, .. } = self;
        let overflow = self.overflow.as_deref();
        GenerationRef { regular: self.regular.view(), regular_len, overflow, live, opened }
    }

    /// The layers, oldest first, to be written.
    pub(crate) fn layers_mut(&mut self) -> impl Iterator<Item = &mut BlockedLayer> {
        let overflow = self.overflow.iter_mut().flat_map(|filter| filter.layers_mut());
        iter::once(&mut self.regular).chain(overflow)
    }

    /// Bytes of all layers: the bits, and what the overflow layers take beside them.
    pub fn size_bytes(&self) -> u64 {
        self.regular.bytes() + self.view().overflow_bytes()
    }

    /// The starts of the allocations: the bits of each layer, and what the overflow layers have.
    pub(crate) fn allocations(&self) -> impl Iterator<Item = NonNull<u8>> {
        let overflow = self.overflow.iter().flat_map(|filter| {
            iter::once(NonNull::from(&**filter).cast()).chain(filter.allocations())
        });
        iter::once(self.regular.words().allocation().start).chain(overflow)
    }

    /// Lets `mover` move the table of the overflow layers.
    pub(crate) fn relocate_table(&mut self, mover: &mut Mover) {
        if let Some(filter) = &mut self.overflow {
            relocate_slice(&mut filter.older, mover);
        }
    }
}
