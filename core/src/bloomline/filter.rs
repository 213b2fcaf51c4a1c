//! The scalable filter in this layout: creation, and the parameters it was created with.

use super::Filter;
use super::growth::Common;
use crate::error::{Error, HeaderError};
use crate::layer::Layer;
use crate::scalable::try_push;
use crate::spec::{Permit, Spec};

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
    /// this `spec` cannot have so many layers or items.
    pub fn with_layers(
        spec: Spec,
        seed: u64,
        layers: u32,
        newest_len: u64,
        permit: Permit,
    ) -> Result<Self, Error> {
        let (mut common, mut shape) = Common::first(spec, seed)?;
        let mut shapes = Vec::new();
        for index in 1..layers.max(1) {
            try_push(&mut shapes, shape)?;
            let next =
                common.successor(&shape, index - 1).map_err(|_| HeaderError::Layers(layers))?;
            (common, shape) = next;
        }
        if layers == 0 {
            return Err(HeaderError::Layers(layers).into());
        }
        if newest_len > shape.capacity {
            return Err(HeaderError::Len(newest_len).into());
        }
        try_push(&mut shapes, shape)?;
        Self::with_shapes(common, &shapes, newest_len, permit)
    }

    /// Capacity, target rate and growth, as the filter was created.
    pub fn spec(&self) -> &Spec {
        &self.common.spec
    }

    /// The seed of the hash.
    #[inline]
    pub fn seed(&self) -> u64 {
        self.common.seed
    }

    /// The target rate of each layer, oldest first. Cost: up to a microsecond per layer.
    pub fn layer_errors(&self) -> impl Iterator<Item = f64> {
        self.layers().zip(0..).scan(0.0, |older_rates, (layer, index)| {
            let error = self.common.spec.layer_error(index, *older_rates);
            *older_rates += layer.fp_rate(layer.capacity());
            Some(error)
        })
    }

    /// The computed false-positive rate of the whole filter: at most the target rate.
    pub fn fp_rate(&self) -> f64 {
        self.common.older_rates + self.newest.fp_rate(self.newest_len)
    }
}
