//! How a filter in this layout grows: the capacity and the target rate of each layer.

use std::cell::Cell;
use std::iter;

use super::geometry::Geometry;
use super::shape::BlockedPlan;
use super::sizing::{MAX_CAPACITY, MAX_ERROR_RATE, MIN_LAYER_ERROR};
use crate::error::Error;
use crate::hash::xxh3::COLLISION;
use crate::spec::{Growth, MAX_EXPANSION, MAX_LAYERS, Spec};

/// What the layers of a filter in the Bloomline layout have in common.
///
/// [`Spec`] is flattened to keep a filter at 96 bytes, a size class of the servers' allocator.
#[derive(Clone, Copy, Debug)]
pub struct BlockedParams {
    pub(crate) capacity: u64,
    pub(crate) error_rate: f64,
    pub(crate) seed: u64,
    /// The sum of the computed rates of the older layers: the used part of the target rate.
    pub(crate) older_rates: f64,
    growth: PackedGrowth,
    /// Where the bits begin, in units of [`ORIGIN_UNIT`] bytes. Compacting a filter moves it behind
    /// all earlier bits.
    pub(crate) origin: u32,
}

/// [`Growth`] and two facts about the older layers, in four bytes. A filter of any kind uses spare
/// values of them to distinguish kinds.
#[derive(Clone, Copy, Debug)]
struct PackedGrowth {
    /// 0 if the filter is fixed.
    expansion: u16,
    /// True if an older layer is folded.
    is_compacted: bool,
    /// Older layers up to the newest small one; [`ALL`] for as many or more.
    with_small: u8,
}

/// The number of older layers that is not counted any more.
const ALL: u8 = u8::MAX;

const _: () = assert!(MAX_EXPANSION <= u16::MAX as u32);

/// After a compaction, a layer has at least this part of the capacity of all older layers, so that
/// the number of layers grows with the logarithm of the number of items.
const LEAST_SHARE: u64 = 4;

/// Bytes per unit of the origin of the bits.
pub(crate) const ORIGIN_UNIT: u64 = 4 << 20;

impl BlockedParams {
    /// The parameters and the first layer of a filter without a window.
    ///
    /// # Errors
    ///
    /// [`Error::Capacity`], [`Error::ErrorRate`], [`Error::Expansion`] or
    /// [`Error::ErrorRateTooSmall`] for a number that is out of range.
    pub(crate) fn new(spec: Spec, seed: u64) -> Result<(Self, BlockedPlan), Error> {
        Self::with_first(spec, seed, Geometry::first)
    }

    /// The parameters and the first layer of a part of a windowed filter.
    ///
    /// # Errors
    ///
    /// Those of [`BlockedParams::new`].
    pub(crate) fn first(spec: Spec, seed: u64) -> Result<(Self, BlockedPlan), Error> {
        Self::with_first(spec, seed, Geometry::new)
    }

    fn with_first(
        spec: Spec,
        seed: u64,
        size: impl FnOnce(u64, f64) -> Result<Geometry, Error>,
    ) -> Result<(Self, BlockedPlan), Error> {
        // The first layer gets half of the target rate, which may be in range although the target
        // rate is not. The condition is written so that NaN fails.
        if !(spec.error_rate > 0.0 && spec.error_rate <= MAX_ERROR_RATE) {
            return Err(Error::ErrorRate(spec.error_rate));
        }
        let Spec { capacity, error_rate, growth } = spec;
        if let Growth::Scaling { expansion } = growth
            && !(1..=MAX_EXPANSION).contains(&expansion)
        {
            return Err(Error::Expansion(expansion));
        }
        if capacity > MAX_CAPACITY {
            return Err(Error::Capacity(capacity));
        }
        let params = Self::of_one_layer(capacity, error_rate, seed, growth.expansion() as u16, 0);
        let error = params.layer_error(0);
        // A part of the least numbers is 0, which is no target rate.
        if error < MIN_LAYER_ERROR {
            return Err(Error::ErrorRateTooSmall(error));
        }
        let geometry = size(capacity, error)?;
        Ok((params, BlockedPlan::new(capacity, geometry)))
    }

