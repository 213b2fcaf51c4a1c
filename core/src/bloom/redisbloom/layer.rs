//! One Bloom filter of fixed capacity in RedisBloom's layout.

use arrayvec::ArrayVec;

use super::geometry::{Options, Shape};
use super::indexes::{Indexes, Modulus, Whole};
use crate::bloom::layer::{Layer, Located, Part, Probe, sealed};
use crate::error::Error;
use crate::hash::Pair;
use crate::hash::murmur2::{pair_32, pair_64};
use crate::mask::Mask;
use crate::math::estimate::LayerEstimate;
use crate::math::frozen;
use crate::memory::fill::fill_of_union;
use crate::memory::words::Words;
use crate::simd::{Backend, prefetch};
use crate::spec::{Layout, MAX_LAYERS};

/// Bytes that RedisBloom counts per filter.
const HEAD_BYTES: u64 = 32;
/// Bytes that RedisBloom counts per layer.
const LAYER_BYTES: u64 = 64;

/// Bits per item that are tested together before the first branch. Fewer cost mispredicted branches
/// in filters of many layers; see docs/explanation/performance.md.
pub(crate) const FIRST: u32 = 5;
/// The same for a layer of [`FAR`] bytes or more, where cache misses cost more than branches: in a
/// full layer with 7 bits per item, 3.25 of them are fetched per absent item.
pub(crate) const FIRST_FAR: u32 = 2;
/// Bytes of a layer from which cache lines are prefetched: it does not fit the first levels of
/// cache.
pub(crate) const FAR: u64 = 1 << 20;

/// A bit array, and the shape that maps items to its bits.
#[derive(Debug)]
pub struct RedisBloomLayer {
    pub(crate) words: Words,
    pub(crate) shape: Shape,
    pub(crate) modulus: Modulus,
}

/// What the layers of a filter have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Common {
    /// How the filter is hashed, sized and grown.
    pub options: Options,
    /// The expansion. RedisBloom stores it even if the filter does not grow.
    pub expansion: u32,
}

impl RedisBloomLayer {
    /// A layer of this shape with these bits; `None` if the shape has another number of bits.
    pub(crate) fn with_words(shape: Shape, words: Words) -> Option<Self> {
        let modulus = Modulus::new(shape.modulus());
        (words.len().checked_mul(64) == Some(shape.bits)).then_some(Self { words, shape, modulus })
    }

    /// The bits, as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.words.as_bytes()
    }

    /// The shape of the layer. Its `len` is not up to date in the newest layer of a filter.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The indexes of one part of an item's bits, and their number.
    #[inline(always)]
    fn part(&self, spot: &Pair, part: Part) -> (Indexes, u32) {
        let is_far = self.words.bytes() >= FAR;
        let first = self.shape.hashes.min(if is_far { FIRST_FAR } else { FIRST });
        match part {
            Part::First => (Indexes::<Whole>::new(spot, self.modulus), first),
            Part::Rest => {
                (Indexes::<Whole>::new(spot, self.modulus).skip(first), self.shape.hashes - first)
            }
        }
    }

    #[inline(always)]
    fn test(&self, spot: &Pair, part: Part) -> bool {
        let (mut indexes, count) = self.part(spot, part);
        indexes.are_next_set(self.words.as_slice(), count)
    }
}

impl Probe for RedisBloomLayer {
    /// True for hashes of 64 bits.
    type Seed = bool;
    type Hash = Pair;
    type Spot = Pair;
    type Prepared<B: Backend> = ();
    const PREFETCH_FROM: u64 = FAR;
    const STAGED_FROM: u64 = FAR;
    const IS_VECTORIZED: bool = false;

    #[inline(always)]
    fn hash(&is_64_bit: &bool, item: &[u8]) -> Pair {
        if is_64_bit { pair_64(item) } else { pair_32(item) }
    }

    #[inline(always)]
    fn prepare<B: Backend>(_backend: B, _hash: &Pair) {}

    #[inline(always)]
    fn locate(&self, hash: &Pair) -> Pair {
        *hash
    }

    #[inline(always)]
    fn prefetch(&self, spot: &Pair, part: Part) {
        let words = self.words.as_slice().as_ptr();
        let (mut indexes, count) = self.part(spot, part);
        for _ in 0..count {
            prefetch(words.wrapping_add(indexes.next_bit().0));
        }
    }

    /// Tests several bits before the first branch. With one branch per bit, one branch per absent
    /// item is mispredicted, which costs more than the additional bits.
    #[inline(always)]
    fn test_first<B: Backend>(&self, _: B, spot: &Pair, _: Option<&()>) -> bool {
        self.test(spot, Part::First)
    }

    #[inline(always)]
    fn test_rest<B: Backend>(&self, _: B, spot: &Pair) -> bool {
        self.test(spot, Part::Rest)
    }

    #[inline(always)]
    fn bytes(&self) -> u64 {
        self.words.bytes()
    }
}

/// Items of a group in a layer where hashes are also spots.
pub struct LocatedPairs(ArrayVec<Pair, { Mask::ITEMS }>);

impl<L: Layer<Hash = Pair, Spot = Pair>> Located<L> for LocatedPairs {
    #[inline(always)]
    fn new() -> Self {
        Self(ArrayVec::new())
    }

