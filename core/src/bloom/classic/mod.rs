//! What RedisBloom's layout and valkey-bloom's share: the bits of an item lie anywhere in its
//! layer, at an arithmetic progression modulo the number of bits.

#[allow(unsafe_code)]
pub mod indexes;

use self::indexes::{Indexes, Modulus, Reduction, Whole};
use crate::bloom::layer::{Hashes, Layer, LayerShape, Part, Plan, Readable, Rules, Unbuilt};
use crate::hash::Pair;
use crate::math::estimate::{Fill, LayerEstimate};
use crate::math::frozen;
use crate::memory::fill::fill_of_union;
use crate::simd::{Backend, prefetch};

/// Bits per item that are tested together before the first branch. Fewer cost mispredicted branches
/// in filters of many layers; see docs/explanation/performance.md.
const FIRST: u32 = 5;
/// The same for a layer of [`FAR`] bytes or more, where cache misses cost more than branches: in a
/// full layer with 7 bits per item, 3.25 of them are fetched per absent item.
const FIRST_FAR: u32 = 2;
/// Bytes of a layer from which cache lines are prefetched: it does not fit the first levels of
/// cache.
const FAR: u64 = 1 << 20;

/// The shape of a layer in either of them.
pub trait ClassicShape: Rules<Hash = Pair, Divisor = Modulus> {
    /// The first bits of an item that are its hashes, without a reduction: at most two.
    const PLAIN: u32;
    /// The reduction of the sums of all other bits.
    type Reduction: Reduction;

    fn bytes(&self) -> u64;

    /// The modulus of bit indexes: the number of bits in use.
    fn modulus(&self) -> u64;

    /// Bits that an item sets (k).
    fn hashes(&self) -> u32;
}

impl<S: ClassicShape, W: Readable> Layer<S, W> {
    /// How many of an item's bits are in the first part.
    #[inline(always)]
    fn first(&self) -> u32 {
        // The reduction of the bits in the second part does not change.
        const { assert!(S::PLAIN <= FIRST_FAR) };
        let is_far = size_of_val(self.words.as_slice()) as u64 >= FAR;
        self.shape.hashes().min(if is_far { FIRST_FAR } else { FIRST })
    }
}

impl<S: ClassicShape, W> Layer<S, W> {
    /// The indexes of the bits that are not reduced, from the first one on.
    #[inline(always)]
    fn plain(&self, spot: &Pair) -> Indexes<Whole> {
        Indexes::new(&Pair { b: spot.b.wrapping_sub(spot.a), ..*spot }, self.divisor)
    }

    /// The indexes of the bits from number `from` on, which is not below [`ClassicShape::PLAIN`].
    #[inline(always)]
    fn reduced(&self, spot: &Pair, from: u32) -> Indexes<S::Reduction> {
        Indexes::new(spot, self.divisor).skip(from)
    }

    /// Calls `see` with the word and the mask of the bits from number `from` on, which is 0 or not
    /// below [`ClassicShape::PLAIN`], to number `to`, which is not included.
    #[inline(always)]
    fn each_bit(&self, spot: &Pair, from: u32, to: u32, mut see: impl FnMut(usize, u64)) {
        let mut plain = self.plain(spot);
        for _ in from..to.min(S::PLAIN) {
            let (word, bit) = plain.next_bit();
            see(word, bit);
        }
        let from = from.max(S::PLAIN);
        let mut reduced = self.reduced(spot, from);
        for _ in from..to {
            let (word, bit) = reduced.next_bit();
            see(word, bit);
        }
    }
}

impl<S: ClassicShape> LayerShape for S {
    const PREFETCH_FROM: u64 = FAR;
    const STAGED_FROM: u64 = FAR;
    const IS_VECTORIZED: bool = false;
    type Spot = Pair;
    type Prepared<B: Backend> = ();
    type Located = Hashes<Pair>;

    #[inline(always)]
    fn prepare<B: Backend>(_backend: B, _hash: &Pair) {}

    #[inline(always)]
    fn locate<W: Readable>(_layer: &Layer<Self, W>, hash: &Pair) -> Pair {
        *hash
    }

    #[inline(always)]
    fn prefetch<W: Readable>(layer: &Layer<Self, W>, spot: &Pair, part: Part) {
        let (from, to) = match part {
            Part::First => (0, layer.first()),
            Part::Rest => (layer.first(), layer.shape.hashes()),
        };
        let words = layer.words.as_slice().as_ptr();
        layer.each_bit(spot, from, to, |word, _| prefetch(words.wrapping_add(word)));
    }

    /// Tests several bits before the first branch. With one branch per bit, one branch per absent
    /// item is mispredicted, which costs more than the additional bits.
    #[inline(always)]
    fn test_first<B: Backend, W: Readable>(
        _: B,
        layer: &Layer<Self, W>,
        spot: &Pair,
        _: Option<&()>,
    ) -> bool {
        let (words, first) = (layer.words.as_slice(), layer.first());
        let plain = first.min(S::PLAIN);
        (S::PLAIN == 0 || layer.plain(spot).are_next_set(words, plain))
            & layer.reduced(spot, S::PLAIN).are_next_set(words, first - plain)
    }

    #[inline(always)]
    fn test_rest<B: Backend, W: Readable>(_: B, layer: &Layer<Self, W>, spot: &Pair) -> bool {
        let first = layer.first();
        // If there are fewer than `PLAIN` bits, none is left.
        let rest = layer.shape.hashes() - first;
        layer.reduced(spot, first).are_all_set(layer.words.as_slice(), rest)
    }

    #[inline(always)]
    fn set<B: Backend>(_: B, layer: &mut Layer<Self>, spot: &Pair) {
        let plan = layer.plan();
        let words = layer.words.as_mut_slice();
        plan.each_bit(spot, 0, plan.shape.hashes(), |word, bit| {
            if let Some(word) = words.get_mut(word) {
                *word |= bit;
            }
        });
    }

    fn fp_rate(&self, _bytes: u64, len: u64) -> f64 {
        let per_item = f64::from(self.hashes());
        let load = per_item * len as f64 / self.modulus() as f64;
        frozen::pow(-frozen::expm1(-load), per_item)
    }

    fn estimate<'a>(
        &self,
        layers: impl Iterator<Item = &'a [u64]> + Clone,
        sample: usize,
    ) -> LayerEstimate {
        // Bits above the modulus are never set. Those in its last word are counted.
        let used = self.modulus().div_ceil(u64::BITS.into());
        let words = layers.map(|all| all.get(..used as usize).unwrap_or_default());
        let fill = fill_of_union(words, sample);
        let bits = self.modulus() as f64;
        let set = (fill.set * (used as f64 * f64::from(u64::BITS) / bits)).min(1.0);
        let fill = Fill { set, ..fill };
        // The bits of an item need not be different, so each counts as an item of one bit.
        let per_item = f64::from(self.hashes());
        let attempted = fill.items(1, bits).scaled(1.0 / per_item);
        let rate = frozen::pow(set, per_item);
        let new_bits = per_item * (1.0 - set);
        LayerEstimate { attempted, inserted: attempted.items, rate, new_bits }
    }
}

impl<S: ClassicShape> From<S> for Plan<S> {
    fn from(shape: S) -> Self {
        let words = Unbuilt { bytes: shape.bytes() };
        Self { words, shape, divisor: Modulus::new(shape.modulus()) }
    }
}
