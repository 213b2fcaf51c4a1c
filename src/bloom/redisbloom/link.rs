//! One Bloom filter of fixed capacity in RedisBloom's layout.

use super::super::error::Error;
use super::super::layout::prefetch;
use super::super::layout::probe::Probe;
use super::super::member::Member;
use super::super::spec::MAX_LAYERS;
use super::super::words::Words;
use super::hash::{Pair, pair_32, pair_64};
use super::sizing::{Options, Shape};

/// Bytes RedisBloom counts for a filter.
const HEAD_BYTES: u64 = 32;
/// Bytes it counts for each link.
const LINK_BYTES: u64 = 64;

/// An array of bits, and how items map to them.
pub struct Link {
    words: Words,
    shape: Shape,
    /// 2^64 modulo the number of bits; follows from it, kept since a division costs as much as a lookup.
    wrap: u64,
}

/// What the links of a filter have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Common {
    /// How the filter is hashed, sized and grown.
    pub options: Options,
    /// Growth factor of capacity, kept even where the filter does not grow.
    pub expansion: u32,
}

impl Link {
    /// A link of this shape with these bits; none if they are of another number.
    pub fn with_words(shape: Shape, words: Words) -> Option<Self> {
        let wrap = (u64::MAX % shape.modulus() + 1) % shape.modulus();
        (words.len().checked_mul(64) == Some(shape.bits)).then_some(Self { words, shape, wrap })
    }

    /// The bits, as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.words.as_bytes()
    }

    /// The link's numbers; `len` is right only where it is not the newest of a filter.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The indexes of an item's bits.
    #[inline(always)]
    fn indexes(&self, pair: &Pair) -> Indexes {
        let modulus = self.shape.modulus();
        // Two divisions a link, and not one a bit: what comes after is added and reduced by comparing.
        let step = pair.b % modulus;
        let (wrap, left) = (self.wrap, self.shape.hashes);
        Indexes { next: pair.a, distance: pair.b, index: pair.a % modulus, step, wrap, modulus, left }
    }
}

/// `(a + i b mod 2^64) mod modulus` for i from 0 on.
struct Indexes {
    /// `a + i b mod 2^64`
    next: u64,
    distance: u64,
    /// The same modulo the modulus.
    index: u64,
    /// `b mod modulus`
    step: u64,
    /// `2^64 mod modulus`: what is lost where the sum wraps.
    wrap: u64,
    modulus: u64,
    left: u32,
}

impl Iterator for Indexes {
    type Item = u64;

    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        let index = self.index;
        let (next, wrapped) = self.next.overflowing_add(self.distance);
        self.next = next;
        // Below 2^63 * 2: a modulus is a number of bits that memory could hold.
        let sum = index + self.step;
        let sum = if sum >= self.modulus { sum - self.modulus } else { sum };
        let lost = if wrapped { self.wrap } else { 0 };
        self.index = if sum >= lost { sum - lost } else { sum + self.modulus - lost };
        Some(index)
    }
}

impl Member for Link {
    type Common = Common;
    type Shape = Shape;
    type Hash = Pair;
    type Prepared<P: Probe> = ();

    #[inline(always)]
    fn hash(common: &Common, item: &[u8]) -> Pair {
        if common.options.is_64_bit() { pair_64(item) } else { pair_32(item) }
    }

    #[inline(always)]
    fn prepare<P: Probe>(_probe: P, _hash: &Pair) {}

    #[inline(always)]
    fn contains<P: Probe>(&self, _probe: P, hash: &Pair, _prepared: ()) -> bool {
        let words = self.words.as_slice();
        for index in self.indexes(hash) {
            let Some(word) = words.get((index / 64) as usize) else { return false };
            if word >> (index % 64) & 1 == 0 {
                return false;
            }
        }
        true
    }

    #[inline(always)]
    fn insert<P: Probe>(&mut self, _probe: P, hash: &Pair, _prepared: ()) {
        let indexes = self.indexes(hash);
        let words = self.words.as_mut_slice();
        for index in indexes {
            if let Some(word) = words.get_mut((index / 64) as usize) {
                *word |= 1 << (index % 64);
            }
        }
    }

    /// Asks for all lines of the items where the link is larger than a near cache.
    #[inline(always)]
    fn prefetch(&self, _layers: u32, hashes: &[Pair]) {
        const FAR: u64 = 1 << 20;
        if self.words.bytes() < FAR {
            return;
        }
        let words = self.words.as_slice().as_ptr();
        for hash in hashes {
            for index in self.indexes(hash) {
                prefetch(words.wrapping_add((index / 64) as usize));
            }
        }
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

    fn words(&self) -> &Words {
        &self.words
    }

    fn words_mut(&mut self) -> &mut Words {
        &mut self.words
    }

    fn successor(&self, common: &Common, index: u32) -> Result<(Common, Shape), Error> {
        if common.options.is_fixed() {
            return Err(Error::Full(self.shape.capacity));
        }
        if index + 1 >= MAX_LAYERS {
            return Err(Error::TooManyLayers(MAX_LAYERS));
        }
        let capacity = self.shape.capacity.checked_mul(common.expansion.into());
        let capacity = capacity.ok_or(Error::Capacity(u64::MAX))?;
        Ok((*common, Shape::new(common.options, capacity, self.shape.error * 0.5)?))
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

    fn size_bytes(bits_bytes: u64, layers: u32) -> u64 {
        bits_bytes.saturating_add(HEAD_BYTES + LINK_BYTES * u64::from(layers))
    }
}
