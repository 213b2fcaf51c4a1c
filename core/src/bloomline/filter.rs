//! The scalable filter in this layout: creation, and the parameters it was created with.

use super::Filter;
use super::growth::{Common, Shape};
use super::irregular::{self, Records};
use crate::error::{Error, HeaderError};
use crate::layer::Layer;
use crate::permit::Permit;
use crate::spec::Spec;

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

    /// A filter of `layers` layers whose bits are all zero. The older layers count as full, and the
    /// newest one counts `newest_len` items.
    ///
    /// `permit` gets one demand for all layers together, before any bits are allocated.
    ///
    /// # Errors
    ///
    /// Those of [`Filter::new`]; [`HeaderError::Layers`] or [`HeaderError::Len`] if a filter of
    /// this `spec` cannot have that number of layers or items.
    pub fn with_layers(
        spec: Spec,
        seed: u64,
        layers: u32,
        newest_len: u64,
        permit: Permit,
    ) -> Result<Self, Error> {
        let mut shapes = Vec::new();
        let first = Common::first(spec, seed)?;
        let common = irregular::layers(first, layers, &mut Records::default(), &mut shapes)?;
        if newest_len > shapes.last().map_or(0, Shape::capacity) {
            return Err(HeaderError::Len(newest_len).into());
        }
        Self::with_shapes(common, &shapes, newest_len, permit)
    }

    /// The same for layers of these shapes, which follow from `spec` and records.
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
        let mut first = self.common;
        first.older_rates = 0.0;
        let first = (first, 0u64, 0u64);
        self.layers().zip(0..).scan(first, |(common, older, last), (layer, index)| {
            let (_, error) = common.planned(*last, index, *older);
            *last = layer.capacity();
            *older = older.saturating_add(*last);
            common.older_rates += layer.fp_rate(*last);
            Some(error)
        })
    }

    /// The computed false-positive rate of the whole filter: at most the target rate.
    pub fn fp_rate(&self) -> f64 {
        self.common.older_rates + self.newest.fp_rate(self.newest_len)
    }
}
