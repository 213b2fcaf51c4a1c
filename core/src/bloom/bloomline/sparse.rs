//! The sparse form of a small filter: the hashes of its few items in place of bits.
//!
//! Bits for 100 items take 160 bytes, whether there are 100 items or one. The 64-bit hash of an
//! item takes 8, and its bits follow from it. So a small filter starts as a list of hashes, in the
//! same allocation behind the same header, and becomes *dense* with the first item for which the
//! list has no room:
//!
//! ```text
//! sparse | header | hash | hash | ... |                 up to 16, at least 32 bytes fewer than the bits
//! dense  | header | sector 0 | sector 1 | ... |
//! ```
//!
//! Both forms are the same filter: a sparse one answers as its bits would. An item is in it if its
//! hash is in the list, or if the items of the list have set all of its bits. So neither rates nor
//! counts depend on the form, and a copy of the filter may have the other one.

use std::fmt;
use std::iter;
use std::ops::ControlFlow;
use std::ptr::NonNull;

use super::geometry::{Geometry, MAX_SECTORS};
use super::growth::BlockedParams;
use super::locate::{Spot, locate};
use super::packed::{self, Numbers};
use super::shape::{BlockedPlan, BlockedShape, LayerRef};
use super::{Filter, sectors};
use crate::bloom::layer::{Layer, Rules};
use crate::bloom::length::MOST_LISTED;
use crate::bloom::scalable::{self, Increase, SAMPLE_PAGES};
use crate::chunk::Bits;
use crate::error::Error;
use crate::hash::xxh3::{ItemHash, item_hash};
use crate::math::estimate::Estimate;
use crate::math::scale::scale;
use crate::memory::allocation::HEADER;
use crate::memory::words::{Headed, Mover, Words, WordsRef};
use crate::permit::{self, Permit};
use crate::simd::{INDEX_BITS, Scalar};
use crate::spec::Spec;

/// The most items of a sparse filter.
const MOST: u64 = MOST_LISTED as u64;

/// Words by which a list is at least shorter than the bits.
const GAIN: u64 = 4;

/// The words of a list of `len` items. Few sizes, so that it seldom grows; with the header each is
/// one of the allocators', which are multiples of 16 bytes, and of 32 from 128 on.
fn words_for(len: u64) -> u64 {
    len.max(1).next_multiple_of(if len <= 4 { 2 } else { 4 })
}

/// Asks `permit` for the dense form, so that it need not be asked again when a filter becomes
/// dense.
///
/// # Errors
///
/// [`Error::Refused`].
fn request_dense(shape: &BlockedShape, permit: Permit) -> Result<(), Error> {
    let size = |bits| scalable::size_bytes(bits, 1, shape);
    permit::request(permit, BlockedShape::LAYOUT, [shape.geometry.bytes()], size)
}

/// A filter with few items, as the list of their hashes.
pub struct SparseFilter(Headed);

impl fmt::Debug for SparseFilter {
    /// Writes the numbers of the filter, not its hashes.
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.debug_struct("SparseFilter")
            .field("items", &self.len())
            .field("capacity", &self.capacity())
            .field("bytes", &self.size_bytes())
            .finish()
    }
}

impl SparseFilter {
    /// The most items of a sparse filter that has this layer when it is dense; 0 if it has no
    /// sparse form.
    #[inline]
    pub(crate) fn most(shape: &BlockedShape) -> u64 {
        let BlockedShape { capacity, geometry } = *shape;
        let sectors = if geometry.is_small() { geometry.sectors().into() } else { 0u64 };
        capacity.min(MOST).min(sectors.saturating_sub(GAIN))
    }

    /// Bytes of a sparse filter of `items` items that has this layer when it is dense; none if it
    /// is dense.
    pub fn planned_bytes(shape: &BlockedShape, items: u64) -> Option<u64> {
        let is_sparse = Self::most(shape) >= items.max(1);
        is_sparse.then(|| HEADER as u64 + words_for(items) * size_of::<u64>() as u64)
    }

    /// A filter with the items of these hashes, as many as a list has room for; none if there are
    /// more, or if the layer has no sparse form.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] by `permit`, for the dense form; [`Error::OutOfMemory`].
    pub(crate) fn with_hashes(
        params: BlockedParams,
        plan: &BlockedPlan,
        hashes: impl ExactSizeIterator<Item = u64>,
        permit: Permit,
    ) -> Result<Option<Self>, Error> {
        let (shape, len, room) = (plan.shape, hashes.len() as u64, Self::most(&plan.shape));
        let numbers = Numbers { params, shape, len };
        let Some(header) = numbers.header().filter(|_| room != 0 && len <= room) else {
            return Ok(None);
        };
        request_dense(&shape, permit)?;
        let mut words = Words::with_header(words_for(len))?;
        words.as_mut_slice().iter_mut().zip(hashes).for_each(|(to, hash)| *to = hash);
        // There is room for a header.
        Ok(words.into_headed(header).ok().map(Self))
    }

