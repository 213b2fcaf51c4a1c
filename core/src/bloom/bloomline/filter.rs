//! The scalable filter in this layout: creation, and the parameters it was created with.

use super::Filter;
use super::growth::BlockedParams;
use super::shape::BlockedPlan;
use crate::error::Error;
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
        let (params, plan) = BlockedParams::new(spec, seed)?;
        Self::with_plan(params, &plan, permit)
    }

    /// A filter that is a part of a windowed one, of layers of these plans, which follow from
    /// `spec`. Its bits are all zero, the older layers count as full, and the newest one counts
    /// `newest_len` items.
    pub(crate) fn part(
        spec: Spec,
        seed: u64,
        plans: &[BlockedPlan],
        newest_len: u64,
    ) -> Result<Self, Error> {
        let ((mut params, _), mut capacity) = (BlockedParams::first(spec, seed)?, 0u64);
        for (plan, index) in plans.iter().zip(0..).take(plans.len().saturating_sub(1)) {
            capacity = capacity.saturating_add(plan.capacity());
            (params, _) = params.successor(plan, index, capacity)?;
        }
        Self::with_plans(params, plans, newest_len, &mut |_| true)
    }

    /// Capacity, target rate and growth, as the filter was created.
    pub fn spec(&self) -> Spec {
        self.params.spec()
    }

    #[inline]
    pub fn seed(&self) -> u64 {
        self.params.seed
    }

    /// The target rate of each layer, oldest first. Cost: up to a microsecond per layer.
    pub fn layer_errors(&self) -> impl Iterator<Item = f64> {
        let first = (self.params.before_growth(), 0u64, 0u64);
        self.layers().zip(0..).scan(first, |(params, older, last), (layer, index)| {
            let (_, error) = params.planned(*last, index, *older);
            *last = layer.capacity();
            *older = older.saturating_add(*last);
            *params = params.after(&layer.plan());
            Some(error)
        })
    }

    /// The computed false-positive rate of the whole filter: at most the target rate.
    pub fn fp_rate(&self) -> f64 {
        self.params.older_rates + self.newest.fp_rate(self.newest_len)
    }
}
