//! The shape of a layer in RedisBloom's layout, from capacity and target rate, bit for bit.

use crate::error::Error;
use crate::math::ln::ln;

/// The largest number of bits that an item sets in a valid layer: that of the target rate 5e-324,
/// the smallest number above 0. (The exact number is 1,074. RedisBloom's shortened constants give a
/// little more, which is rounded up.)
///
/// Without this limit, one lookup in a forged layer could take seconds.
pub const MAX_HASHES: u32 = 1_075;

/// How a filter is hashed, sized and grown: the option bits that RedisBloom stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options(u32);

impl Options {
    const NO_ROUNDING: u32 = 1;
    const ENTRIES_IS_BITS: u32 = 2;
    const FORCE_64: u32 = 4;
    const NO_SCALING: u32 = 8;

    /// The options of a filter that a command creates.
    pub fn of_new_filter(is_fixed: bool) -> Self {
        Self(Self::NO_ROUNDING | Self::FORCE_64 | if is_fixed { Self::NO_SCALING } else { 0 })
    }

    /// The options with these bits, unknown bits included.
    pub fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// The bits as stored.
    pub fn bits(self) -> u32 {
        self.0
    }

    const KNOWN: u32 =
        Self::NO_ROUNDING | Self::ENTRIES_IS_BITS | Self::FORCE_64 | Self::NO_SCALING;

    /// True if every bit is known.
    pub fn are_known(self) -> bool {
        self.unknown_bits() == 0
    }

    pub fn unknown_bits(self) -> u32 {
        self.0 & !Self::KNOWN
    }

    pub fn without_unknown_bits(self) -> Self {
        Self(self.0 & Self::KNOWN)
    }

    /// True if a full filter refuses new items.
    pub fn is_fixed(self) -> bool {
        self.0 & Self::NO_SCALING != 0
    }

    /// The options that decide how items are hashed and sizes rounded.
    pub(crate) fn without_scaling(self) -> Self {
        Self(self.0 & !Self::NO_SCALING)
    }

    /// True if items are hashed to 64 bits, false if to 32.
    #[inline]
    pub fn is_64_bit(self) -> bool {
        self.0 & Self::FORCE_64 != 0
    }
}

/// Everything about a layer but its bits, as RedisBloom stores it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedisBloomShape {
    /// Items that the layer is sized for.
    pub capacity: u64,
    /// The target rate of the layer.
    pub error: f64,
    /// Bits of the layer per item of its capacity.
    pub bits_per_item: f64,
    /// Bits that an item sets (k).
    pub hashes: u32,
    /// Bits of the layer, a multiple of 64.
    pub bits: u64,
    /// If not 0, only the first 2^`log2_bits` bits are used; at most 63.
    pub log2_bits: u8,
    /// Items in the layer.
    pub len: u64,
}

impl RedisBloomShape {
    /// The shape of a new layer.
    ///
    /// # Errors
    ///
    /// [`Error::Capacity`] for 0, or if the number of bits overflows; [`Error::ErrorRate`] unless
    /// `error` is above 0 and below 1.
    pub fn new(options: Options, capacity: u64, error: f64) -> Result<Self, Error> {
        if capacity == 0 {
            return Err(Error::Capacity(capacity));
        }
        // The condition is written so that NaN fails.
        if !(error > 0.0 && error < 1.0) {
            return Err(Error::ErrorRate(error));
        }
        let bits_per_item = (-(ln(error) / 0.480453013918201)).abs();
        let (used, log2_bits, capacity) = if options.0 & Options::ENTRIES_IS_BITS != 0 {
            let log2_bits =
                u8::try_from(capacity).ok().filter(|&n| n < 64).ok_or(Error::Capacity(capacity))?;
            let bits = 1u64 << log2_bits;
            (bits, log2_bits, (bits as f64 / bits_per_item) as u64)
        } else if options.0 & Options::NO_ROUNDING != 0 {
            (((capacity as f64 * bits_per_item) as u64).max(1), 0, capacity)
        } else {
            // The number of bits is rounded up to a power of two, and the capacity is raised by the
            // items that the additional bits suffice for.
            let needed = capacity as f64 * bits_per_item;
            let exponent = (needed.to_bits() >> 52) as i64 - 1023;
            let log2_bits = u8::try_from(exponent + 1)
                .ok()
                .filter(|&n| n < 64)
                .ok_or(Error::Capacity(capacity))?;
            let bits = 1u64 << log2_bits;
            let spare = (bits as f64 - needed) as u64;
            (bits, log2_bits, capacity.saturating_add((spare as f64 / bits_per_item) as u64))
        };
        let bits = used.checked_next_multiple_of(64).ok_or(Error::Capacity(capacity))?;
        Ok(Self {
            capacity,
            error,
            bits_per_item,
            hashes: hashes(bits_per_item),
            bits,
            log2_bits,
            len: 0,
        })
    }

    /// True if the numbers agree with each other and are safe to use. Every entry point checks it.
    pub fn is_sound(&self) -> bool {
        let error_is_sound = self.error > 0.0 && self.error < 1.0;
        let bits_are_sound = self.bits != 0 && self.bits.is_multiple_of(64) && self.log2_bits < 64;
        error_is_sound
            && bits_are_sound
            && (self.log2_bits == 0 || self.bits >= 1 << self.log2_bits)
            && self.bits_per_item.is_finite()
            && self.hashes == hashes(self.bits_per_item)
            && (1..=MAX_HASHES).contains(&self.hashes)
    }

    /// The modulus of bit indexes: the number of bits in use.
    #[inline(always)]
    pub fn modulus(&self) -> u64 {
        if self.log2_bits == 0 { self.bits } else { 1 << self.log2_bits }
    }
}

/// Bits that an item sets, for a number of bits per item.
#[expect(clippy::approx_constant, reason = "RedisBloom's constant has fewer digits than ln 2")]
fn hashes(bits_per_item: f64) -> u32 {
    (0.693147180559945 * bits_per_item).ceil() as u32
}
