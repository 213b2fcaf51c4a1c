//! One item in the layers of a filter, and a group in all of them.

use std::borrow::Borrow;

use super::group::Group;
use super::mask::Mask;
use crate::error::Error;
use crate::layer::{Layer, Part, Probe};
use crate::scalable::ScalableFilter;
use crate::simd::Backend;
use crate::spec::Permit;

/// True if a layer contains the item.
#[inline(always)]
pub fn contains_spot<L: Probe, B: Backend>(layer: &L, backend: B, spot: &L::Spot) -> bool {
    layer.test_first(backend, spot, None) && layer.test_rest(backend, spot)
}

/// Which of some items of a group any of the layers contains. The first parts in the first layer
/// are prefetched already.
///
/// Layer by layer: what is known of a layer stays in registers, and what is known of the items in
/// the nearest cache. The first parts in a layer are prefetched while the layer before it is
/// tested; the blocks of all layers would not fit that cache.
#[inline(always)]
pub(super) fn test_layers<L: Probe, B: Backend, P>(
    backend: B,
    group: &Group<L, B>,
    mut layers: impl Iterator<Item: Borrow<P>>,
    items: Mask,
) -> Mask
where
    P: Probe<Hash = L::Hash, Prepared<B> = L::Prepared<B>>,
{
    let mut missing = items;
    let mut next = layers.next();
    while let Some(layer) = next {
        next = layers.next();
        if let Some(next) = &next {
            group.prefetch(next.borrow(), missing, Part::First);
        }
        missing = missing.without(group.test(backend, layer.borrow(), missing));
        if missing.is_empty() {
            break;
        }
    }
    items.without(missing)
}

impl<L: Layer> ScalableFilter<L> {
    /// True if a layer contains the item. The newest is tested first: it is the largest, and
    /// holds the most recent items.
    #[inline(always)]
    pub(super) fn contains_hash<B: Backend>(&self, backend: B, hash: &L::Hash) -> bool {
        let spot = self.newest.locate(hash);
        contains_spot(&self.newest, backend, &spot) || self.older_contain(backend, hash)
    }

    #[inline(always)]
    fn older_contain<B: Backend>(&self, backend: B, hash: &L::Hash) -> bool {
        for layer in self.older.iter().rev() {
            if contains_spot(layer, backend, &layer.locate(hash)) {
                return true;
            }
        }
        false
    }

    /// Which items of a group any layer contains.
    #[inline(always)]
    pub(super) fn test_group<B: Backend>(&self, backend: B, group: &Group<L, B>) -> Mask {
        test_layers::<L, B, L>(backend, group, self.layers().rev(), group.all())
    }

    /// Inserts an item that lies at `spot` of the newest layer.
    #[inline(always)]
    pub(super) fn insert_spot<B: Backend>(
        &mut self,
        backend: B,
        spot: L::Spot,
        permit: Permit,
    ) -> Result<bool, Error> {
        let is_found = contains_spot(&self.newest, backend, &spot)
            || self.older_contain(backend, &spot.into());
        if is_found { Ok(false) } else { self.push(backend, spot, permit) }
    }

    /// Inserts an item that no older layer contains.
    #[inline(always)]
    pub(super) fn insert_in_newest<B: Backend>(
        &mut self,
        backend: B,
        hash: &L::Hash,
        permit: Permit,
    ) -> Result<bool, Error> {
        let spot = self.newest.locate(hash);
        let is_found = contains_spot(&self.newest, backend, &spot);
        if is_found { Ok(false) } else { self.push(backend, spot, permit) }
    }

    /// Inserts an item that no layer contains, and that lies at `spot` of the newest.
    #[inline(always)]
    pub(super) fn push<B: Backend>(
        &mut self,
        backend: B,
        mut spot: L::Spot,
        permit: Permit,
    ) -> Result<bool, Error> {
        if self.room() == 0 {
            self.grow(permit)?;
            spot = self.newest.locate(&spot.into());
        }
        self.newest.set(backend, &spot);
        self.newest_len += 1;
        Ok(true)
    }
}
