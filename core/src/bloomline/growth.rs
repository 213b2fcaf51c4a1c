//! How a filter in this layout grows: the layers that follow from what it was asked to be.

use std::iter;

use super::geometry::{Geometry, MAX_ERROR_RATE};
use super::rate::fp_rate;
use crate::error::Error;
use crate::spec::{Growth, MAX_EXPANSION, MAX_LAYERS, Spec};

/// What the layers of a filter in the Bloomline layout have in common.
#[derive(Clone, Copy, Debug)]
pub struct Common {
    /// What the filter was asked to be.
    pub(super) spec: Spec,
    /// Seed of the hash.
    pub(super) seed: u64,
    /// Sum of the computed rates of the older layers: the part of the error rate that is spent.
    pub(super) spent: f64,
}

/// A layer in the Bloomline layout, before it is built.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Items it is sized for.
    pub(super) capacity: u64,
    /// Its lines, and what an item sets in them.
    pub(super) geometry: Geometry,
}

impl Shape {
    /// Items the layer is sized for.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Its lines, and what an item sets in them.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }
}

impl Common {
    /// A filter's first layer.
    ///
    /// # Errors
    ///
    /// A number out of range: [`Error::Capacity`], [`Error::ErrorRate`], [`Error::Expansion`],
    /// [`Error::ErrorRateTooSmall`].
    pub(super) fn first(spec: Spec, seed: u64) -> Result<(Self, Shape), Error> {
        // Half of a bad error rate may be a good one. Written so that NaN fails.
        if !(spec.error_rate > 0.0 && spec.error_rate <= MAX_ERROR_RATE) {
            return Err(Error::ErrorRate(spec.error_rate));
        }
        match spec.growth {
            Growth::Scaling { expansion } if !(1..=MAX_EXPANSION).contains(&expansion) => {
                Err(Error::Expansion(expansion))
            }
            _ => Self { spec, seed, spent: 0.0 }.with_shape(spec.capacity, 0),
        }
    }

    /// The layer that comes when `last`, layer `index`, is full: the one place that knows what
    /// happens then.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] where none comes, [`Error::TooManyLayers`], or a layer that is out of range
    /// ([`Error::Capacity`], [`Error::ErrorRateTooSmall`]).
    pub(super) fn successor(&self, last: &Shape, index: u32) -> Result<(Self, Shape), Error> {
        match self.spec.growth {
            Growth::Fixed => Err(Error::Full(last.capacity)),
            Growth::Scaling { .. } if index + 1 >= MAX_LAYERS => {
                Err(Error::TooManyLayers(MAX_LAYERS))
            }
            Growth::Scaling { expansion } => {
                let capacity = last.capacity.saturating_mul(u64::from(expansion));
                let spent = self.spent + fp_rate(&last.geometry, last.capacity);
                Self { spent, ..*self }.with_shape(capacity, index + 1)
            }
        }
    }

    fn with_shape(self, capacity: u64, index: u32) -> Result<(Self, Shape), Error> {
        let geometry = Geometry::new(capacity, self.spec.layer_error(index, self.spent))?;
        Ok((self, Shape { capacity, geometry }))
    }
}

impl Spec {
    /// The layers that a filter of this kind gets one after the other, none of them built; the last
    /// is the error that ends it.
    ///
    /// ```
    /// use bloomline_core::{Growth, Spec};
    ///
    /// let spec = Spec { capacity: 100, error_rate: 0.01, growth: Growth::Scaling { expansion: 2 } };
    /// let layers: Vec<_> = spec.layers().flatten().take(3).map(|layer| layer.capacity()).collect();
    /// assert_eq!(layers, [100, 200, 400]);
    /// ```
    pub fn layers(self) -> impl Iterator<Item = Result<Shape, Error>> {
        // The seed decides over bits, never over sizes.
        let mut next = Some(Common::first(self, 0));
        let mut index = 0;
        iter::from_fn(move || {
            let layer = next.take()?;
            if let Ok((common, shape)) = &layer {
                next = Some(common.successor(shape, index));
                index += 1;
            }
            Some(layer.map(|(_, shape)| shape))
        })
    }

    /// Error rate of layer `index`, counted from 0, when the layers before it have spent `spent` of
    /// the whole.
    ///
    /// A scaling filter gives each layer `1 / (index + 2)` of what is left. If every layer used all
    /// it is given, layer `i` would have the share `1 / ((i + 1) (i + 2))`, and these add up to
    /// 1; as layers come in whole lines they use less, and the later ones get the rest.
    pub(super) fn layer_error(&self, index: u32, spent: f64) -> f64 {
        match self.growth {
            Growth::Scaling { .. } => (self.error_rate - spent) / f64::from(index + 2),
            Growth::Fixed => self.error_rate,
        }
    }
}
