//! One Bloom filter of fixed capacity in valkey-bloom's layout.

use arrayvec::ArrayVec;

use super::indexes::{BelowPrime, PLAIN};
use super::sizing::{MAX_CAPACITY, MAX_LAYER_BYTES, hashes, layer_bytes, valid_rate};
use crate::bloom::layer::{Layer, Part, Probe, sealed};
use crate::bloom::redisbloom::indexes::{Indexes, Modulus, Whole};
use crate::bloom::redisbloom::layer::{FAR, FIRST, FIRST_FAR, LocatedPairs};
use crate::error::{Error, ValkeyError};
use crate::hash::Pair;
use crate::hash::siphash::{Seed, pair, pairs};
use crate::mask::Mask;
use crate::math::estimate::{Fill, LayerEstimate};
use crate::math::frozen;
use crate::memory::fill::fill_of_union;
use crate::memory::words::Words;
use crate::simd::{Backend, prefetch};
use crate::spec::{Layout, MAX_LAYERS};

// The reduction of the bits in the second part does not change.
const _: () = assert!(PLAIN <= FIRST && PLAIN <= FIRST_FAR);

/// Bytes that valkey-bloom counts per filter.
const HEAD_BYTES: u64 = 48;
/// Bytes that valkey-bloom counts per layer.
const LAYER_BYTES: u64 = 208;
/// Bytes of an element of valkey-bloom's vector of layers.
const ELEMENT_BYTES: u64 = 8;
/// Elements of that vector from two layers on, before it doubles.
const MIN_ELEMENTS: u64 = 4;

/// Everything about a layer but its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Items that the layer is sized for. An older layer counts as many.
    pub capacity: u64,
    /// Bytes of its bits.
    pub bytes: u64,
    /// Bits that an item sets (k).
    pub hashes: u32,
}

impl Shape {
    /// The shape of a new layer. `rate` is above 0 and below 1.
    ///
    /// # Errors
    ///
    /// [`ValkeyError::Capacity`] if the bits cannot be counted.
    pub fn new(capacity: u64, rate: f64) -> Result<Self, ValkeyError> {
        let bytes = layer_bytes(capacity, rate);
        if capacity == 0 || bytes > MAX_LAYER_BYTES {
            return Err(ValkeyError::Capacity(capacity));
        }
        Ok(Self { capacity, bytes, hashes: hashes(bytes, capacity) })
    }
}

/// What the layers of a filter have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Common {
    /// The capacity of a layer divided by that of the layer before it; 0 if the filter does not
    /// grow.
    pub expansion: u32,
    /// The target rate of the first layer.
    pub error_rate: f64,
    /// The target rate of a layer divided by that of the layer before it.
    pub tightening: f64,
    /// What items are hashed with.
    pub seed: Seed,
    /// False if the seed is [`FIXED_SEED`](crate::hash::siphash::FIXED_SEED), and was chosen so.
    pub is_random: bool,
}

/// A bit array, and the shape that maps items to its bits.
#[derive(Debug)]
pub struct ValkeyLayer {
    pub(crate) words: Words,
    shape: Shape,
    modulus: Modulus,
}

impl ValkeyLayer {
    /// The bits, as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.words.as_bytes()
    }

    /// The shape of the layer.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// How many of an item's bits are in the first part.
    #[inline(always)]
    fn first(&self) -> u32 {
        self.shape.hashes.min(if self.words.bytes() >= FAR { FIRST_FAR } else { FIRST })
    }

    /// The indexes of the bits of a hash from number `from` on, which is not below [`PLAIN`].
    #[inline(always)]
    fn reduced(&self, spot: &Pair, from: u32) -> Indexes<BelowPrime> {
        Indexes::new(spot, self.modulus).skip(from)
    }

    /// Calls `see` with the word and the mask of the bits from number `from` on, which is 0 or not
    /// below [`PLAIN`], to number `to`, which is not included.
    #[inline(always)]
    fn each_bit(&self, spot: &Pair, from: u32, to: u32, mut see: impl FnMut(usize, u64)) {
        let mut plain = plain(spot, self.modulus);
        for _ in from..to.min(PLAIN) {
            let (word, bit) = plain.next_bit();
            see(word, bit);
        }
        let from = from.max(PLAIN);
        let mut reduced = self.reduced(spot, from);
        for _ in from..to {
            let (word, bit) = reduced.next_bit();
            see(word, bit);
        }
    }
}

/// The indexes of an item's first bits: its two hashes.
#[inline(always)]
fn plain(spot: &Pair, modulus: Modulus) -> Indexes<Whole> {
    Indexes::new(&Pair { b: spot.b.wrapping_sub(spot.a), ..*spot }, modulus)
}

impl Probe for ValkeyLayer {
    type Seed = Seed;
    type Hash = Pair;
    type Spot = Pair;
    type Prepared<B: Backend> = ();
    const PREFETCH_FROM: u64 = FAR;
    const STAGED_FROM: u64 = FAR;
    const IS_VECTORIZED: bool = false;

    #[inline(always)]
    fn hash(seed: &Seed, item: &[u8]) -> Pair {
        pair(seed, item)
    }

    #[inline(always)]
    fn hash_all<T: AsRef<[u8]>>(
        seed: &Seed,
        items: impl Iterator<Item = T>,
        see: impl FnMut(Pair),
    ) {
        let items: ArrayVec<T, { Mask::ITEMS }> = items.take(Mask::ITEMS).collect();
        pairs(seed, &items, see);
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
        let (from, to) = match part {
            Part::First => (0, self.first()),
            Part::Rest => (self.first(), self.shape.hashes),
        };
        self.each_bit(spot, from, to, |word, _| prefetch(words.wrapping_add(word)));
    }

