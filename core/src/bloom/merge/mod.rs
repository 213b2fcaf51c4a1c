//! Merging: the union of filters with equal parameters and seed.
//!
//! The OR of the bits of two such layers is the layer to which all items of both were added. So
//! layers are merged pairwise, oldest first. The number of items of the result is estimated by its
//! fill, because the same item may be in several of the filters.

mod any;
mod bloomline;
mod redisbloom;

use std::iter;

use crate::bloom::layer::{Layer, LayerShape};
use crate::bloom::scalable::{SAMPLE_PAGES, ScalableFilter, request};
use crate::error::{Error, Parameter};
use crate::math::estimate::LayerEstimate;
use crate::math::frozen;
use crate::memory::lists::try_push;
use crate::memory::pages::PAGE;
use crate::permit::Permit;

/// A shape of layers that can be merged.
pub trait MergeShape: LayerShape {
    /// The first parameter in which two filters differ.
    fn parameter(one: &ScalableFilter<Self>, other: &ScalableFilter<Self>) -> Option<Parameter>;

    /// What two layers differ in, if they cannot be merged. Both have the index `index`.
    fn differs(one: &Layer<Self>, other: &Layer<Self>, index: u32) -> Option<Parameter>;

    /// The newest layer counts as full with `len` items, which may be above its capacity.
    fn fill_up(&mut self, len: u64);

    /// What the layers of a filter have in common after it got the layers of another one.
    fn grown_as(params: &Self::Params, other: &Self::Params) -> Self::Params;
}

impl<S: MergeShape> ScalableFilter<S> {
    /// Merges this filter with others of equal parameters, whose `target` is the target rate. True
    /// if a bit changed; otherwise nothing has changed.
    ///
    /// The newest layer of the result may hold more items than its capacity if the rates of all
    /// layers together stay within the target rate. It is full then.
    ///
    /// Cost: one pass over the bits of all filters, and one step per layer of each.
    ///
    /// # Errors
    ///
    /// [`Error::Differs`], [`Error::RateExceeded`], [`Error::LayerFull`], [`Error::Refused`] by
    /// `permit`, [`Error::OutOfMemory`]. Nothing has changed then.
    pub(crate) fn merge(
        &mut self,
        others: &[&Self],
        target: f64,
        permit: Permit,
    ) -> Result<bool, Error> {
        let (lens, union) = self.merged_lens(others, target)?;
        let count = lens.len() as u32;
        let mut is_changed = false;
        if let Some(longest) = others.iter().find(|other| other.layer_count() == count)
            && count > self.layer_count()
        {
            self.append_layers(longest, &lens, permit)?;
            is_changed = true;
        }
        let mut new_bits = 0;
        for other in others {
            let layers = self.layers_mut().zip(other.layers()).zip(1..);
            for ((layer, source), number) in layers {
                let changed = layer.words_mut().union(source.words());
                is_changed |= changed > 0;
                new_bits += if number == count { changed } else { 0 };
            }
        }
        if let (true, Some(&planned)) = (is_changed, lens.last()) {
            // What was not planned must not make the layer overfull.
            let most = self.newest.capacity().max(planned);
            self.newest_len = union.len_after(new_bits).min(most);
            self.newest.shape.fill_up(self.newest_len);
        }
        Ok(is_changed)
    }

    /// Appends copies of the layers that only `longest` has. The layers of the result hold `lens`
    /// items, oldest first. Nothing has changed after an error.
    fn append_layers(&mut self, longest: &Self, lens: &[u64], permit: Permit) -> Result<(), Error> {
        let (own, count) = (self.layer_count(), longest.layer_count());
        let new = || longest.layers().skip(own as usize);
        let bytes = new().map(Layer::bytes);
        request::<S>(permit, bytes, self.bits_bytes(), count)?;
        let (mut copies, mut table) = (Vec::new(), Vec::new());
        let no_memory = |_| Error::OutOfMemory(size_of::<Layer<S>>() as u64 * u64::from(count));
        table.try_reserve_exact(count as usize - 1).map_err(no_memory)?;
        for layer in new() {
            try_push(&mut copies, layer.try_clone()?)?;
        }
        if let Some(newest) = copies.pop() {
            let mut last = std::mem::replace(&mut self.newest, newest);
            if let Some(&len) = lens.get(self.older.len()) {
                last.shape.retire(len);
            }
            table.extend(std::mem::take(&mut self.older));
            table.push(last);
            table.extend(copies);
            self.older = table.into_boxed_slice();
            self.params = S::grown_as(&self.params, &longest.params);
        }
        Ok(())
    }