    #[inline(always)]
    fn clear(&mut self) {
        self.0.clear();
    }

    #[inline(always)]
    fn push(&mut self, hash: Pair) {
        // There is room: the caller adds no more items.
        let _ = self.0.try_push(hash);
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn locate(&mut self, _layer: &L) {}

    #[inline(always)]
    fn hash(&self, index: usize) -> Pair {
        self.0.get(index).copied().unwrap_or_default()
    }

    #[inline(always)]
    fn prefetch(&self, layer: &L, index: usize, part: Part) {
        if let Some(pair) = self.0.get(index) {
            layer.prefetch(pair, part);
        }
    }

    #[inline(always)]
    fn test_first<B: Backend>(&self, backend: B, layer: &L, index: usize) -> bool {
        self.0.get(index).is_some_and(|pair| layer.test_first(backend, pair, None))
    }

    #[inline(always)]
    fn test_rest<B: Backend>(&self, backend: B, layer: &L, index: usize) -> bool {
        self.0.get(index).is_some_and(|pair| layer.test_rest(backend, pair))
    }

    #[inline(always)]
    fn set<B: Backend>(&self, backend: B, layer: &mut L, index: usize) {
        if let Some(pair) = self.0.get(index) {
            layer.set(backend, pair);
        }
    }
}

impl sealed::Sealed for RedisBloomLayer {}

impl Layer for RedisBloomLayer {
    const LAYOUT: Layout = Layout::RedisBloom;
    type Common = Common;
    type Located = LocatedPairs;
    type Shape = Shape;

    #[inline(always)]
    fn seed(common: &Common) -> bool {
        common.options.is_64_bit()
    }

    #[inline(always)]
    fn set<B: Backend>(&mut self, _: B, spot: &Pair) {
        let mut indexes = Indexes::<Whole>::new(spot, self.modulus);
        let words = self.words.as_mut_slice();
        for _ in 0..self.shape.hashes {
            let (word, bit) = indexes.next_bit();
            if let Some(word) = words.get_mut(word) {
                *word |= bit;
            }
        }
    }

    fn words(&self) -> &Words {
        &self.words
    }

    fn words_mut(&mut self) -> &mut Words {
        &mut self.words
    }

    #[inline]
    fn capacity(&self) -> u64 {
        self.shape.capacity
    }

    #[inline]
    fn len_when_older(&self) -> u64 {
        self.shape.len
    }

    fn retire(&mut self, len: u64) {
        self.shape.len = len;
    }

    fn successor(
        common: &Common,
        last: &Shape,
        index: u32,
        _capacity: u64,
    ) -> Result<(Common, Shape), Error> {
        if common.options.is_fixed() {
            return Err(Error::Full(last.capacity));
        }
        if index + 1 >= MAX_LAYERS {
            return Err(Error::TooManyLayers(MAX_LAYERS));
        }
        let capacity = last.capacity.checked_mul(common.expansion.into());
        let capacity = capacity.ok_or(Error::Capacity(u64::MAX))?;
        Ok((*common, Shape::new(common.options, capacity, last.error * 0.5)?))
    }

    fn shape_capacity(shape: &Shape) -> u64 {
        shape.capacity
    }

    fn shape_with(&self, len: u64) -> Shape {
        Shape { len, ..self.shape }
    }

    fn shape_bytes(shape: &Shape) -> u64 {
        shape.bits / 8
    }

    fn build(shape: &Shape) -> Result<Self, Error> {
        let words = Words::zeroed(shape.bits / 64)?;
        Self::with_words(*shape, words).ok_or(Error::OutOfMemory(shape.bits / 8))
    }

    fn try_clone(&self) -> Result<Self, Error> {
        Ok(Self { words: self.words.try_clone()?, ..*self })
    }

    fn fp_rate(&self, len: u64) -> f64 {
        let per_item = f64::from(self.shape.hashes);
        let load = per_item * len as f64 / self.shape.modulus() as f64;
        frozen::pow(-frozen::expm1(-load), per_item)
    }

    fn estimate<'a>(
        layers: impl Iterator<Item = &'a Self> + Clone,
        sample: usize,
    ) -> LayerEstimate {
        let Some(shape) = layers.clone().next().map(Self::shape) else {
            return LayerEstimate::default();
        };
        // Bits above the modulus are never set.
        let used = shape.modulus().div_ceil(64) as usize;
        let words = layers.map(|layer| layer.words.as_slice().get(..used).unwrap_or_default());
        let fill = fill_of_union(words, sample);
        // The bits of an item need not be different, so each counts as an item of one bit.
        let per_item = f64::from(shape.hashes);
        let bits = fill.items(1, shape.modulus() as f64);
        let attempted = bits.scaled(1.0 / per_item);
        let rate = frozen::pow(fill.set, per_item);
        let new_bits = per_item * (1.0 - fill.set);
        LayerEstimate { attempted, inserted: attempted.items, rate, new_bits }
    }

    /// RedisBloom's header has no place for another number.
    fn first_byte(_common: &Common) -> u64 {
        0
    }

    fn size_bytes(bits_bytes: u64, layers: u32) -> u64 {
        bits_bytes.saturating_add(HEAD_BYTES + LAYER_BYTES * u64::from(layers))
    }
}
