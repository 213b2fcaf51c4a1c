//! One Bloom filter of fixed capacity in valkey-bloom's layout.

use arrayvec::ArrayVec;

use super::indexes::{BelowPrime, PLAIN};
use super::sizing::{MAX_CAPACITY, MAX_LAYER_BYTES, hashes, layer_bytes, valid_rate};
use crate::bloom::classic::ClassicShape;
use crate::bloom::classic::indexes::Modulus;
use crate::bloom::layer::{Layer, Plan, Rules, sealed};
use crate::error::{Error, ValkeyError};
use crate::hash::Pair;
use crate::hash::siphash::{Seed, pair, pairs};
use crate::mask::Mask;
use crate::spec::{Layout, MAX_LAYERS};

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
pub struct ValkeyShape {
    /// Items that the layer is sized for. An older layer counts as many.
    pub capacity: u64,
    pub bytes: u64,
    /// Bits that an item sets (k).
    pub hashes: u32,
}

impl ValkeyShape {
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
pub struct ValkeyParams {
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

/// A layer in valkey-bloom's layout. An older layer is full: files have no number of its items.
pub type ValkeyLayer = Layer<ValkeyShape>;

impl sealed::Sealed for ValkeyShape {}

impl Rules for ValkeyShape {
    const LAYOUT: Layout = Layout::ValkeyBloom;
    type Params = ValkeyParams;
    type Seed = Seed;
    type Hash = Pair;
    type Divisor = Modulus;

    #[inline(always)]
    fn seed(params: &ValkeyParams) -> Seed {
        params.seed
    }

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

    #[inline]
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn successor(
        params: &ValkeyParams,
        last: &Plan<Self>,
        index: u32,
        capacity: u64,
    ) -> Result<(ValkeyParams, Plan<Self>), Error> {
        if params.expansion == 0 {
            return Err(Error::Full(last.capacity()));
        }
        if index + 1 >= MAX_LAYERS {
            return Err(Error::TooManyLayers(MAX_LAYERS));
        }
        let own = last.capacity().saturating_mul(params.expansion.into());
        if capacity.saturating_add(own) > MAX_CAPACITY {
            return Err(ValkeyError::Capacity(own).into());
        }
        let rate = valid_rate(params.error_rate, params.tightening, index + 1)?;
        Ok((*params, Self::new(own, rate)?.into()))
    }

    /// What valkey-bloom counts.
    fn size_bytes(bits_bytes: u64, layers: u32) -> u64 {
        let bytes = HEAD_BYTES + vector_bytes(layers) + LAYER_BYTES * u64::from(layers);
        bits_bytes.saturating_add(bytes)
    }

    /// valkey-bloom compares a filter with its limit before it adds a layer: with the vector of
    /// before, which may become larger by the layer.
    fn unlimited_bytes(layers: u32) -> u64 {
        vector_bytes(layers) - vector_bytes(layers.saturating_sub(1).max(1))
    }
}

/// Bytes of valkey-bloom's vector of layers, at least one: it begins with one element, and doubles
/// from four on.
fn vector_bytes(layers: u32) -> u64 {
    let layers = u64::from(layers);
    let elements = if layers == 1 { 1 } else { layers.next_power_of_two().max(MIN_ELEMENTS) };
    ELEMENT_BYTES * elements
}

impl ClassicShape for ValkeyShape {
    const PLAIN: u32 = PLAIN;
    type Reduction = BelowPrime;

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn modulus(&self) -> u64 {
        self.bytes.saturating_mul(8)
    }

    #[inline(always)]
    fn hashes(&self) -> u32 {
        self.hashes
    }
}
