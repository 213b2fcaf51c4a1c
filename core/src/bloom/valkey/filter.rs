//! A filter in this layout: how it is created, its parameters, how far it can grow.

use super::ValkeyFilter;
use super::layer::{ValkeyLayer, ValkeyParams, ValkeyShape};
use super::sizing::{MAX_CAPACITY, layer_rate};
use super::valid::check_params;
use crate::bloom::layer::{Plan, Rules};
use crate::error::{Error, ValkeyError};
use crate::permit::Permit;
use crate::spec::{Growth, Spec};

/// How far a filter can grow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// The capacity of all layers together.
    pub capacity: u64,
    /// Why there is no further layer: [`Error::Refused`] by the limit, or that of the layer.
    pub end: Error,
}

impl ValkeyFilter {
    /// An empty filter.
    ///
    /// # Errors
    ///
    /// [`ValkeyError`], [`Error::Refused`] by `permit`, [`Error::OutOfMemory`].
    pub fn new(capacity: u64, params: ValkeyParams, permit: Permit) -> Result<Self, Error> {
        Self::with_plan(params, &first_shape(capacity, &params)?.into(), permit)
    }

    /// The capacity and the target rate of the first layer, and the growth.
    pub fn spec(&self) -> Spec {
        let &ValkeyParams { expansion, error_rate, .. } = self.params();
        let capacity = self.layers().next().map_or(0, ValkeyLayer::capacity);
        Spec { capacity, error_rate, growth: Growth::of(expansion) }
    }

    /// The target rate of each layer, oldest first.
    pub fn layer_errors(&self) -> impl Iterator<Item = f64> {
        let &ValkeyParams { error_rate, tightening, .. } = self.params();
        (0..self.layer_count()).map(move |index| layer_rate(error_rate, tightening, index))
    }

    /// How far a filter of this capacity can grow in `limit` bytes: valkey-bloom's "Max scaled
    /// capacity", and what VALIDATESCALETO is compared with. Nothing is allocated.
    ///
    /// Cost: some ten nanoseconds per layer.
    ///
    /// # Errors
    ///
    /// Those of [`ValkeyFilter::new`], and [`Error::Refused`] if the first layer exceeds the limit.
    pub fn reach(capacity: u64, params: &ValkeyParams, limit: u64) -> Result<Reach, Error> {
        let mut plan = Plan::from(first_shape(capacity, params)?);
        let (mut bytes, mut capacity) = (0u64, 0u64);
        for index in 0.. {
            bytes = bytes.saturating_add(plan.bytes());
            let size = ValkeyShape::size_bytes(bytes, index + 1);
            if size > limit && index == 0 {
                return Err(Error::Refused(size));
            }
            if size > limit {
                return Ok(Reach { capacity, end: Error::Refused(size) });
            }
            capacity = capacity.saturating_add(plan.capacity());
            match ValkeyShape::successor(params, &plan, index, capacity) {
                Ok((_, next)) => plan = next,
                Err(end) => return Ok(Reach { capacity, end }),
            }
        }
        // A filter has fewer layers than numbers.
        Err(ValkeyError::Capacity(capacity).into())
    }
}

/// The first layer of a new filter.
fn first_shape(capacity: u64, params: &ValkeyParams) -> Result<ValkeyShape, Error> {
    check_params(params)?;
    if !(1..=MAX_CAPACITY).contains(&capacity) {
        return Err(ValkeyError::Capacity(capacity).into());
    }
    Ok(ValkeyShape::new(capacity, params.error_rate)?)
}