    /// Of a filter of one layer, which has this expansion, 0 if it does not grow.
    #[inline(always)]
    pub(crate) fn of_one_layer(
        capacity: u64,
        error_rate: f64,
        seed: u64,
        expansion: u16,
        origin: u32,
    ) -> Self {
        let growth = PackedGrowth { expansion, is_compacted: false, with_small: 0 };
        Self { capacity, error_rate, seed, older_rates: 0.0, growth, origin }
    }

    /// 0 if the filter does not grow.
    #[inline(always)]
    pub(crate) fn expansion(&self) -> u16 {
        self.growth.expansion
    }

    /// Capacity, target rate and growth of the filter.
    pub(crate) fn spec(&self) -> Spec {
        let growth = Growth::of(self.growth.expansion.into());
        Spec { capacity: self.capacity, error_rate: self.error_rate, growth }
    }

    /// The layer that follows when `last`, layer `index` counted from 0, is full. All layers up to
    /// it have the capacity `capacity` together.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] if the filter is fixed; [`Error::TooManyLayers`]; [`Error::Capacity`] or
    /// [`Error::ErrorRateTooSmall`] if the next layer would be out of range.
    pub(crate) fn successor(
        &self,
        last: &BlockedPlan,
        index: u32,
        capacity: u64,
    ) -> Result<(Self, BlockedPlan), Error> {
        if !self.scales() {
            return Err(Error::Full(last.capacity()));
        }
        if index + 1 >= MAX_LAYERS {
            return Err(Error::TooManyLayers(MAX_LAYERS));
        }
        let mut next = self.after(last);
        if last.geometry().is_small() {
            next.growth.with_small = u8::try_from(index + 1).unwrap_or(ALL);
        }
        let (capacity, error) = next.planned(last.capacity(), index + 1, capacity);
        Ok((next, BlockedPlan::new(capacity, Geometry::new(capacity, error)?)))
    }

    /// What the layers have in common once `last` is an older layer.
    pub(crate) fn after(&self, last: &BlockedPlan) -> Self {
        let is_compacted = self.growth.is_compacted || self.scales() && last.geometry().is_folded();
        let growth = PackedGrowth { is_compacted, ..self.growth };
        Self { older_rates: self.older_rates + rate_when_full(last), growth, ..*self }
    }

    /// What the layers had in common when the first one was the newest.
    pub(crate) fn before_growth(&self) -> Self {
        let growth = PackedGrowth { is_compacted: false, with_small: 0, ..self.growth };
        Self { older_rates: 0.0, growth, ..*self }
    }

    /// Capacity and target rate of layer `index` after a layer of capacity `last`. All older layers
    /// have the capacity `older` together.
    ///
    /// After a compaction, the small layers that it leaves must not make all further layers small.
    /// So the next one has at least the capacity that the filter was created for, and a quarter of
    /// `older`. It does not get a share of the error budget by its index, but by its size.
    pub(crate) fn planned(&self, last: u64, index: u32, older: u64) -> (u64, f64) {
        // A fixed filter has one layer only.
        let capacity = last.saturating_mul(self.growth.expansion.max(1).into());
        if !self.is_compacted() {
            return (capacity, self.layer_error(index));
        }
        let capacity = capacity.max(self.capacity).max(older / LEAST_SHARE).min(MAX_CAPACITY);
        let error = self.error_by_size(capacity, older);
        let budget = self.budget();
        let collisions = capacity as f64 * COLLISION;
        if error >= MIN_LAYER_ERROR && collisions <= error / 2.0 {
            return (capacity, error);
        }
        // Equal hashes alone would take half of the rate, or no layer can have it: half of the
        // budget, for as many items as leave an eighth of that for the bits.
        let most = (budget * (7.0 / 16.0) / COLLISION) as u64;
        (capacity.min(most.max(1)), budget / 2.0)
    }