    /// The number of items in each layer of the result, oldest first, and how that of the newest
    /// was estimated.
    fn merged_lens(&self, others: &[&Self], target: f64) -> Result<(Vec<u64>, Union), Error> {
        let mut all = Vec::new();
        let no_memory = |_| Error::OutOfMemory(size_of::<&Self>() as u64 * others.len() as u64);
        all.try_reserve_exact(1 + others.len()).map_err(no_memory)?;
        all.extend(iter::once(self).chain(others.iter().copied()));
        let mut newest = Union::of(iter::once((&self.newest, self.newest_len)));
        let count = all.iter().map(|filter| filter.layer_count()).max().unwrap_or(1);
        let (mut lens, mut rates, mut full) = (Vec::new(), 0.0, None);
        let mut is_over = false;
        for index in 0..count {
            // Most sources have few layers, and a filter that they are merged into may have many.
            all.retain(|filter| filter.layer_count() > index);
            let layers = all.iter().filter_map(|filter| filter.layer(index));
            let Some((first, _)) = layers.clone().next() else { break };
            let is_older = index + 1 < count;
            let mut capacity = first.capacity();
            for (layer, _) in layers.clone() {
                if let Some(parameter) = S::differs(first, layer, index) {
                    return Err(Error::Differs(parameter));
                }
                // The size of the next layer follows from the capacity of an older one.
                if is_older && layer.capacity() != capacity {
                    return Err(Error::Differs(Parameter::Layer(index)));
                }
                capacity = capacity.max(layer.capacity());
            }
            newest = Union::of(layers);
            let len = newest.len();
            rates += first.fp_rate(len);
            if len > capacity {
                is_over = true;
                if is_older && full.is_none() {
                    full = Some(Error::LayerFull { layer: index, items: len, capacity });
                }
            }
            try_push(&mut lens, len)?;
        }
        if is_over && rates > target {
            return Err(Error::RateExceeded { rate: rates, target });
        }
        full.map_or(Ok((lens, newest)), Err)
    }

    /// A layer, and the number of items in it.
    fn layer(&self, index: u32) -> Option<(&Layer<S>, u64)> {
        match self.older.get(index as usize) {
            Some(layer) => Some((layer, layer.len_when_older())),
            None if index as usize == self.older.len() => Some((&self.newest, self.newest_len)),
            None => None,
        }
    }
}

/// The number of items in the union of some layers.
///
/// The count of the fullest layer is kept, and only what the others add to it is estimated. The
/// estimate must not be cut at one side only: a filter that is the union of thousands of small ones
/// would count a few per cent too little, and hold more items than its target rate allows.
struct Union {
    /// Items that the fullest layer counts.
    fullest: u64,
    /// Items that the others count together: the most that they can add.
    others: u64,
    /// Items of the fullest layer by its fill.
    by_fill: f64,
    /// Items of the fullest layer that its fill proves: a standard error less, but no more than the
    /// others count. Two halves of a capacity seldom count more than it, and thousands of small
    /// parts do not count less than they have.
    proven: f64,
    /// Items that the others add, by the fills.
    added: f64,
    /// Items per bit that the union changes in the first layer. `None` if the fills are exact, or
    /// if the first layer is not the fullest.
    items_per_bit: Option<f64>,
}

impl Union {
    /// Layers with their numbers of items, at least one. The first of them becomes the union.
    fn of<'a, S: LayerShape + 'a>(
        layers: impl Iterator<Item = (&'a Layer<S>, u64)> + Clone,
    ) -> Self {
        let most = layers.clone().map(|(_, len)| len).fold(0, u64::saturating_add);
        let mut union = Self {
            fullest: most,
            others: 0,
            by_fill: 0.0,
            proven: 0.0,
            added: 0.0,
            items_per_bit: None,
        };
        // Of several that are equally full, the first.
        let fullest = layers
            .clone()
            .enumerate()
            .reduce(|fullest, one| if one.1.1 > fullest.1.1 { one } else { fullest });
        let Some((index, (fullest, len))) = fullest.filter(|(_, (_, len))| *len != most) else {
            return union;
        };
        let of_fullest = fullest.by_fill(SAMPLE_PAGES);
        let of_union = Layer::estimate(layers.map(|(layer, _)| layer), SAMPLE_PAGES);
        (union.fullest, union.others) = (len, most - len);
        union.by_fill = of_fullest.inserted;
        let margin = of_fullest.attempted.standard_error().min(union.others as f64);
        union.proven = of_fullest.inserted - margin;
        union.added = (of_union.inserted - of_fullest.inserted).max(0.0);
        if index == 0 && fullest.bytes() > (SAMPLE_PAGES * PAGE) as u64 {
            union.items_per_bit = items_per_bit(&of_fullest, &of_union);
        }
        union
    }

    /// The number of items, estimated before the union.
    fn len(&self) -> u64 {
        self.len_with(self.added)
    }

    /// The number of items after the union has changed `new_bits` bits of the first layer. It is
    /// more precise than [`Union::len`] for layers of which only some pages are counted.
    fn len_after(&self, new_bits: u64) -> u64 {
        self.len_with(self.items_per_bit.map_or(self.added, |items| items * new_bits as f64))
    }

    /// The number of items if the others add `added` to the fullest layer.
    fn len_with(&self, added: f64) -> u64 {
        // The difference of rounded numbers, so that the fractions of many unions add up.
        let added = (self.by_fill + added).round() - self.by_fill.round();
        // What was cut from earlier estimates, as far as the fill proves it.
        let cut = (self.proven as u64).saturating_sub(self.fullest);
        self.fullest.saturating_add((added as u64).min(self.others.saturating_add(cut)))
    }
}

/// Items per new bit between two states of a layer. The share of bits that are not set falls
/// exponentially with the number of items, so the mean of new bits per item is the logarithmic one.
fn items_per_bit(before: &LayerEstimate, after: &LayerEstimate) -> Option<f64> {
    let (most, least) = (before.new_bits, after.new_bits);
    let ratio = frozen::log(most / least);
    let mean = if ratio > 1e-6 { (most - least) / ratio } else { most };
    let share = 1.0 - f64::midpoint(before.rate, after.rate);
    (least > 0.0).then_some(share / mean)
}
