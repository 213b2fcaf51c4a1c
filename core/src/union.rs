//! Merging: the union of filters with equal parameters and seed.
//!
//! The OR of the bits of two such layers is the layer to which all items of both were added. So
//! layers are joined pairwise, oldest first. The number of items of the result is estimated by its
//! fill, because the same item may be in several of the filters.

use std::iter;

use crate::error::{Error, Parameter};
use crate::layer::Layer;
use crate::scalable::{SAMPLE_PAGES, ScalableFilter, request, try_push};
use crate::spec::Permit;

/// A union that was checked, with the memory that it needs.
pub(crate) struct Plan<L: Layer> {
    /// The number of items in each layer of the result, oldest first.
    lens: Vec<u64>,
    /// Copies of the layers that only others have, oldest first.
    copies: Vec<L>,
    /// What the layers have in common if there are copies.
    common: Option<L::Common>,
    /// Empty, with room for the table of the older layers if there are copies.
    table: Vec<L>,
}

impl<L: Layer> Plan<L> {
    /// The number of items in all layers of the result.
    pub(crate) fn len(&self) -> u64 {
        self.lens.iter().copied().fold(0, u64::saturating_add)
    }
}

impl<L: Layer> ScalableFilter<L> {
    /// Joins this filter with others of equal parameters, whose `target` is the target rate. True
    /// if a bit changed; otherwise nothing has changed.
    ///
    /// The newest layer of the result may hold more items than its capacity if the rates of all
    /// layers together stay within the target rate. It is full then.
    ///
    /// Cost: one pass over the bits of all filters.
    ///
    /// # Errors
    ///
    /// [`Error::Differs`], [`Error::RateExceeded`], [`Error::LayerFull`], [`Error::Refused`] by
    /// `permit`, [`Error::OutOfMemory`]. Nothing has changed then.
    pub(crate) fn join(
        &mut self,
        others: &[&Self],
        target: f64,
        permit: Permit,
    ) -> Result<bool, Error> {
        let plan = self.plan_join(others, target, permit)?;
        Ok(self.join_as(others, plan))
    }

    /// Checks a union, and allocates the memory for it.
    ///
    /// # Errors
    ///
    /// Those of [`ScalableFilter::join`].
    pub(crate) fn plan_join(
        &self,
        others: &[&Self],
        target: f64,
        permit: Permit,
    ) -> Result<Plan<L>, Error> {
        let lens = self.joined_lens(others, target)?;
        let (own, count) = (self.layer_count(), lens.len());
        let (mut copies, mut table) = (Vec::new(), Vec::new());
        let mut longest = others.iter().filter(|other| other.layer_count() > own);
        let longest = longest.find(|other| other.layer_count() as usize == count);
        if let Some(longest) = longest {
            // The layers that are copied follow from the capacities of those before them.
            for ((layer, other), index) in self.layers().zip(longest.layers()).zip(0..) {
                if layer.capacity() != other.capacity() {
                    return Err(Error::Differs(Parameter::Layer(index)));
                }
            }
            let new = || longest.layers().skip(own as usize);
            let bytes = new().map(|layer| layer.words().bytes());
            request::<L>(permit, bytes, self.bits_bytes(), own)?;
            let no_memory = |_| Error::OutOfMemory((size_of::<L>() * count) as u64);
            table.try_reserve_exact(count - 1).map_err(no_memory)?;
            for layer in new() {
                try_push(&mut copies, layer.try_clone()?)?;
            }
        }
        let common = longest.map(|longest| L::grown_as(&self.common, &longest.common));
        Ok(Plan { lens, copies, common, table })
    }

    /// Joins this filter with others as planned. True if a bit changed.
    pub(crate) fn join_as(&mut self, others: &[&Self], plan: Plan<L>) -> bool {
        let Plan { lens, mut copies, common, mut table } = plan;
        let mut is_changed = false;
        if let (Some(newest), Some(common)) = (copies.pop(), common) {
            let mut last = std::mem::replace(&mut self.newest, newest);
            if let Some(&len) = lens.get(self.older.len()) {
                last.retire(len);
            }
            table.extend(std::mem::take(&mut self.older));
            table.push(last);
            table.extend(copies);
            self.older = table.into_boxed_slice();
            self.common = common;
            is_changed = true;
        }
        for other in others {
            for (layer, source) in self.layers_mut().zip(other.layers()) {
                is_changed |= layer.words_mut().union(source.words());
            }
        }
        if let (true, Some(&newest)) = (is_changed, lens.last()) {
            self.newest_len = newest;
            self.newest.fill_up(newest);
        }
        is_changed
    }

    /// The number of items in each layer of the result, oldest first.
    fn joined_lens(&self, others: &[&Self], target: f64) -> Result<Vec<u64>, Error> {
        let all = iter::once(self).chain(others.iter().copied());
        let count = all.clone().map(Self::layer_count).max().unwrap_or(1);
        let (mut lens, mut rates, mut full) = (Vec::new(), 0.0, None);
        let mut is_over = false;
        for index in 0..count {
            let layers = all.clone().filter_map(|filter| filter.layer(index));
            let Some((first, _)) = layers.clone().next() else { break };
            for (layer, _) in layers.clone() {
                if let Some(parameter) = first.differs(layer, index) {
                    return Err(Error::Differs(parameter));
                }
            }
            let (len, capacity) = (joined_len(layers), first.capacity());
            rates += first.fp_rate(len);
            if len > capacity {
                is_over = true;
                if index + 1 < count && full.is_none() {
                    full = Some(Error::LayerFull { layer: index, items: len, capacity });
                }
            }
            try_push(&mut lens, len)?;
        }
        if is_over && rates > target {
            return Err(Error::RateExceeded { rate: rates, target });
        }
        full.map_or(Ok(lens), Err)
    }

    /// A layer, and the number of items in it.
    fn layer(&self, index: u32) -> Option<(&L, u64)> {
        match self.older.get(index as usize) {
            Some(layer) => Some((layer, layer.len_when_older())),
            None if index as usize == self.older.len() => Some((&self.newest, self.newest_len)),
            None => None,
        }
    }
}

/// The number of items in the union of layers, at least one, which are given with their numbers of
/// items.
///
/// The count of the fullest layer is exact, so only what the others add to it is estimated: at
/// least nothing, at most all their items.
pub(crate) fn joined_len<'a, L: Layer + 'a>(
    layers: impl Iterator<Item = (&'a L, u64)> + Clone,
) -> u64 {
    let lens = layers.clone().map(|(_, len)| len);
    let most = lens.clone().fold(0, u64::saturating_add);
    let Some((fullest, len)) = layers.clone().max_by_key(|&(_, len)| len) else { return 0 };
    if len == most {
        return len;
    }
    let of_fullest = fullest.by_fill(SAMPLE_PAGES);
    let of_union = L::estimate(layers.map(|(layer, _)| layer), SAMPLE_PAGES);
    let added = (of_union.inserted - of_fullest.inserted).max(0.0);
    len.saturating_add(added.round() as u64).min(most)
}