    /// True if an older layer is folded, so that the next one follows a compaction.
    pub(crate) fn is_compacted(&self) -> bool {
        self.growth.is_compacted
    }

    fn scales(&self) -> bool {
        self.growth.expansion != 0
    }

    /// Older layers up to the newest small one: those after them have blocks. At most `older`.
    #[inline(always)]
    pub(crate) fn with_small(&self, older: usize) -> usize {
        match self.growth.with_small {
            ALL => older,
            count => older.min(count.into()),
        }
    }

    /// What the older layers leave of the target rate.
    fn budget(&self) -> f64 {
        self.error_rate - self.older_rates
    }

    /// The rate that a layer of `capacity` items may have in a filter that was compacted, whose
    /// older layers have the capacity `older` together.
    ///
    /// A layer that doubles the capacity gets an eighth of the budget, one of a quarter of the
    /// older capacity a 26th, and none more than a half. So the rate per item falls with the number
    /// of items, and hardly with the number of layers in which they are.
    pub(crate) fn error_by_size(&self, capacity: u64, older: u64) -> f64 {
        let (capacity, older) = (capacity as f64, older as f64);
        self.budget() * capacity / (2.0 * capacity + 6.0 * older)
    }

    /// The target rate of layer `index`, which is the newest, in a filter that was not compacted.
    pub(crate) fn layer_error(&self, index: u32) -> f64 {
        self.spec().layer_error(index, self.older_rates)
    }

    /// The rate that layer `index`, the newest, may have when the filter is compacted for the first
    /// time.
    ///
    /// That of a scaling filter is four times its target rate, but at most half of the error
    /// budget. A compaction usually follows the load: this makes a 1 % filter 5 % smaller on
    /// average. The 15th layer leaves 11/15 of the budget instead of 14/15, so that further layers
    /// take half a bit more per item.
    pub(crate) fn compacted_error(&self, index: u32) -> f64 {
        let error = self.layer_error(index);
        if self.scales() { (error * 4.0).min(self.budget() / 2.0) } else { error }
    }

    /// The fewest items that a further compaction leaves room for, beside older layers of the
    /// capacity `older`.
    pub(crate) fn least_room(older: u64) -> u64 {
        older / LEAST_SHARE
    }

    /// True if the newest layer may have this rate: the sum of all rates is at most the target
    /// rate.
    pub(crate) fn allows(&self, newest_rate: f64) -> bool {
        self.older_rates + newest_rate <= self.error_rate
    }

    /// Where the bits begin: bytes that the filter had before it was compacted.
    pub(crate) fn first_byte(&self) -> u64 {
        u64::from(self.origin) * ORIGIN_UNIT
    }

    /// The same filter with bits that begin behind `bytes` bytes at the present origin; `None` if
    /// there is no such origin.
    pub(crate) fn moved(self, bytes: u64) -> Option<Self> {
        self.with_first_byte(self.first_byte().checked_add(bytes)?.next_multiple_of(ORIGIN_UNIT))
    }

    /// The same filter with bits that begin at this byte, a multiple of [`ORIGIN_UNIT`].
    pub(crate) fn with_first_byte(self, byte: u64) -> Option<Self> {
        let origin = u32::try_from(byte / ORIGIN_UNIT).ok()?;
        byte.is_multiple_of(ORIGIN_UNIT).then_some(Self { origin, ..self })
    }

    /// The same filter as `other` has grown to, with its own origin.
    pub(crate) fn grown_as(self, other: &Self) -> Self {
        Self { origin: self.origin, ..*other }
    }
}

/// The rate of a layer that holds as many items as its capacity.
///
/// The result of a thread's last call is cached: when memory is short, a call computes the next
/// layer of one filter for each of its items.
fn rate_when_full(layer: &BlockedPlan) -> f64 {
    thread_local! {
        static LAST: Cell<Option<(BlockedPlan, f64)>> = const { Cell::new(None) };
    }
    if let Some((last, rate)) = LAST.get()
        && last == *layer
    {
        return rate;
    }
    let rate = layer.fp_rate(layer.capacity());
    LAST.set(Some((*layer, rate)));
    rate
}

