//! Filters of one small layer, each in one allocation behind a header of four words.
//!
//! The fields of a [`Filter`] take 96 bytes, more than half of what the bits of 100 items take.
//! Most of them are constant here, or small. And those bits take 160 bytes, whether there are 100
//! items or one; the hash of an item takes 8, and its bits follow from it. So a small filter starts
//! as a list of hashes, and gets the bits in its place with the first item for which the list has
//! no room:
//!
//! ```text
//! list | header | hash | hash | ... |               up to 16, at least 32 bytes fewer than the bits
//! bits | header | sector 0 | sector 1 | ... |
//! ```
//!
//! Both forms are the same filter: the list answers as its bits would. An item is in it if its hash
//! is in the list, or if the items of the list have set all of its bits. So neither rates nor
//! counts depend on the form, and a copy of the filter may have the other one.
//!
//! With the first item for which the layer has no room it becomes a [`Filter`] of two layers, and
//! stays one.
//!
//! A windowed filter of small generations is one allocation too: see `ring`.

mod header;
mod list;
pub(crate) mod record;
pub(crate) mod ring;

use std::fmt;
use std::iter;
use std::mem;
use std::ops::ControlFlow;
use std::ptr::NonNull;

pub(crate) use header::SmallHeader;

use crate::bloom::bloomline::geometry::Geometry;
use crate::bloom::bloomline::locate::{Spot, locate};
use crate::bloom::bloomline::{
    BlockedParams, BlockedPlan, BlockedShape, Filter, LayerRef, sectors,
};
use crate::bloom::layer::{Layer, Rules};
use crate::bloom::scalable::{Description, Increase, SAMPLE_PAGES};
use crate::chunk::Bits;
use crate::error::Error;
use crate::hash::xxh3::{ItemHash, item_hash};
use crate::math::estimate::Estimate;
use crate::memory::headed::{HEADER, Headed};
use crate::memory::words::{Mover, Words, WordsRef};
use crate::permit::{self, Permit};
use crate::simd::Scalar;
use crate::spec::Spec;

/// A filter of one small layer, as bits or as the list of the hashes of its few items.
#[repr(transparent)]
pub struct SmallFilter(Headed);

impl fmt::Debug for SmallFilter {
    /// Writes the numbers of the filter, not its bits or hashes.
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.debug_struct("SmallFilter")
            .field("is_listed", &self.is_listed())
            .field("items", &self.len())
            .field("capacity", &self.capacity())
            .field("bytes", &self.size_bytes())
            .finish()
    }
}

/// Bytes of a small filter whose bits take `bits` bytes.
fn size_of_bits(bits: u64) -> u64 {
    HEADER as u64 + bits
}

/// Bytes of a filter of `layers` layers, at least one, whose bits take `bits` bytes. The newest is
/// of this shape.
pub fn planned_bytes(bits: u64, layers: u32, newest: &BlockedShape) -> u64 {
    if layers == 1 && newest.geometry.is_small() {
        size_of_bits(bits)
    } else {
        BlockedShape::size_bytes(bits, layers)
    }
}

/// Asks `permit` for the bits, also if there is a list in their place: it need not be asked again
/// when they take that.
///
/// # Errors
///
/// [`Error::Refused`].
fn request_bits(shape: &BlockedShape, permit: Permit) -> Result<(), Error> {
    permit::request(permit, BlockedShape::LAYOUT, [shape.geometry.bytes()], size_of_bits)
}

impl SmallFilter {
    /// An empty filter of this layer, listed if a list is shorter; none if the layer is not small.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] by `permit`, for the bits; [`Error::OutOfMemory`].
    pub(crate) fn new(
        params: BlockedParams,
        plan: &BlockedPlan,
        permit: Permit,
    ) -> Result<Option<Self>, Error> {
        match Self::with_hashes(params, plan, iter::empty(), permit)? {
            None => Self::with_len(params, plan, 0, permit),
            some => Ok(some),
        }
    }

    /// A filter with this number of items, whose bits are zero; none if the layer is not small.
    ///
    /// # Errors
    ///
    /// As of [`SmallFilter::new`].
    fn with_len(
        params: BlockedParams,
        plan: &BlockedPlan,
        len: u64,
        permit: Permit,
    ) -> Result<Option<Self>, Error> {
        let header = SmallHeader { params, shape: plan.shape, len };
        let Some(words) = header.to_words() else { return Ok(None) };
        request_bits(&plan.shape, permit)?;
        Headed::zeroed(words, plan.shape.geometry.sectors().into()).map(|bits| Some(Self(bits)))
    }

    /// The filter of a description, whose bits are zero; none if it has more than a small layer.
    ///
    /// # Errors
    ///
    /// As of [`SmallFilter::new`].
    pub(crate) fn described(
        description: &Description<BlockedShape>,
        permit: Permit,
    ) -> Result<Option<Self>, Error> {
        match &description.plans[..] {
            [plan] => Self::with_len(description.params, plan, description.newest_len, permit),
            _ => Ok(None),
        }
    }

