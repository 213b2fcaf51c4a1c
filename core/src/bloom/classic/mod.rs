//! What RedisBloom's layout and valkey-bloom's share: the bits of an item lie anywhere in its
//! layer, at an arithmetic progression modulo the number of bits.

#[allow(unsafe_code)]
pub mod indexes;

use std::fmt;

use self::indexes::{Indexes, Modulus, Reduction, Whole};
use crate::bloom::layer::{Hashes, Layer, LayerShape, Part, Plan, Unbuilt, sealed};
use crate::error::Error;
use crate::hash::Pair;
use crate::math::estimate::{Fill, LayerEstimate};
use crate::math::frozen;
use crate::memory::fill::fill_of_union;
use crate::simd::{Backend, prefetch};
use crate::spec::Layout;

/// Bits per item that are tested together before the first branch. Fewer cost mispredicted branches
/// in filters of many layers; see docs/explanation/performance.md.
const FIRST: u32 = 5;
/// The same for a layer of [`FAR`] bytes or more, where cache misses cost more than branches: in a
/// full layer with 7 bits per item, 3.25 of them are fetched per absent item.
const FIRST_FAR: u32 = 2;
/// Bytes of a layer from which cache lines are prefetched: it does not fit the first levels of
/// cache.
const FAR: u64 = 1 << 20;

/// The numbers of a layer of one of the two layouts.
pub trait ClassicShape: Copy + fmt::Debug + PartialEq {
    /// The layout of such layers.
    const LAYOUT: Layout;
    /// The first bits of an item that are its hashes, without a reduction: at most two.
    const PLAIN: u32;
    /// The reduction of the sums of all other bits.
    type Reduction: Reduction;
    /// What all layers of a filter have in common.
    type Common: Copy;
    /// What items are hashed with.
    type Seed: Copy;

    /// What items are hashed with.
    fn seed(common: &Self::Common) -> Self::Seed;

    /// Hashes an item.
    fn hash(seed: &Self::Seed, item: &[u8]) -> Pair;

    /// Hashes items, at most 64, and calls `see` with each hash in turn.
    #[inline(always)]
    fn hash_all<T: AsRef<[u8]>>(
        seed: &Self::Seed,
        items: impl Iterator<Item = T>,
        mut see: impl FnMut(Pair),
    ) {
        for item in items {
            see(Self::hash(seed, item.as_ref()));
        }
    }

    /// Bytes of the bits.
    fn bytes(&self) -> u64;

    /// The modulus of bit indexes: the number of bits in use.
    fn modulus(&self) -> u64;

    /// Bits that an item sets (k).
    fn hashes(&self) -> u32;

    /// Items the layer is sized for.
    fn capacity(&self) -> u64;

    /// See [`LayerShape::len_when_older`].
    #[inline(always)]
    fn len_when_older(&self) -> u64 {
        self.capacity()
    }

    /// See [`LayerShape::retire`].
    fn retire(&mut self, _len: u64) {}

    /// See [`LayerShape::successor`].
    ///
    /// # Errors
    ///
    /// As there.
    fn successor(
        common: &Self::Common,
        last: &Self,
        index: u32,
        capacity: u64,
    ) -> Result<Self, Error>;

    /// See [`LayerShape::size_bytes`].
    fn size_bytes(bits_bytes: u64, layers: u32) -> u64;
}

/// The numbers of a layer, and the divisor that follows from them.
#[derive(Clone, Copy, Debug)]
pub struct Classic<N> {
    numbers: N,
    modulus: Modulus,
}

impl<N: PartialEq> PartialEq for Classic<N> {
    fn eq(&self, other: &Self) -> bool {
        self.numbers == other.numbers
    }
}

impl<N: ClassicShape> Classic<N> {
    pub(crate) fn new(numbers: N) -> Self {
        Self { numbers, modulus: Modulus::new(numbers.modulus()) }
    }

    pub(crate) fn numbers(&self) -> &N {
        &self.numbers
    }

    /// The numbers, to be changed: all but those that the bits follow from.
    pub(crate) fn numbers_mut(&mut self) -> &mut N {
        &mut self.numbers
    }

    /// How many of an item's bits are in the first part.
    #[inline(always)]
    fn first(self, words: &[u64]) -> u32 {
        // The reduction of the bits in the second part does not change.
        const { assert!(N::PLAIN <= FIRST_FAR) };
        let is_far = size_of_val(words) as u64 >= FAR;
        self.numbers.hashes().min(if is_far { FIRST_FAR } else { FIRST })
    }

    /// The indexes of the bits that are not reduced, from the first one on.
    #[inline(always)]
    fn plain(self, spot: &Pair) -> Indexes<Whole> {
        Indexes::new(&Pair { b: spot.b.wrapping_sub(spot.a), ..*spot }, self.modulus)
    }

    /// The indexes of the bits from number `from` on, which is not below [`ClassicShape::PLAIN`].
    #[inline(always)]
    fn reduced(self, spot: &Pair, from: u32) -> Indexes<N::Reduction> {
        Indexes::new(spot, self.modulus).skip(from)
    }

    /// Calls `see` with the word and the mask of the bits from number `from` on, which is 0 or not
    /// below [`ClassicShape::PLAIN`], to number `to`, which is not included.
    #[inline(always)]
    fn each_bit(self, spot: &Pair, from: u32, to: u32, mut see: impl FnMut(usize, u64)) {
        let mut plain = self.plain(spot);
        for _ in from..to.min(N::PLAIN) {
            let (word, bit) = plain.next_bit();
            see(word, bit);
        }
        let from = from.max(N::PLAIN);
        let mut reduced = self.reduced(spot, from);
        for _ in from..to {
            let (word, bit) = reduced.next_bit();
            see(word, bit);
        }
    }
}

