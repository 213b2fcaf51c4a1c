//! The scalable filter: layers of one layout that together are one filter.

use std::fmt;
use std::iter;
use std::ptr::NonNull;
use std::slice;

use crate::bloom::layer::{Layer, LayerShape, Plan};
use crate::chunk::Bits;
use crate::error::{Error, HeaderError};
use crate::math::estimate::{Estimate, LayerEstimate};
use crate::memory::lists::{no_room_for_one_more, try_collect};
use crate::memory::words::{Mover, WordsRef, relocate_slice};
use crate::permit::{self, Permit};

/// A list of layers. New items are inserted into the newest one; the older ones are full.
///
/// An item is hashed once for all layers.
pub struct ScalableFilter<S: LayerShape> {
    pub(crate) params: S::Params,
    pub(crate) newest_len: u64,
    pub(crate) newest: Layer<S>,
    /// Oldest first.
    pub(crate) older: Box<[Layer<S>]>,
}

impl<S: LayerShape> fmt::Debug for ScalableFilter<S> {
    /// Writes the numbers of the filter, not its bits.
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.debug_struct("ScalableFilter")
            .field("layout", &S::LAYOUT)
            .field("items", &self.len())
            .field("capacity", &self.capacity())
            .field("layers", &self.layer_count())
            .field("bytes", &self.size_bytes())
            .finish()
    }
}

/// What was added to a filter since an earlier state; see [`ScalableFilter::added_since`].
///
/// Items and capacity are modulo 2^64, so that a sum of changes is the change of the sum in forged
/// filters too, whose numbers exceed 2^64 together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Increase {
    /// Number of inserted items.
    pub items: u64,
    /// Number of new layers.
    pub layers: u32,
    /// Items that the new layers are sized for.
    pub capacity: u64,
    /// Growth of [`ScalableFilter::size_bytes`], in bytes.
    pub bytes: u64,
}

/// Everything about a filter but its bits.
pub(crate) struct Description<S: LayerShape> {
    /// What the layers have in common.
    pub params: S::Params,
    /// The layers, oldest first; at least one.
    pub plans: Vec<Plan<S>>,
    /// Items in the newest layer.
    pub newest_len: u64,
}

impl<S: LayerShape> Description<S> {
    /// The filter, with all bits zero.
    pub(crate) fn build(&self, permit: Permit) -> Result<ScalableFilter<S>, Error> {
        ScalableFilter::with_plans(self.params, &self.plans, self.newest_len, permit)
    }

    /// True if this describes the filter.
    pub(crate) fn is_of(&self, filter: &ScalableFilter<S>) -> bool {
        let plans = filter.layers_with_len().map(|(layer, len)| layer.plan_with(len));
        self.newest_len == filter.newest_len && plans.eq(self.plans.iter().copied())
    }
}

impl<S: LayerShape> ScalableFilter<S> {
    /// An empty filter of one layer.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] by `permit`, [`Error::OutOfMemory`].
    pub fn with_plan(params: S::Params, plan: &Plan<S>, permit: Permit) -> Result<Self, Error> {
        Self::with_plans(params, slice::from_ref(plan), 0, permit)
    }

    /// An empty filter of these layers, oldest first; at least one.
    ///
    /// `permit` gets one demand for all layers together, before any bits are allocated.
    pub(crate) fn with_plans(
        params: S::Params,
        plans: &[Plan<S>],
        newest_len: u64,
        permit: Permit,
    ) -> Result<Self, Error> {
        let (newest, full) = plans.split_last().ok_or(HeaderError::Layers(0))?;
        let layers = plans.len() as u32;
        let size = |bits| limited::<S>(S::size_bytes(bits, layers), layers);
        permit::request(permit, S::LAYOUT, plans.iter().map(Plan::bytes), size)?;
        let older = try_collect(full.len(), full.iter().map(Layer::build))?;
        Ok(Self { params, newest_len, newest: Layer::build(newest)?, older })
    }

    /// A filter of these layers, oldest first; `None` for an empty list.
    pub(crate) fn from_members(params: S::Params, mut layers: Vec<Layer<S>>) -> Option<Self> {
        let newest = layers.pop()?;
        Some(Self {
            params,
            newest_len: newest.len_when_older(),
            newest,
            older: layers.into_boxed_slice(),
        })
    }