    /// True if this describes the filter, which is no list.
    pub(crate) fn is_described_by(&self, description: &Description<BlockedShape>) -> bool {
        let SmallHeader { shape, len, .. } = self.header();
        let plan = BlockedPlan::new(shape.capacity, shape.geometry);
        description.newest_len == len && description.plans == [plan]
    }

    /// The filter in one allocation; none if it has more than a small layer.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(crate) fn of(filter: &Filter) -> Result<Option<Self>, Error> {
        let Filter { params, newest_len, newest, .. } = filter;
        if !filter.older.is_empty() {
            return Ok(None);
        }
        let mut small = Self::with_len(*params, &newest.plan(), *newest_len, &mut |_| true)?;
        if let Some(small) = &mut small {
            small.0.words_mut().copy_from_slice(newest.words.as_slice());
        }
        Ok(small)
    }

    /// The same filter, which can grow.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn to_filter(&self) -> Result<Filter, Error> {
        let SmallHeader { params, shape, len } = self.header();
        let mut words = Words::zeroed(shape.geometry.sectors().into())?;
        self.with_bits(|bits| words.as_mut_slice().copy_from_slice(bits));
        let newest = Layer { words, shape, divisor: () };
        Ok(Filter { params, newest_len: len, newest, older: Box::default() })
    }

    /// Gives up the allocation.
    #[inline(always)]
    pub(crate) fn into_headed(self) -> Headed {
        self.0
    }

    #[inline(always)]
    pub(crate) fn header(&self) -> SmallHeader {
        SmallHeader::of(self.0.header())
    }

    #[inline(always)]
    fn geometry(&self) -> Geometry {
        let [.., last] = self.0.header();
        header::geometry(*last)
    }

    /// True if the filter is the list of its items.
    #[inline(always)]
    pub fn is_listed(&self) -> bool {
        header::is_listed(self.0.header())
    }

    pub fn spec(&self) -> Spec {
        self.header().params.spec()
    }

    #[inline(always)]
    pub fn seed(&self) -> u64 {
        let [seed, ..] = self.0.header();
        *seed
    }

    #[inline(always)]
    pub fn len(&self) -> u64 {
        self.header().len
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub fn newest_len(&self) -> u64 {
        self.len()
    }

    pub fn capacity(&self) -> u64 {
        self.header().shape.capacity
    }

    #[inline]
    pub fn room(&self) -> u64 {
        let SmallHeader { shape, len, .. } = self.header();
        shape.capacity.saturating_sub(len)
    }

    /// The target rate of the layer.
    pub fn layer_error(&self) -> f64 {
        self.header().params.layer_error(0)
    }

    /// The number of layers.
    pub fn layer_count(&self) -> u32 {
        1
    }

    /// Bytes of the filter: its header, and its list or its bits. They follow from the number of
    /// items.
    pub fn size_bytes(&self) -> u64 {
        self.0.bytes() as u64
    }

    pub fn sums(&self) -> Increase {
        self.added_since(0, 0)
    }

    /// See [`Filter::added_since`]; the filter has no layer that it could have grown from.
    pub fn added_since(&self, layers: u32, newest_len: u64) -> Increase {
        let SmallHeader { shape, len, .. } = self.header();
        let is_all = layers == 0;
        Increase {
            items: len.wrapping_sub(newest_len),
            layers: is_all.into(),
            capacity: if is_all { shape.capacity } else { 0 },
            bytes: if is_all { self.size_bytes() } else { 0 },
        }
    }

    pub fn estimate(&self) -> Estimate {
        self.with_layer(|layer| layer.by_fill(SAMPLE_PAGES).attempted)
    }

    pub fn try_clone(&self, permit: Permit) -> Result<Self, Error> {
        request_bits(&self.header().shape, permit)?;
        self.0.try_clone().map(Self)
    }

    /// The only allocation.
    pub fn allocations(&self) -> impl Iterator<Item = NonNull<u8>> {
        iter::once(self.0.start())
    }

    pub fn relocate(
        &mut self,
        from: usize,
        mover: &mut Mover,
        mut should_stop: impl FnMut() -> bool,
    ) -> Option<usize> {
        if from == 0 {
            if should_stop() {
                return Some(0);
            }
            self.0.relocate(mover);
        }
        None
    }

    /// Calls `see` with the layer.
    pub fn with_layer<T>(&self, see: impl FnOnce(LayerRef) -> T) -> T {
        let shape = self.header().shape;
        self.with_bits(|bits| see(Layer { words: WordsRef::new(bits), shape, divisor: () }))
    }

    /// True if the item may have been inserted.
    pub fn contains(&self, item: &[u8]) -> bool {
        let hash = item_hash(item, self.seed());
        if self.is_listed() { self.list_contains(&hash) } else { self.bits_contain(&hash) }
    }

    /// Answers for each item in turn whether it may have been inserted.
    pub fn contains_batch(
        &self,
        items: impl Iterator<Item: AsRef<[u8]>>,
        mut answer: impl FnMut(bool),
    ) {
        let seed = self.seed();
        if self.is_listed() && self.is_searched_for(items.size_hint().1) {
            items.for_each(|item| answer(self.list_contains(&item_hash(item.as_ref(), seed))));
            return;
        }
        self.with_layer(|layer| {
            items.for_each(|item| {
                answer(layer.contains_hash(Scalar, &item_hash(item.as_ref(), seed)));
            });
        });
    }

    /// Overwrites bits, like [`Bits::write_chunk`]. The bits take the place of a list if that
    /// changes them.
    ///
    /// # Errors
    ///
    /// [`Error::Chunk`], [`Error::OutOfMemory`].
    pub fn write_bits(&mut self, offset: u64, chunk: &[u8]) -> Result<bool, Error> {
        if !self.is_listed() {
            return self.write_chunk(offset, chunk);
        }
        let mut bits = self.to_bits()?;
        let is_changed = bits.write_chunk(offset, chunk)?;
        if is_changed {
            *self = bits;
        }
        Ok(is_changed)
    }

    #[inline(always)]
    fn bits_contain(&self, hash: &ItemHash) -> bool {
        let geometry = self.geometry();
        sectors::test(self.0.words(), &spot(hash, &geometry), geometry.bits_per_block())
    }

    /// Inserts an item; true if it was new. None if the layer has no room for it: it is new, and
    /// not inserted.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]. The item is not inserted then.
    pub fn insert(&mut self, item: &[u8]) -> Result<Option<bool>, Error> {
        let hash = item_hash(item, self.seed());
        if self.is_listed() {
            if self.list_contains(&hash) {
                return Ok(Some(false));
            }
            if self.push(&hash)? {
                return Ok(Some(true));
            }
            if self.room() == 0 {
                return Ok(None);
            }
            *self = self.to_bits()?;
        }
        Ok(self.set(&hash))
    }

    /// Inserts an item into the bits; the answer is that of [`SmallFilter::insert`].
    #[inline(always)]
    fn set(&mut self, hash: &ItemHash) -> Option<bool> {
        let SmallHeader { shape, len, .. } = self.header();
        let (spot, bits) = (spot(hash, &shape.geometry), shape.geometry.bits_per_block());
        if sectors::test(self.0.words(), &spot, bits) {
            return Some(false);
        }
        if len >= shape.capacity {
            return None;
        }
        sectors::set(self.0.words_mut(), &spot, bits);
        self.count_one_more();
        Some(true)
    }

    #[inline(always)]
    fn count_one_more(&mut self) {
        self.0.set_header(header::with_one_more(*self.0.header()));
    }

    /// Inserts items in turn, and answers for each whether it was new, up to the answer that stops,
    /// or to the first item for which the layer has no room: this one is returned.
    #[inline]
    pub fn insert_batch<T: AsRef<[u8]>>(
        &mut self,
        items: &mut (impl Iterator<Item = T> + Clone),
        mut answer: impl FnMut(Result<bool, Error>) -> ControlFlow<()>,
    ) -> ControlFlow<(), Option<T>> {
        let mut replaced = None;
        if self.is_listed()
            && items.size_hint().0 as u64 > self.listed_room()
            && let Ok(bits) = self.to_bits()
        {
            // In the list each item would set its bits twice.
            replaced = Some((mem::replace(self, bits), items.clone()));
        }
        while self.is_listed() {
            let Some(item) = self.list_batch(items, &mut answer)? else {
                return ControlFlow::Continue(None);
            };
            if self.room() == 0 {
                return ControlFlow::Continue(Some(item));
            }
            let hash = item_hash(item.as_ref(), self.seed());
            let inserted = self.to_bits().map(|bits| {
                *self = bits;
                self.set(&hash) == Some(true)
            });
            answer(inserted)?;
        }
        let flow = self.bits_batch(items, answer);
        if let Some((list, items)) = replaced {
            self.make_listed_again(list, items);
        }
        flow
    }

    /// Inserts items into the bits, like [`SmallFilter::insert_batch`].
    #[inline(always)]
    fn bits_batch<T: AsRef<[u8]>>(
        &mut self,
        items: &mut impl Iterator<Item = T>,
        mut answer: impl FnMut(Result<bool, Error>) -> ControlFlow<()>,
    ) -> ControlFlow<(), Option<T>> {
        let seed = self.seed();
        for item in items {
            match self.set(&item_hash(item.as_ref(), seed)) {
                Some(is_new) => answer(Ok(is_new))?,
                None => return ControlFlow::Continue(Some(item)),
            }
        }
        ControlFlow::Continue(None)
    }
}

/// Where an item lies in a small layer, which has no whole blocks.
#[inline(always)]
fn spot(hash: &ItemHash, geometry: &Geometry) -> Spot {
    locate(hash, geometry, 0)
}

/// A listed filter has no bits: its header has its items.
impl Bits for SmallFilter {
    fn first_byte(&self) -> u64 {
        self.header().params.first_byte()
    }

    fn each_bits(&self) -> impl Iterator<Item = WordsRef<'_>> {
        (!self.is_listed()).then(|| WordsRef::new(self.0.words())).into_iter()
    }

    fn each_bits_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        (!self.is_listed()).then(|| self.0.as_mut_bytes()).into_iter()
    }
}