    /// The filter of an allocation; the allocation, if it is that of a dense filter.
    #[inline(always)]
    pub fn unpack(packed: Headed) -> Result<Self, Headed> {
        if packed::is_sparse(packed.header()) { Ok(Self(packed)) } else { Err(packed) }
    }

    /// Gives up the allocation.
    #[inline(always)]
    pub fn pack(self) -> Headed {
        self.0
    }

    #[inline(always)]
    pub(super) fn numbers(&self) -> Numbers {
        Numbers::of(*self.0.header())
    }

    /// The hashes of the items, in the order of their insertion.
    #[inline(always)]
    pub(super) fn hashes(&self) -> &[u64] {
        self.0.words().get(..self.len() as usize).unwrap_or_default()
    }

    pub fn spec(&self) -> Spec {
        self.numbers().params.spec()
    }

    #[inline(always)]
    pub fn seed(&self) -> u64 {
        let [seed, ..] = self.0.header();
        *seed
    }

    #[inline(always)]
    pub fn len(&self) -> u64 {
        self.numbers().len
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub fn newest_len(&self) -> u64 {
        self.len()
    }

    pub fn capacity(&self) -> u64 {
        self.numbers().shape.capacity
    }

    #[inline]
    pub fn room(&self) -> u64 {
        let Numbers { shape, len, .. } = self.numbers();
        shape.capacity.saturating_sub(len)
    }

    /// New items that can be inserted before the filter becomes dense.
    #[inline]
    pub fn listed_room(&self) -> u64 {
        let Numbers { shape, len, .. } = self.numbers();
        Self::most(&shape).saturating_sub(len)
    }

    /// The target rate of the layer of the dense form.
    pub fn layer_error(&self) -> f64 {
        self.numbers().params.layer_error(0)
    }

    /// Number of layers of the dense form.
    pub fn layer_count(&self) -> u32 {
        1
    }

    /// Bytes of the filter: its header and its list. They follow from the number of items.
    pub fn size_bytes(&self) -> u64 {
        (HEADER + size_of_val(self.0.words())) as u64
    }

    pub fn sums(&self) -> Increase {
        self.added_since(0, 0)
    }

    /// See [`Filter::added_since`]; the filter has no layer that it could have grown from.
    pub fn added_since(&self, layers: u32, newest_len: u64) -> Increase {
        let Numbers { shape, len, .. } = self.numbers();
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
        request_dense(&self.numbers().shape, permit)?;
        self.0.resized(self.0.words().len() as u64).map(Self)
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

    /// True if the item may have been inserted.
    pub fn contains(&self, item: &[u8]) -> bool {
        self.contains_hash(&item_hash(item, self.seed()))
    }

    /// Answers for each item in turn whether it may have been inserted.
    pub fn contains_batch(
        &self,
        items: impl Iterator<Item: AsRef<[u8]>>,
        mut answer: impl FnMut(bool),
    ) {
        /// From this number of items in the filter and in the call on, setting all bits is faster
        /// than searching the list for each item.
        const MANY: usize = 4;
        let seed = self.seed();
        let are_few = items.size_hint().1.is_some_and(|most| most < MANY);
        if are_few || self.hashes().len() < MANY {
            items.for_each(|item| answer(self.contains_hash(&item_hash(item.as_ref(), seed))));
            return;
        }
        self.with_layer(|layer| {
            items.for_each(|item| {
                answer(layer.contains_hash(Scalar, &item_hash(item.as_ref(), seed)))
            });
        });
    }

    #[inline(always)]
    fn contains_hash(&self, hash: &ItemHash) -> bool {
        self.hashes().contains(&hash.block_hash)
            || self.is_first_bit_set(hash) && self.are_bits_set(hash)
    }

    /// True if one of the items has set the first bit of an item. Nine of ten absent items fail
    /// here.
    ///
    /// Without a branch in the loop, because whether the bits of two items meet is unpredictable.
    #[inline(always)]
    fn is_first_bit_set(&self, hash: &ItemHash) -> bool {
        let [.., last] = self.0.header();
        let geometry = packed::geometry(*last);
        let (sectors, bits) = (u64::from(geometry.sectors()), u64::from(geometry.bits_per_block()));
        let (first, index) = (scale(hash.block_hash, sectors), hash.pattern);
        self.hashes().iter().fold(false, |is_set, &other| {
            // The bit of the other item in this sector, if it has one. Before the start of the
            // layer the difference is a large number.
            let bit = first.wrapping_sub(scale(other, sectors));
            let bit = bit.min(bit.wrapping_add(sectors));
            let others =
                ItemHash::of_block_hash(other).pattern >> (bit as u32 * INDEX_BITS % u64::BITS);
            is_set | ((bit < bits) & (others ^ index).is_multiple_of(64))
        })
    }

    /// True if the items have set all bits of an item.
    #[cold]
    fn are_bits_set(&self, hash: &ItemHash) -> bool {
        self.with_layer(|layer| layer.contains_hash(Scalar, hash))
    }

    /// Calls `see` with the layer of the dense form.
    pub fn with_layer<T>(&self, see: impl FnOnce(LayerRef) -> T) -> T {
        let mut bits = [0; MAX_SECTORS as usize];
        let shape = self.numbers().shape;
        let bits = bits.get_mut(..shape.geometry.sectors().into()).unwrap_or_default();
        self.set_bits(bits);
        see(Layer { words: WordsRef::new(bits), shape, divisor: () })
    }

    /// Sets the bits of all items in a layer without others.
    fn set_bits(&self, bits: &mut [u64]) {
        let geometry = self.numbers().shape.geometry;
        for &block_hash in self.hashes() {
            let spot = spot(&ItemHash::of_block_hash(block_hash), &geometry);
            sectors::set(bits, &spot, geometry.bits_per_block());
        }
    }

    pub fn to_dense(&self) -> Result<Filter, Error> {
        let Numbers { params, shape, len } = self.numbers();
        let mut words = Words::with_header(shape.geometry.sectors().into())?;
        self.set_bits(words.as_mut_slice());
        let newest = Layer { words, shape, divisor: () };
        Ok(Filter { params, newest_len: len, newest, older: Box::default() })
    }

    /// Inserts an item; true if it was new. None if the list has no room for it: it is new, and not
    /// inserted.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]. The item is not inserted then.
    pub fn insert(&mut self, item: &[u8]) -> Result<Option<bool>, Error> {
        let hash = item_hash(item, self.seed());
        if self.contains_hash(&hash) { Ok(Some(false)) } else { self.push(&hash) }
    }

    /// Inserts items in turn, and answers for each whether it was new, up to the answer that stops,
    /// or to the first item for which the list has no room: this one is returned.
    ///
    /// All bits are set once, which is faster than searching the list for each item.
    pub fn insert_batch<T: AsRef<[u8]>>(
        &mut self,
        items: &mut impl Iterator<Item = T>,
        mut answer: impl FnMut(Result<bool, Error>) -> ControlFlow<()>,
    ) -> ControlFlow<(), Option<T>> {
        let (seed, geometry) = (self.seed(), self.numbers().shape.geometry);
        let mut sectors = [0; MAX_SECTORS as usize];
        let sectors = sectors.get_mut(..geometry.sectors().into()).unwrap_or_default();
        self.set_bits(sectors);
        self.reserve(items.size_hint().0 as u64);
        let mut flow = ControlFlow::Continue(());
        for item in items {
            let spot = spot(&item_hash(item.as_ref(), seed), &geometry);
            let inserted = match sectors::test(sectors, &spot, geometry.bits_per_block()) {
                true => Ok(Some(false)),
                false => self.push(&spot.hash),
            };
            flow = match inserted {
                Ok(Some(is_new)) => {
                    if is_new {
                        sectors::set(sectors, &spot, geometry.bits_per_block());
                    }
                    answer(Ok(is_new))
                }
                Ok(None) => return ControlFlow::Continue(Some(item)),
                Err(error) => answer(Err(error)),
            };
            if flow.is_break() {
                break;
            }
        }
        if words_for(self.len()) < self.0.words().len() as u64 {
            self.resize(self.len());
        }
        flow.map_continue(|()| None)
    }

    /// Makes room for items, as many as the list may have, so that it grows once.
    fn reserve(&mut self, items: u64) {
        let items = self.len() + items.min(self.listed_room());
        if words_for(items) > self.0.words().len() as u64 {
            self.resize(items);
        }
    }

    /// Gives the list the words of `items` items. Without memory it keeps those that it has.
    fn resize(&mut self, items: u64) {
        if let Ok(resized) = self.0.resized(words_for(items)) {
            self.0 = resized;
        }
    }

    /// Inserts an item that the filter does not contain, and returns true; none if the list has no
    /// room for it.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]. The item is not inserted then.
    #[inline(always)]
    fn push(&mut self, hash: &ItemHash) -> Result<Option<bool>, Error> {
        if self.listed_room() == 0 {
            return Ok(None);
        }
        let len = self.len();
        if len >= self.0.words().len() as u64 {
            self.0 = self.0.resized(words_for(len + 1))?;
        }
        if let Some(to) = self.0.words_mut().get_mut(len as usize) {
            *to = hash.block_hash;
            self.0.set_header(packed::with_one_more(*self.0.header()));
        }
        Ok(Some(true))
    }
}

/// Where an item lies in a small layer, which has no whole blocks.
#[inline(always)]
fn spot(hash: &ItemHash, geometry: &Geometry) -> Spot {
    locate(hash, geometry, 0)
}

/// A sparse filter has no bits: its header has its items.
impl Bits for SparseFilter {
    fn first_byte(&self) -> u64 {
        0
    }

    fn each_bits(&self) -> impl Iterator<Item = WordsRef<'_>> {
        iter::empty()
    }

    fn each_bits_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        iter::empty()
    }
}