    /// Tests several bits before the first branch, as RedisBloom's layout does.
    #[inline(always)]
    fn test_first<B: Backend>(&self, _: B, spot: &Pair, _: Option<&()>) -> bool {
        let (words, first) = (self.words.as_slice(), self.first());
        let plain_bits = first.min(PLAIN);
        plain(spot, self.modulus).are_next_set(words, plain_bits)
            & self.reduced(spot, PLAIN).are_next_set(words, first - plain_bits)
    }

    #[inline(always)]
    fn test_rest<B: Backend>(&self, _: B, spot: &Pair) -> bool {
        let first = self.first();
        // If there are fewer than `PLAIN` bits, none is left.
        let rest = self.shape.hashes - first;
        self.reduced(spot, first).are_next_set(self.words.as_slice(), rest)
    }

    #[inline(always)]
    fn bytes(&self) -> u64 {
        self.words.bytes()
    }
}

impl sealed::Sealed for ValkeyLayer {}

impl Layer for ValkeyLayer {
    const LAYOUT: Layout = Layout::ValkeyBloom;
    type Common = Common;
    type Located = LocatedPairs;
    type Shape = Shape;

    #[inline(always)]
    fn seed(common: &Common) -> Seed {
        common.seed
    }

    #[inline(always)]
    fn set<B: Backend>(&mut self, _: B, spot: &Pair) {
        let (modulus, hashes) = (self.modulus, self.shape.hashes);
        let words = self.words.as_mut_slice();
        let mut set = |(word, bit): (usize, u64)| {
            if let Some(word) = words.get_mut(word) {
                *word |= bit;
            }
        };
        let mut plain = plain(spot, modulus);
        for _ in 0..hashes.min(PLAIN) {
            set(plain.next_bit());
        }
        let mut reduced = Indexes::<BelowPrime>::new(spot, modulus).skip(PLAIN);
        for _ in PLAIN..hashes {
            set(reduced.next_bit());
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

    /// Files have no number of items of an older layer: it is full.
    #[inline]
    fn len_when_older(&self) -> u64 {
        self.shape.capacity
    }

    fn retire(&mut self, _len: u64) {}

    fn successor(
        common: &Common,
        last: &Shape,
        index: u32,
        capacity: u64,
    ) -> Result<(Common, Shape), Error> {
        if common.expansion == 0 {
            return Err(Error::Full(last.capacity));
        }
        if index + 1 >= MAX_LAYERS {
            return Err(Error::TooManyLayers(MAX_LAYERS));
        }
        let own = last.capacity.saturating_mul(common.expansion.into());
        if capacity.saturating_add(own) > MAX_CAPACITY {
            return Err(ValkeyError::Capacity(own).into());
        }
        let rate = valid_rate(common.error_rate, common.tightening, index + 1)?;
        Ok((*common, Shape::new(own, rate)?))
    }

    fn shape_capacity(shape: &Shape) -> u64 {
        shape.capacity
    }

    fn shape_with(&self, _len: u64) -> Shape {
        self.shape
    }

    fn shape_bytes(shape: &Shape) -> u64 {
        shape.bytes
    }

    fn build(shape: &Shape) -> Result<Self, Error> {
        let words = Words::for_bytes(shape.bytes)?;
        Ok(Self { words, shape: *shape, modulus: Modulus::new(shape.bytes.saturating_mul(8)) })
    }

    fn try_clone(&self) -> Result<Self, Error> {
        Ok(Self { words: self.words.try_clone()?, ..*self })
    }

    fn fp_rate(&self, len: u64) -> f64 {
        let per_item = f64::from(self.shape.hashes);
        let load = per_item * len as f64 / (8.0 * self.shape.bytes as f64);
        frozen::pow(-frozen::expm1(-load), per_item)
    }

    fn estimate<'a>(
        layers: impl Iterator<Item = &'a Self> + Clone,
        sample: usize,
    ) -> LayerEstimate {
        let Some(first) = layers.clone().next() else { return LayerEstimate::default() };
        let bits = 8.0 * first.shape.bytes as f64;
        let fill = fill_of_union(layers.map(|layer| layer.words.as_slice()), sample);
        // The bits of unused bytes are counted, and are zero.
        let set = (fill.set * (first.words.len() as f64 * 64.0 / bits)).min(1.0);
        let fill = Fill { set, ..fill };
        // The bits of an item need not be different, so each counts as an item of one bit.
        let per_item = f64::from(first.shape.hashes);
        let attempted = fill.items(1, bits).scaled(1.0 / per_item);
        let rate = frozen::pow(set, per_item);
        let new_bits = per_item * (1.0 - set);
        LayerEstimate { attempted, inserted: attempted.items, rate, new_bits }
    }

    /// Nothing drops bits of such filters.
    fn first_byte(_common: &Common) -> u64 {
        0
    }

    /// What valkey-bloom counts: its vector of layers begins with one element, and doubles from
    /// four on.
    fn size_bytes(bits_bytes: u64, layers: u32) -> u64 {
        let layers = u64::from(layers);
        let elements = if layers == 1 { 1 } else { layers.next_power_of_two().max(MIN_ELEMENTS) };
        bits_bytes.saturating_add(HEAD_BYTES + ELEMENT_BYTES * elements + LAYER_BYTES * layers)
    }
}
