//! The scalable filter in this layout: its layers, creation, and the parameters it was created
//! with.

use std::hint::black_box;

use super::Filter;
use super::geometry::BLOCK_BYTES;
use super::growth::{Common, Shape};
use super::layer::{BlockedLayer, FILTER_BYTES, LAYER_BYTES, LayerRef, set_bits};
use super::locate::Spot;
use super::located::LocatedBlocks;
use crate::bloom::layer::{Layer, sealed};
use crate::error::Error;
use crate::math::estimate::LayerEstimate;
use crate::memory::words::Words;
use crate::permit::Permit;
use crate::simd::{BLOCK_SECTORS, Backend, Block};
use crate::spec::{Layout, Spec};

impl sealed::Sealed for BlockedLayer {}

impl Layer for BlockedLayer {
    const LAYOUT: Layout = Layout::Bloomline;
    type Common = Common;
    type Located = LocatedBlocks;
    type Shape = Shape;

    #[inline(always)]
    fn seed(common: &Common) -> u64 {
        common.seed
    }

    #[inline(always)]
    fn set<B: Backend>(&mut self, backend: B, spot: &Spot) {
        set_bits(self.words.as_mut_slice(), self.geometry, backend, spot);
    }

    /// The operating system backs a page at its first access, and again at its first write if it
    /// was only read: reading first would cost two page faults per item. With four items per page
    /// on average, `1 - e^-4` or 98 % of the pages are backed; small layers do not matter.
    #[inline(always)]
    fn prefault(&mut self, len: u64, spot: &Spot) {
        const ITEMS_PER_PAGE: u64 = 4;
        const FROM_PAGES: u64 = 256;
        let pages = self.geometry.pages();
        if len < pages * ITEMS_PER_PAGE
            && pages >= FROM_PAGES
            && let Some(Block([sector, ..])) =
                Block::of_mut(self.words.as_mut_slice()).get_mut(spot.first)
        {
            // One instruction that reads and writes; the compiler does not know that it changes
            // nothing.
            *sector |= black_box(0);
        }
    }

    fn words(&self) -> &Words {
        &self.words
    }

    fn words_mut(&mut self) -> &mut Words {
        &mut self.words
    }

    #[inline]
    fn capacity(&self) -> u64 {
        self.capacity
    }

    #[inline]
    fn len_when_older(&self) -> u64 {
        self.capacity
    }

    fn retire(&mut self, _len: u64) {}

    fn successor(
        common: &Common,
        last: &Shape,
        index: u32,
        capacity: u64,
    ) -> Result<(Common, Shape), Error> {
        common.successor(last, index, capacity)
    }

    fn shape_capacity(shape: &Shape) -> u64 {
        shape.capacity
    }

    fn shape_with(&self, _len: u64) -> Shape {
        self.shape()
    }

    fn shape_bytes(shape: &Shape) -> u64 {
        shape.bytes()
    }

    fn build(shape: &Shape) -> Result<Self, Error> {
        let &Shape { geometry, capacity, .. } = shape;
        let words = Words::zeroed(shape.bytes() / BLOCK_BYTES * BLOCK_SECTORS as u64)?;
        Ok(Self { words, capacity, geometry })
    }

    fn try_clone(&self) -> Result<Self, Error> {
        Ok(Self { words: self.words.try_clone()?, ..*self })
    }

    fn fp_rate(&self, len: u64) -> f64 {
        self.shape().fp_rate(len)
    }

    fn estimate<'a>(
        layers: impl Iterator<Item = &'a Self> + Clone,
        sample: usize,
    ) -> LayerEstimate {
        LayerRef::estimate(layers.map(Self::view), sample)
    }

    fn first_byte(common: &Common) -> u64 {
        common.first_byte()
    }

    fn size_bytes(bits_bytes: u64, layers: u32) -> u64 {
        let table = u64::from(layers - 1) * LAYER_BYTES;
        bits_bytes.saturating_add(FILTER_BYTES + table)
    }
}

impl Filter {
    /// An empty filter whose items are hashed with `seed`.
    ///
    /// # Errors
    ///
    /// [`Error::Capacity`], [`Error::ErrorRate`], [`Error::Expansion`] or
    /// [`Error::ErrorRateTooSmall`] for a number of `spec` that is out of range; [`Error::Refused`]
    /// by `permit`; [`Error::OutOfMemory`].
    pub fn new(spec: Spec, seed: u64, permit: Permit) -> Result<Self, Error> {
        let (common, shape) = Common::first(spec, seed)?;
        Self::with_shape(common, &shape, permit)
    }

    /// A filter of layers of these shapes, which follow from `spec` and records. Its bits are all
    /// zero, the older layers count as full, and the newest one counts `newest_len` items.
    ///
    /// `permit` gets one demand for all layers together, before any bits are allocated.
    ///
    /// # Errors
    ///
    /// Those of [`Filter::new`].
    pub(crate) fn with_shapes_of(
        spec: Spec,
        seed: u64,
        shapes: &[Shape],
        newest_len: u64,
        permit: Permit,
    ) -> Result<Self, Error> {
        let ((mut common, _), mut capacity) = (Common::first(spec, seed)?, 0u64);
        for (shape, index) in shapes.iter().zip(0..).take(shapes.len().saturating_sub(1)) {
            capacity = capacity.saturating_add(shape.capacity);
            (common, _) = common.successor(shape, index, capacity)?;
        }
        Self::with_shapes(common, shapes, newest_len, permit)
    }

    /// Capacity, target rate and growth, as the filter was created.
    pub fn spec(&self) -> Spec {
        self.common.spec()
    }

    /// The seed of the hash.
    #[inline]
    pub fn seed(&self) -> u64 {
        self.common.seed
    }

    /// The target rate of each layer, oldest first. Cost: up to a microsecond per layer.
    pub fn layer_errors(&self) -> impl Iterator<Item = f64> {
        let first = (self.common.before_growth(), 0u64, 0u64);
        self.layers().zip(0..).scan(first, |(common, older, last), (layer, index)| {
            let (_, error) = common.planned(*last, index, *older);
            *last = layer.capacity();
            *older = older.saturating_add(*last);
            *common = common.after(&layer.shape());
            Some(error)
        })
    }

    /// The computed false-positive rate of the whole filter: at most the target rate.
    pub fn fp_rate(&self) -> f64 {
        self.common.older_rates + self.newest.fp_rate(self.newest_len)
    }
}
