//! Compacting: the newest layer of a filter gets the size that its items need.
//!
//! Older layers are full, so only the newest one can have more bits than its items need: half of
//! them on average, if the filter has grown by doubling, and more if it was reserved too large.
//!
//! A compaction ends the newest layer early, so a filter that goes on growing gets one layer more.
//! After the first compaction, three rules keep any number of further ones from ending growth, and
//! from leaving many layers:
//!
//! * The newest layer keeps room in proportion to the older ones, so the number of layers grows
//!   with the logarithm of the number of items.
//! * In the Bloomline layout, a layer is sized by what the filter was created for and by what it
//!   holds, and not by a small layer before it.
//! * Nothing is folded if the filter could grow less far then than by additions alone.

mod bloomline;
mod redisbloom;

use crate::bloom::layer::{Layer, LayerShape, Plan};
use crate::bloom::scalable::{SAMPLE_PAGES, ScalableFilter};
use crate::error::Error;

/// The newest layer of a filter that is compacted.
#[derive(Clone, Copy, Debug)]
pub struct Newest {
    /// Items in the layer as the filter counts them.
    len: u64,
    /// Items in the layer by its count or its fill, whichever is more.
    items: u64,
    /// The capacity of the older layers together.
    older: u64,
    /// True if an older layer was folded.
    is_further: bool,
    /// Bytes of the bits of all layers.
    filter_bytes: u64,
}

/// A shape of layers that can become smaller.
pub trait CompactShape: LayerShape {
    fn is_folded(&self) -> bool;

    /// The first layer of the filter as it was created, and what the layers had in common. `None`
    /// if that is not known: then growth is compared with that of the filter before the compaction.
    fn created(params: &Self::Params) -> Option<(Self::Params, Plan<Self>)>;

    /// What the newest layer, layer `index`, becomes by a compaction, and what the layers then have
    /// in common. `None` if that saves too little.
    fn folded(
        layer: &Layer<Self>,
        params: &Self::Params,
        index: u32,
        newest: &Newest,
    ) -> Option<(Self::Params, Plan<Self>)>;

    /// Folds the bits to what [`CompactShape::folded`] has returned.
    fn fold(layer: &mut Layer<Self>, plan: &Plan<Self>);
}

impl<S: CompactShape> ScalableFilter<S> {
    /// Gives back the memory that the items do not need, and returns the number of bytes: 0 if, and
    /// only if, nothing has changed.
    ///
    /// The newest layer becomes as small as its items allow. Its false-positive rate rises, and
    /// that of the filter stays within the target rate. No item is lost. The layer is full then, or
    /// nearly so, and the filter goes on growing. If an older layer was folded before, the newest
    /// one keeps room for a part of what the older ones hold: a quarter, or as much in RedisBloom's
    /// layout. Layers of one page cannot become smaller, and nothing is done if the filter could
    /// grow less far then than by additions alone, up to 2^33 items.
    ///
    /// Cost: one pass over the newest layer. It takes no memory, or an eighth of the old at most.
    pub fn compact(&mut self) -> u64 {
        let index = self.layer_count() - 1;
        let newest = Newest {
            len: self.newest_len(),
            items: items_in(&self.newest, self.newest_len()),
            older: self.older.iter().map(Layer::capacity).fold(0, u64::saturating_add),
            is_further: self.older.iter().any(|layer| layer.shape.is_folded()),
            filter_bytes: self.bits_bytes(),
        };
        let Some((params, plan)) = S::folded(&self.newest, &self.params, index, &newest) else {
            return 0;
        };
        let alone = || match S::created(&self.params) {
            Some((params, plan)) => reach::<S>(params, plan, 0, 0),
            None => {
                let present = self.newest.plan_with(newest.len);
                reach::<S>(self.params, present, index, newest.older)
            }
        };
        // Growth by equal layers takes thousands of steps, so it is compared only where it decides.
        let reached = reach::<S>(params, plan, index, newest.older);
        if reached == MOST_REACH || reached >= alone() {
            S::fold(&mut self.newest, &plan);
            self.params = params;
        }
        newest.filter_bytes - self.bits_bytes()
    }
}

/// Items up to which the growth of a filter is compared.
const MOST_REACH: u64 = 1 << 33;

/// The number of items, up to [`MOST_REACH`], that a filter can grow to whose newest layer is
/// `plan` and has the index `index`. The older layers have the capacity `older` together. 0 if it
/// does not grow.
///
/// Cost: up to some microseconds per layer.
fn reach<S: LayerShape>(
    mut params: S::Params,
    mut plan: Plan<S>,
    mut index: u32,
    older: u64,
) -> u64 {
    let mut capacity = older.saturating_add(plan.capacity());
    while capacity < MOST_REACH {
        match S::successor(&params, &plan, index, capacity) {
            Ok(next) => (params, plan) = next,
            Err(Error::Full(_)) => return 0,
            Err(_) => return capacity.min(MOST_REACH),
        }
        capacity = capacity.saturating_add(plan.capacity());
        index += 1;
    }
    MOST_REACH
}

/// The number of items in a layer that counts `len` items: larger than `len` if the fill shows it
/// by four standard errors, for example after a dump during writes.
fn items_in<S: LayerShape>(layer: &Layer<S>, len: u64) -> u64 {
    /// Standard errors by which an estimate must exceed the count.
    const SIGNIFICANT: f64 = 4.0;
    let estimate = layer.by_fill(SAMPLE_PAGES);
    let least = estimate.inserted - SIGNIFICANT * estimate.attempted.standard_error();
    if least > len as f64 { estimate.inserted as u64 } else { len }
}
