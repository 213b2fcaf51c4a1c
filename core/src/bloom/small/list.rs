//! The list of the hashes of few items, in the place of the bits of a small layer.

use std::ops::ControlFlow;

use super::header::SmallHeader;
use super::{SmallFilter, request_bits, spot};
use crate::bloom::bloomline::geometry::MAX_SECTORS;
use crate::bloom::bloomline::{BlockedParams, BlockedPlan, BlockedShape, sectors};
use crate::bloom::length::MOST_LISTED;
use crate::error::Error;
use crate::hash::xxh3::{ItemHash, item_hash};
use crate::math::scale::scale;
use crate::memory::headed::{HEADER, Headed};
use crate::permit::Permit;
use crate::simd::INDEX_BITS;

/// The most items of a list.
const MOST: u64 = MOST_LISTED as u64;

/// Words by which a list is at least shorter than the bits.
const GAIN: u64 = 4;

/// The words of a list of `len` items. Few sizes, so that it seldom grows; with the header each is
/// one of the allocators', which are multiples of 16 bytes, and of 32 from 128 on.
fn words_for(len: u64) -> u16 {
    len.clamp(1, MOST).next_multiple_of(if len <= 4 { 2 } else { 4 }) as u16
}

/// From this number of items in the list and in the call on, setting all bits is faster than
/// searching the list for each item.
const MANY: usize = 4;

impl SmallFilter {
    /// The most items of a list in the place of the bits of this layer; 0 if it has none.
    #[inline]
    pub(crate) fn most(shape: &BlockedShape) -> u64 {
        let BlockedShape { capacity, geometry } = *shape;
        let sectors = if geometry.is_small() { geometry.sectors().into() } else { 0u64 };
        capacity.min(MOST).min(sectors.saturating_sub(GAIN))
    }

    /// Bytes of a filter of this layer that is the list of `items` items; none if it has bits.
    pub fn listed_bytes(shape: &BlockedShape, items: u64) -> Option<u64> {
        let is_listed = Self::most(shape) >= items.max(1);
        is_listed.then(|| (HEADER + usize::from(words_for(items)) * size_of::<u64>()) as u64)
    }

    /// A filter with the items of these hashes, as many as a list has room for; none if there are
    /// more, or if the layer has no list.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] by `permit`, for the bits; [`Error::OutOfMemory`].
    pub(crate) fn with_hashes(
        params: BlockedParams,
        plan: &BlockedPlan,
        hashes: impl ExactSizeIterator<Item = u64>,
        permit: Permit,
    ) -> Result<Option<Self>, Error> {
        let (shape, len, room) = (plan.shape, hashes.len() as u64, Self::most(&plan.shape));
        let numbers = SmallHeader { params, shape, len };
        let Some(header) = numbers.to_words().filter(|_| room != 0 && len <= room) else {
            return Ok(None);
        };
        request_bits(&shape, permit)?;
        let mut list = Headed::zeroed(header, words_for(len))?;
        list.words_mut().iter_mut().zip(hashes).for_each(|(to, hash)| *to = hash);
        Ok(Some(Self(list)))
    }

    /// The hashes of the items of a list, in the order of their insertion.
    #[inline(always)]
    pub(crate) fn hashes(&self) -> &[u64] {
        self.0.words().get(..self.len() as usize).unwrap_or_default()
    }

    /// New items that can be inserted before the list is full; 0 if there is no list.
    #[inline]
    pub fn listed_room(&self) -> u64 {
        if !self.is_listed() {
            return 0;
        }
        let SmallHeader { shape, len, .. } = self.header();
        Self::most(&shape).saturating_sub(len)
    }

    /// True if the list is searched for each of the items of a call, at most `items`.
    #[inline(always)]
    pub(super) fn is_searched_for(&self, items: Option<usize>) -> bool {
        items.is_some_and(|most| most < MANY) || self.hashes().len() < MANY
    }

    #[inline(always)]
    pub(super) fn list_contains(&self, hash: &ItemHash) -> bool {
        self.hashes().contains(&hash.block_hash)
            || self.is_first_bit_set(hash) && self.are_bits_set(hash)
    }

    /// True if one of the items has set the first bit of an item. Nine of ten absent items fail
    /// here.
    ///
    /// Without a branch in the loop, because whether the bits of two items meet is unpredictable.
    #[inline(always)]
    fn is_first_bit_set(&self, hash: &ItemHash) -> bool {
        let geometry = self.geometry();
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
        let geometry = self.geometry();
        let is_in =
            |bits: &[u64]| sectors::test(bits, &spot(hash, &geometry), geometry.bits_per_block());
        self.with_bits(is_in)
    }