    /// A filter equal to this one. Cost: see
    /// [`Words::try_clone`](crate::memory::words::Words::try_clone).
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] by `permit`, [`Error::OutOfMemory`].
    pub fn try_clone(&self, permit: Permit) -> Result<Self, Error> {
        let bytes = self.layers().map(Layer::bytes);
        let size = |_| limited::<S>(self.size_bytes(), self.layer_count());
        permit::request(permit, S::LAYOUT, bytes, size)?;
        let older = try_collect(self.older.len(), self.older.iter().map(Layer::try_clone))?;
        Ok(Self { newest: self.newest.try_clone()?, older, ..*self })
    }

    /// The starts of the filter's allocations: the bits of each layer, oldest first, then the table
    /// of the older layers if there is one.
    pub fn allocations(&self) -> impl Iterator<Item = NonNull<u8>> {
        let table = (!self.older.is_empty()).then_some(NonNull::from(&*self.older).cast());
        self.layers().map(|layer| layer.words().allocation().start).chain(table)
    }

    /// Lets `mover` move the filter's allocations: the bits of the layers from index `from` on,
    /// oldest first, then the table of the older layers.
    ///
    /// `should_stop` is called before each layer. Returns the index of the layer to continue with,
    /// or `None` after the last one.
    pub fn relocate(
        &mut self,
        from: usize,
        mover: &mut Mover,
        should_stop: impl FnMut() -> bool,
    ) -> Option<usize> {
        let next = relocate_layers(self.layers_mut(), from, mover, should_stop);
        if next.is_some() {
            return next;
        }
        relocate_slice(&mut self.older, mover);
        None
    }

    /// What the layers have in common.
    #[inline(always)]
    pub fn params(&self) -> &S::Params {
        &self.params
    }

    /// Items that were new when they were inserted. Cost: one step per layer.
    pub fn len(&self) -> u64 {
        self.older.iter().map(Layer::len_when_older).fold(self.newest_len, u64::saturating_add)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Items in the newest layer.
    #[inline]
    pub fn newest_len(&self) -> u64 {
        self.newest_len
    }

    /// Items that all layers are sized for. Cost: one step per layer.
    pub fn capacity(&self) -> u64 {
        self.layers().map(Layer::capacity).fold(0, u64::saturating_add)
    }

    /// New items that can be inserted before the newest layer is full.
    #[inline]
    pub fn room(&self) -> u64 {
        self.newest.capacity().saturating_sub(self.newest_len)
    }

    /// Number of layers, 1 to [`MAX_LAYERS`](crate::spec::MAX_LAYERS).
    pub fn layer_count(&self) -> u32 {
        self.older.len() as u32 + 1
    }

    pub fn layers(&self) -> impl DoubleEndedIterator<Item = &Layer<S>> {
        self.older.iter().chain(iter::once(&self.newest))
    }

    /// The layers, oldest first, to be written.
    pub fn layers_mut(&mut self) -> impl Iterator<Item = &mut Layer<S>> {
        self.older.iter_mut().chain(iter::once(&mut self.newest))
    }

    /// The layers and the number of items in each, oldest first. The sum of these numbers is
    /// [`ScalableFilter::len`].
    ///
    /// Only forged layers can hold more than 2^64 - 1 items together. Then the numbers of the
    /// oldest layers are reduced until the sum fits, so that a saved header can be loaded again.
    /// The number of the newest layer is never reduced, because it decides when the filter grows.
    pub fn layers_with_len(&self) -> impl Iterator<Item = (&Layer<S>, u64)> {
        let older = || self.older.iter().map(|layer| (layer, layer.len_when_older()));
        let sum =
            older().map(|(_, len)| u128::from(len)).sum::<u128>() + u128::from(self.newest_len);
        let mut excess = sum.saturating_sub(u64::MAX.into());
        let countable = older().map(move |(layer, len)| {
            let left = u128::from(len).saturating_sub(excess);
            excess -= u128::from(len) - left;
            (layer, left as u64)
        });
        countable.chain(iter::once((&self.newest, self.newest_len)))
    }

    /// The layers, oldest first, and how many pages of each are counted for its fill.
    ///
    /// The bits are counted in 4,096 pages, which are divided among the layers by size, at least
    /// one page per layer. So the fill is exact up to 16 MiB. Above that it costs a few
    /// milliseconds, whatever the size and the number of layers. The loads of the pages of a layer
    /// differ by some 4 %, so the standard error of the fill of a layer with `n` counted pages is
    /// about 0.02 / sqrt(n).
    pub fn samples(&self) -> impl Iterator<Item = (&Layer<S>, usize)> {
        let all = self.bits_bytes();
        self.layers().map(move |layer| (layer, sample_of(layer.bytes(), all)))
    }

    /// The number of distinct items that were added; see
    /// [`AnyFilter::estimate_at`](crate::host::AnyFilter::estimate_at).
    ///
    /// Items that an older layer contains by mistake are not written to a newer one. So the
    /// estimate of a layer is divided by the share of items that were.
    pub fn estimate(&self) -> Estimate {
        let (mut sum, mut written) = (Estimate::default(), 1.0f64);
        for (layer, sample) in self.samples() {
            let LayerEstimate { attempted, rate, .. } = layer.by_fill(sample);
            let share = written.max(0.5);
            let mut all = attempted.scaled(1.0 / share);
            // The number of items that are written varies.
            all.variance += all.items * (1.0 - share) / share;
            sum = sum + all;
            written *= 1.0 - rate;
        }
        sum
    }

    /// Bytes of the filter: its header, its table of layers and its bits. They follow from the
    /// geometry alone, so they are equal on every server.
    pub fn size_bytes(&self) -> u64 {
        S::size_bytes(self.bits_bytes(), self.layer_count())
    }

    /// All items, layers, capacity and bytes.
    pub fn sums(&self) -> Increase {
        self.added_since(0, 0)
    }

    /// What was added since the filter had `layers` layers, and the newest of them had `newest_len`
    /// items. Of 0 layers it is everything.
    ///
    /// Cost: one step per new layer.
    pub fn added_since(&self, layers: u32, newest_len: u64) -> Increase {
        let before = layers as usize;
        let full = self.older.iter().skip(before.saturating_sub(1)).map(Layer::len_when_older);
        let items = full.fold(self.newest_len, u64::wrapping_add);
        let capacity = self.layers().skip(before).map(Layer::capacity).fold(0, u64::wrapping_add);
        let bits = self.layers().skip(before).map(Layer::bytes).sum();
        let bytes_before = if layers == 0 { 0 } else { S::size_bytes(0, layers) };
        Increase {
            items: items.wrapping_sub(newest_len),
            layers: self.layer_count() - layers,
            capacity,
            bytes: S::size_bytes(bits, self.layer_count()) - bytes_before,
        }
    }

    pub(crate) fn bits_bytes(&self) -> u64 {
        self.layers().map(Layer::bytes).sum()
    }

    /// Adds the next layer.
    ///
    /// # Errors
    ///
    /// Those of [`Layer::build`] and of
    /// [`Rules::successor`](crate::bloom::layer::Rules::successor), and [`Error::Refused`] by
    /// `permit`. The filter is unchanged then.
    #[cold]
    pub(crate) fn grow(&mut self, permit: Permit) -> Result<(), Error> {
        let layers = self.layer_count();
        let last = self.newest.plan_with(self.newest_len);
        let (params, next) = S::successor(&self.params, &last, layers - 1, self.capacity())?;
        request::<S>(permit, [next.bytes()], self.bits_bytes(), layers + 1)?;
        let layer = Layer::build(&next)?;

        let mut older = std::mem::take(&mut self.older).into_vec();
        let room = older.try_reserve_exact(1);
        if room.is_ok() {
            let mut full = std::mem::replace(&mut self.newest, layer);
            full.shape.retire(self.newest_len);
            older.push(full);
            self.newest_len = 0;
            self.params = params;
        }
        self.older = older.into_boxed_slice();
        room.map_err(|_| no_room_for_one_more(&self.older))
    }
}