impl<N> sealed::Sealed for Classic<N> {}

impl<N: ClassicShape> LayerShape for Classic<N> {
    const LAYOUT: Layout = N::LAYOUT;
    const PREFETCH_FROM: u64 = FAR;
    const STAGED_FROM: u64 = FAR;
    const IS_VECTORIZED: bool = false;
    type Common = N::Common;
    type Seed = N::Seed;
    type Hash = Pair;
    type Spot = Pair;
    type Prepared<B: Backend> = ();
    type Located = Hashes<Pair>;

    #[inline(always)]
    fn seed(common: &N::Common) -> N::Seed {
        N::seed(common)
    }

    #[inline(always)]
    fn hash(seed: &N::Seed, item: &[u8]) -> Pair {
        N::hash(seed, item)
    }

    #[inline(always)]
    fn hash_all<T: AsRef<[u8]>>(
        seed: &N::Seed,
        items: impl Iterator<Item = T>,
        see: impl FnMut(Pair),
    ) {
        N::hash_all(seed, items, see);
    }

    #[inline(always)]
    fn prepare<B: Backend>(_backend: B, _hash: &Pair) {}

    #[inline(always)]
    #[expect(unsafe_code, reason = "other layouts rely on the words")]
    unsafe fn locate(self, _words: &[u64], hash: &Pair) -> Pair {
        *hash
    }

    #[inline(always)]
    fn prefetch(self, words: &[u64], spot: &Pair, part: Part) {
        let first = self.first(words);
        let (from, to) = match part {
            Part::First => (0, first),
            Part::Rest => (first, self.numbers.hashes()),
        };
        self.each_bit(spot, from, to, |word, _| prefetch(words.as_ptr().wrapping_add(word)));
    }

    /// Tests several bits before the first branch. With one branch per bit, one branch per absent
    /// item is mispredicted, which costs more than the additional bits.
    #[inline(always)]
    fn test_first<B: Backend>(self, _: B, words: &[u64], spot: &Pair, _: Option<&()>) -> bool {
        let first = self.first(words);
        let plain = first.min(N::PLAIN);
        (N::PLAIN == 0 || self.plain(spot).are_next_set(words, plain))
            & self.reduced(spot, N::PLAIN).are_next_set(words, first - plain)
    }

    #[inline(always)]
    fn test_rest<B: Backend>(self, _: B, words: &[u64], spot: &Pair) -> bool {
        let first = self.first(words);
        // If there are fewer than `PLAIN` bits, none is left.
        self.reduced(spot, first).are_next_set(words, self.numbers.hashes() - first)
    }

    #[inline(always)]
    fn set<B: Backend>(self, _: B, words: &mut [u64], spot: &Pair) {
        self.each_bit(spot, 0, self.numbers.hashes(), |word, bit| {
            if let Some(word) = words.get_mut(word) {
                *word |= bit;
            }
        });
    }

    #[inline]
    fn capacity(&self) -> u64 {
        self.numbers.capacity()
    }

    #[inline]
    fn len_when_older(&self) -> u64 {
        self.numbers.len_when_older()
    }

    fn retire(&mut self, len: u64) {
        self.numbers.retire(len);
    }

    fn successor(
        common: &N::Common,
        last: &Plan<Self>,
        index: u32,
        capacity: u64,
    ) -> Result<(N::Common, Plan<Self>), Error> {
        let next = N::successor(common, &last.shape.numbers, index, capacity)?;
        Ok((*common, next.into()))
    }

    fn fp_rate(&self, _bytes: u64, len: u64) -> f64 {
        let per_item = f64::from(self.numbers.hashes());
        let load = per_item * len as f64 / self.numbers.modulus() as f64;
        frozen::pow(-frozen::expm1(-load), per_item)
    }

    fn estimate<'a>(
        &self,
        layers: impl Iterator<Item = &'a [u64]> + Clone,
        sample: usize,
    ) -> LayerEstimate {
        let modulus = self.numbers.modulus();
        // Bits above the modulus are never set. Those in its last word are counted.
        let used = modulus.div_ceil(u64::BITS.into());
        let fill =
            fill_of_union(layers.map(|all| all.get(..used as usize).unwrap_or_default()), sample);
        let bits = modulus as f64;
        let set = (fill.set * (used as f64 * f64::from(u64::BITS) / bits)).min(1.0);
        let fill = Fill { set, ..fill };
        // The bits of an item need not be different, so each counts as an item of one bit.
        let per_item = f64::from(self.numbers.hashes());
        let attempted = fill.items(1, bits).scaled(1.0 / per_item);
        let rate = frozen::pow(set, per_item);
        let new_bits = per_item * (1.0 - set);
        LayerEstimate { attempted, inserted: attempted.items, rate, new_bits }
    }

    fn size_bytes(bits_bytes: u64, layers: u32) -> u64 {
        N::size_bytes(bits_bytes, layers)
    }
}

impl<N: ClassicShape> From<N> for Plan<Classic<N>> {
    fn from(numbers: N) -> Self {
        Layer { words: Unbuilt { bytes: numbers.bytes() }, shape: Classic::new(numbers) }
    }
}

impl<N, W> Layer<Classic<N>, W> {
    /// The numbers of the layer. In RedisBloom's layout, `len` is not up to date in the newest
    /// layer of a filter.
    pub fn shape(&self) -> &N {
        &self.shape.numbers
    }
}

impl<N> Layer<Classic<N>> {
    /// The bits, as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.words.as_bytes()
    }
}
