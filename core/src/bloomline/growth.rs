//! How a filter in this layout grows: the capacity and the target rate of each layer.

use std::iter;

use super::geometry::Geometry;
use super::rate::fp_rate;
use super::sizing::MAX_ERROR_RATE;
use crate::error::Error;
use crate::spec::{Growth, MAX_EXPANSION, MAX_LAYERS, Spec};

/// What the layers of a filter in the Bloomline layout have in common.
#[derive(Clone, Copy, Debug)]
pub struct Common {
    /// Capacity, target rate and growth of the filter.
    pub(super) spec: Spec,
    /// The seed of the hash.
    pub(crate) seed: u64,
    /// The sum of the computed rates of the older layers: the used part of the target rate.
    pub(super) older_rates: f64,
}

/// A layer in the Bloomline layout, before it is built.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Items that the layer is sized for.
    pub(super) capacity: u64,
    /// Its blocks, and the bits per item in them.
    pub(super) geometry: Geometry,
}

impl Shape {
    /// Items that the layer is sized for.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Its blocks, and the bits per item in them.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }
}

impl Common {
    /// The first layer of a filter.
    ///
    /// # Errors
    ///
    /// [`Error::Capacity`], [`Error::ErrorRate`], [`Error::Expansion`] or
    /// [`Error::ErrorRateTooSmall`] for a number that is out of range.
    pub(crate) fn first(spec: Spec, seed: u64) -> Result<(Self, Shape), Error> {
        // The first layer gets half of the target rate, which may be in range although the target
        // rate is not. The condition is written so that NaN fails.
        if !(spec.error_rate > 0.0 && spec.error_rate <= MAX_ERROR_RATE) {
            return Err(Error::ErrorRate(spec.error_rate));
        }
        match spec.growth {
            Growth::Scaling { expansion } if !(1..=MAX_EXPANSION).contains(&expansion) => {
                Err(Error::Expansion(expansion))
            }
            _ => Self { spec, seed, older_rates: 0.0 }.with_shape(spec.capacity, 0),
        }
    }

    /// The layer that follows when `last`, layer `index` counted from 0, is full.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] if the filter is fixed; [`Error::TooManyLayers`]; [`Error::Capacity`] or
    /// [`Error::ErrorRateTooSmall`] if the next layer would be out of range.
    pub(super) fn successor(&self, last: &Shape, index: u32) -> Result<(Self, Shape), Error> {
        match self.spec.growth {
            Growth::Fixed => Err(Error::Full(last.capacity)),
            Growth::Scaling { .. } if index + 1 >= MAX_LAYERS => {
                Err(Error::TooManyLayers(MAX_LAYERS))
            }
            Growth::Scaling { expansion } => {
                let capacity = last.capacity.saturating_mul(u64::from(expansion));
                let older_rates = self.older_rates + fp_rate(&last.geometry, last.capacity);
                Self { older_rates, ..*self }.with_shape(capacity, index + 1)
            }
        }
    }

    fn with_shape(self, capacity: u64, index: u32) -> Result<(Self, Shape), Error> {
        let geometry = Geometry::new(capacity, self.spec.layer_error(index, self.older_rates))?;
        Ok((self, Shape { capacity, geometry }))
    }
}

impl Spec {
    /// The layers that a filter with this spec gets one after the other, not built. The last item
    /// of the iterator is the error that ends the growth.
    ///
    /// ```
    /// use bloomline_core::{Growth, Spec};
    ///
    /// let spec = Spec { capacity: 100, error_rate: 0.01, growth: Growth::Scaling { expansion: 2 } };
    /// let layers: Vec<_> = spec.layers().flatten().take(3).map(|layer| layer.capacity()).collect();
    /// assert_eq!(layers, [100, 200, 400]);
    /// ```
    pub fn layers(self) -> impl Iterator<Item = Result<Shape, Error>> {
        // Sizes do not depend on the seed.
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

    /// The target rate of layer `index`, counted from 0. `older_rates` is the sum of the computed
    /// rates of the layers before it.
    ///
    /// A scaling filter gives each layer `1 / (index + 2)` of its error budget: the target rate of
    /// the filter less `older_rates`. If every layer reached its own target rate, that of layer `i`
    /// would be `1 / ((i + 1) (i + 2))` of the whole. These shares add up to 1. Their ratio is not
    /// constant, unlike in the tightening series of Almeida et al. (2007). Layers have a whole
    /// number of blocks, so their computed rates are lower, and later layers get the difference.
    pub(super) fn layer_error(&self, index: u32, older_rates: f64) -> f64 {
        match self.growth {
            Growth::Scaling { .. } => (self.error_rate - older_rates) / f64::from(index + 2),
            Growth::Fixed => self.error_rate,
        }
    }
}