    /// Calls `see` with the bits of the layer.
    pub(super) fn with_bits<T>(&self, see: impl FnOnce(&[u64]) -> T) -> T {
        if !self.is_listed() {
            return see(self.0.words());
        }
        let mut bits = [0; MAX_SECTORS as usize];
        let bits = bits.get_mut(..self.geometry().sectors().into()).unwrap_or_default();
        self.set_bits(bits);
        see(bits)
    }

    /// Sets the bits of all items of the list in a layer without others.
    fn set_bits(&self, bits: &mut [u64]) {
        let geometry = self.geometry();
        for &block_hash in self.hashes() {
            let spot = spot(&ItemHash::of_block_hash(block_hash), &geometry);
            sectors::set(bits, &spot, geometry.bits_per_block());
        }
    }

    /// The same filter as bits.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(super) fn to_bits(&self) -> Result<Self, Error> {
        let mut bits = Headed::zeroed(*self.0.header(), self.geometry().sectors().into())?;
        self.set_bits(bits.words_mut());
        Ok(Self(bits))
    }

    /// Inserts an item that the filter does not contain; false if the list has no room for it.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]. The item is not inserted then.
    #[inline(always)]
    pub(super) fn push(&mut self, hash: &ItemHash) -> Result<bool, Error> {
        if self.listed_room() == 0 {
            return Ok(false);
        }
        let len = self.len();
        if len >= self.0.words().len() as u64 {
            self.0 = self.0.resized(words_for(len + 1))?;
        }
        if let Some(to) = self.0.words_mut().get_mut(len as usize) {
            *to = hash.block_hash;
            self.count_one_more();
        }
        Ok(true)
    }

    /// Inserts items into the list, and answers for each whether it was new, up to the answer that
    /// stops, or to the first item for which the list has no room: this one is returned.
    ///
    /// All bits are set once, which is faster than searching the list for each item.
    pub(super) fn list_batch<T: AsRef<[u8]>>(
        &mut self,
        items: &mut impl Iterator<Item = T>,
        mut answer: impl FnMut(Result<bool, Error>) -> ControlFlow<()>,
    ) -> ControlFlow<(), Option<T>> {
        let (seed, geometry) = (self.seed(), self.geometry());
        let mut sectors = [0; MAX_SECTORS as usize];
        let sectors = sectors.get_mut(..geometry.sectors().into()).unwrap_or_default();
        self.set_bits(sectors);
        self.reserve(items.size_hint().0 as u64);
        let mut flow = ControlFlow::Continue(None);
        for item in items {
            let spot = spot(&item_hash(item.as_ref(), seed), &geometry);
            let is_in = sectors::test(sectors, &spot, geometry.bits_per_block());
            let answered = match if is_in { Ok(true) } else { self.push(&spot.hash) } {
                Ok(false) => {
                    flow = ControlFlow::Continue(Some(item));
                    break;
                }
                Ok(true) => {
                    if !is_in {
                        sectors::set(sectors, &spot, geometry.bits_per_block());
                    }
                    answer(Ok(!is_in))
                }
                Err(error) => answer(Err(error)),
            };
            if answered.is_break() {
                flow = ControlFlow::Break(());
                break;
            }
        }
        if usize::from(words_for(self.len())) < self.0.words().len() {
            self.resize(self.len());
        }
        flow
    }

    /// Becomes `list` again, with those of `items` that were inserted, if it has room for them:
    /// some were equal, or in the filter before. So the form follows from the items alone.
    #[inline]
    pub(super) fn make_listed_again<T: AsRef<[u8]>>(
        &mut self,
        mut list: Self,
        mut items: impl Iterator<Item = T>,
    ) {
        let mut missing = self.len() - list.len();
        if missing > list.listed_room() {
            return;
        }
        if missing != 0 {
            let _ = list.list_batch(&mut items, |inserted| {
                missing -= u64::from(inserted == Ok(true));
                if missing == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
        }
        if missing == 0 {
            *self = list;
        }
    }

    /// Makes room for items, as many as the list may have, so that it grows once.
    #[inline]
    fn reserve(&mut self, items: u64) {
        let items = self.len() + items.min(self.listed_room());
        if usize::from(words_for(items)) > self.0.words().len() {
            self.resize(items);
        }
    }

    /// Gives the list the words of `items` items. Without memory it keeps those that it has.
    fn resize(&mut self, items: u64) {
        if let Ok(resized) = self.0.resized(words_for(items)) {
            self.0 = resized;
        }
    }
}
