//! A scalable filter in this layout: creation, and what was asked for.

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
    /// A number of `spec` out of range ([`Error::Capacity`], [`Error::ErrorRate`],
    /// [`Error::Expansion`], [`Error::ErrorRateTooSmall`]), [`Error::Refused`] by `permit`,
    /// [`Error::OutOfMemory`].
    pub fn new(spec: Spec, seed: u64, permit: Permit) -> Result<Self, Error> {
        let (common, shape) = Common::first(spec, seed)?;
        Self::with_shape(common, &shape, permit)
    }

    /// An empty filter of `layers` layers, all but the newest counted as full, and that one with
    /// `newest_len` items.
    ///
    /// # Errors
    ///
    /// Those of [`Filter::new`]; [`HeaderError::Layers`] or [`HeaderError::Len`] where a filter of
    /// this `spec` can't have so many. No bits are allocated before all layers together have
    /// been put before `permit`.
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

    /// What the filter was asked to be.
    pub fn spec(&self) -> &Spec {
        &self.common.spec
    }

    /// Seed of the hash.
    #[inline]
    pub fn seed(&self) -> u64 {
        self.common.seed
    }

    /// Error rate each layer was sized for, oldest first. Cost: up to a microsecond a layer.
    pub fn layer_errors(&self) -> impl Iterator<Item = f64> {
        self.layers().zip(0..).scan(0.0, |spent, (layer, index)| {
            let error = self.common.spec.layer_error(index, *spent);
            *spent += layer.fp_rate(layer.capacity());
            Some(error)
        })
    }

    /// Computed probability that an absent item is reported as present: at most the rate asked for.
    pub fn fp_rate(&self) -> f64 {
        self.common.spent + self.newest.fp_rate(self.newest_len)
    }
}