impl Spec {
    /// The layers that a filter with this spec gets one after the other, not built. The last item
    /// of the iterator is the error that ends the growth.
    ///
    /// ```
    /// use bloomline_core::host::{Growth, Spec};
    ///
    /// let spec = Spec { capacity: 100, error_rate: 0.01, growth: Growth::Scaling { expansion: 2 } };
    /// let layers: Vec<_> = spec.layers().flatten().take(3).map(|layer| layer.capacity()).collect();
    /// assert_eq!(layers, [100, 200, 400]);
    /// ```
    pub fn layers(self) -> impl Iterator<Item = Result<BlockedPlan, Error>> {
        // Sizes do not depend on the seed.
        Self::layers_from(BlockedParams::new(self, 0))
    }

    /// The layers of a part of a windowed filter with this spec: of a generation, the regular one
    /// or the overflow layers.
    pub fn layers_of_part(self) -> impl Iterator<Item = Result<BlockedPlan, Error>> {
        Self::layers_from(BlockedParams::first(self, 0))
    }

    fn layers_from(
        first: Result<(BlockedParams, BlockedPlan), Error>,
    ) -> impl Iterator<Item = Result<BlockedPlan, Error>> {
        let mut next = Some(first);
        let (mut index, mut capacity) = (0, 0u64);
        iter::from_fn(move || {
            let layer = next.take()?;
            if let Ok((params, plan)) = &layer {
                capacity = capacity.saturating_add(plan.capacity());
                next = Some(params.successor(plan, index, capacity));
                index += 1;
            }
            Some(layer.map(|(_, plan)| plan))
        })
    }

    /// The newest layer after `items` items, before and after
    /// [`compact`](crate::host::Filter::compact); equal if compacting would save less than 1/16 of
    /// it. `None` for more items than the filter can hold.
    ///
    /// ```
    /// use bloomline_core::host::{Growth, Spec};
    ///
    /// let growth = Growth::Scaling { expansion: 2 };
    /// let spec = Spec { capacity: 1_000_000, error_rate: 0.01, growth };
    /// let (before, after) = spec.compacted(100_000).unwrap();
    /// assert!(after.bytes() < before.bytes() / 6);
    /// ```
    pub fn compacted(self, items: u64) -> Option<(BlockedPlan, BlockedPlan)> {
        let (mut params, mut plan) = BlockedParams::new(self, 0).ok()?;
        let (mut index, mut len) = (0, items);
        while len > plan.capacity() {
            len -= plan.capacity();
            // The filter was not compacted yet, so the capacity of the older layers has no effect.
            (params, plan) = params.successor(&plan, index, 0).ok()?;
            index += 1;
        }
        let after = plan.compacted(params.compacted_error(index), len, len, len);
        Some((plan, after.unwrap_or(plan)))
    }

    /// The target rate of layer `index`, counted from 0. `older_rates` is the sum of the computed
    /// rates of the layers before it.
    ///
    /// A scaling filter gives each layer `1 / (index + 2)` of its error budget: the target rate of
    /// the filter less `older_rates`. If every layer reached its own target rate, that of layer `i`
    /// would be `1 / ((i + 1) (i + 2))` of the whole. These shares add up to 1. Their ratio is not
    /// constant, unlike in the tightening series of Almeida et al. (2007). Layers have a whole
    /// number of blocks, so their computed rates are lower, and later layers get the difference.
    pub(crate) fn layer_error(&self, index: u32, older_rates: f64) -> f64 {
        match self.growth {
            Growth::Scaling { .. } => (self.error_rate - older_rates) / f64::from(index + 2),
            Growth::Fixed => self.error_rate,
        }
    }
}
