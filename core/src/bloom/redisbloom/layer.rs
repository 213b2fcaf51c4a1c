//! One Bloom filter of fixed capacity in RedisBloom's layout.

use super::geometry::{Options, RedisBloomShape};
use crate::bloom::classic::ClassicShape;
use crate::bloom::classic::indexes::{Modulus, Whole};
use crate::bloom::layer::{Layer, Plan, Rules, sealed};
use crate::error::Error;
use crate::hash::Pair;
use crate::hash::murmur2::{pair_32, pair_64};
use crate::memory::words::Words;
use crate::spec::{Layout, MAX_LAYERS};

/// Bytes that RedisBloom counts per filter.
const HEAD_BYTES: u64 = 32;
/// Bytes that RedisBloom counts per layer.
const LAYER_BYTES: u64 = 64;

pub type RedisBloomLayer = Layer<RedisBloomShape>;

/// What the layers of a filter have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedisBloomParams {
    /// How the filter is hashed, sized and grown.
    pub options: Options,
    /// The expansion. RedisBloom stores it even if the filter does not grow.
    pub expansion: u32,
}

impl RedisBloomLayer {
    /// A layer of this shape with these bits; `None` if the shape has another number of bits.
    pub(crate) fn with_words(shape: RedisBloomShape, words: Words) -> Option<Self> {
        let is_whole = words.len().checked_mul(64) == Some(shape.bits);
        is_whole.then(|| Plan::from(shape).with(words))
    }
}

impl sealed::Sealed for RedisBloomShape {}

impl Rules for RedisBloomShape {
    const LAYOUT: Layout = Layout::RedisBloom;
    type Params = RedisBloomParams;
    /// True for hashes of 64 bits.
    type Seed = bool;
    type Hash = Pair;
    type Divisor = Modulus;

    #[inline(always)]
    fn seed(params: &RedisBloomParams) -> bool {
        params.options.is_64_bit()
    }

    #[inline(always)]
    fn hash(&is_64_bit: &bool, item: &[u8]) -> Pair {
        if is_64_bit { pair_64(item) } else { pair_32(item) }
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

    fn successor(
        params: &RedisBloomParams,
        last: &Plan<Self>,
        index: u32,
        _capacity: u64,
    ) -> Result<(RedisBloomParams, Plan<Self>), Error> {
        let last = last.shape;
        if params.options.is_fixed() {
            return Err(Error::Full(last.capacity));
        }
        if index + 1 >= MAX_LAYERS {
            return Err(Error::TooManyLayers(MAX_LAYERS));
        }
        let capacity = last.capacity.checked_mul(params.expansion.into());
        let capacity = capacity.ok_or(Error::Capacity(u64::MAX))?;
        Ok((*params, Self::new(params.options, capacity, last.error * 0.5)?.into()))
    }

    fn size_bytes(bits_bytes: u64, layers: u32) -> u64 {
        bits_bytes.saturating_add(HEAD_BYTES + LAYER_BYTES * u64::from(layers))
    }
}

impl ClassicShape for RedisBloomShape {
    const PLAIN: u32 = 0;
    type Reduction = Whole;

    fn bytes(&self) -> u64 {
        self.bits / 8
    }

    fn modulus(&self) -> u64 {
        RedisBloomShape::modulus(self)
    }

    #[inline(always)]
    fn hashes(&self) -> u32 {
        self.hashes
    }
}