/// Lets `mover` move the bits of layers; see [`ScalableFilter::relocate`].
pub(crate) fn relocate_layers<'a, S: LayerShape + 'a>(
    layers: impl Iterator<Item = &'a mut Layer<S>>,
    from: usize,
    mover: &mut Mover,
    mut should_stop: impl FnMut() -> bool,
) -> Option<usize> {
    for (index, layer) in layers.enumerate().skip(from) {
        if should_stop() {
            return Some(index);
        }
        layer.words_mut().relocate(mover);
    }
    None
}

/// Number of pages in which the bits of a filter are counted.
pub(crate) const SAMPLE_PAGES: usize = 4096;

/// How many pages are counted of a layer whose bits take `bytes` bytes, in a filter whose bits take
/// `all` bytes; see [`ScalableFilter::samples`].
pub(crate) fn sample_of(bytes: u64, all: u64) -> usize {
    (SAMPLE_PAGES as u64 * bytes).div_ceil(all.max(1)) as usize
}

/// Asks `permit` for further layers, whose bits take `new` bytes each. The filter has layers whose
/// bits take `present` bytes together, and `layers` layers in the end.
pub(crate) fn request<S: LayerShape>(
    permit: Permit,
    new: impl IntoIterator<Item = u64>,
    present: u64,
    layers: u32,
) -> Result<(), Error> {
    let size = |bytes| limited::<S>(S::size_bytes(present.saturating_add(bytes), layers), layers);
    permit::request(permit, S::LAYOUT, new, size)
}

/// What limits count of a filter of `bytes` bytes.
fn limited<S: LayerShape>(bytes: u64, layers: u32) -> u64 {
    bytes.saturating_sub(S::unlimited_bytes(layers))
}

impl<S: LayerShape> Bits for ScalableFilter<S> {
    fn first_byte(&self) -> u64 {
        S::first_byte(&self.params)
    }

    fn each_bits(&self) -> impl Iterator<Item = WordsRef<'_>> {
        self.layers().map(|layer| layer.words().view())
    }

    fn each_bits_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        self.layers_mut().map(|layer| layer.words_mut().as_mut_bytes())
    }
}
