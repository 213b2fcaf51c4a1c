//! One Bloom filter of fixed capacity in RedisBloom's layout.

use super::geometry::{Options, Shape};
use crate::bloom::classic::indexes::Whole;
use crate::bloom::classic::{Classic, ClassicShape};
use crate::bloom::layer::Layer;
use crate::error::Error;
use crate::hash::Pair;
use crate::hash::murmur2::{pair_32, pair_64};
use crate::memory::words::Words;
use crate::spec::{Layout, MAX_LAYERS};

/// Bytes that RedisBloom counts per filter.
const HEAD_BYTES: u64 = 32;
/// Bytes that RedisBloom counts per layer.
const LAYER_BYTES: u64 = 64;

/// A layer in RedisBloom's layout.
pub type RedisBloomLayer = Layer<Classic<Shape>>;

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
        let is_whole = words.len().checked_mul(64) == Some(shape.bits);
        is_whole.then_some(Self { words, shape: Classic::new(shape) })
    }
}

impl ClassicShape for Shape {
    const LAYOUT: Layout = Layout::RedisBloom;
    const PLAIN: u32 = 0;
    type Reduction = Whole;
    type Common = Common;
    /// True for hashes of 64 bits.
    type Seed = bool;

    #[inline(always)]
    fn seed(common: &Common) -> bool {
        common.options.is_64_bit()
    }

    #[inline(always)]
    fn hash(&is_64_bit: &bool, item: &[u8]) -> Pair {
        if is_64_bit { pair_64(item) } else { pair_32(item) }
    }

    fn bytes(&self) -> u64 {
        self.bits / 8
    }

    fn modulus(&self) -> u64 {
        Shape::modulus(self)
    }

    #[inline(always)]
    fn hashes(&self) -> u32 {
        self.hashes
    }

    #[inline]
    fn capacity(&self) -> u64 {
        self.capacity
    }

    #[inline]
    fn len_when_older(&self) -> u64 {
        self.len
    }

    fn retire(&mut self, len: u64) {
        self.len = len;
    }

    fn successor(common: &Common, last: &Self, index: u32, _capacity: u64) -> Result<Self, Error> {
        if common.options.is_fixed() {
            return Err(Error::Full(last.capacity));
        }
        if index + 1 >= MAX_LAYERS {
            return Err(Error::TooManyLayers(MAX_LAYERS));
        }
        let capacity = last.capacity.checked_mul(common.expansion.into());
        let capacity = capacity.ok_or(Error::Capacity(u64::MAX))?;
        Self::new(common.options, capacity, last.error * 0.5)
    }

    fn size_bytes(bits_bytes: u64, layers: u32) -> u64 {
        bits_bytes.saturating_add(HEAD_BYTES + LAYER_BYTES * u64::from(layers))
    }
}
