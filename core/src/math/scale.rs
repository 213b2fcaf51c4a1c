//! Mapping a hash to an index without a division.

/// Scales `hash` from [0, 2^64) to [0, `range`): the upper 64 bits of the 128-bit product.
#[inline]
pub(crate) fn scale(hash: u64, range: u64) -> u64 {
    ((u128::from(hash) * u128::from(range)) >> 64) as u64
}

/// A range below 2^32, by which compilers can scale several hashes per vector instruction.
#[derive(Clone, Copy)]
pub(crate) struct ShortRange(u64);

impl ShortRange {
    /// The range, if it is short.
    #[inline(always)]
    pub(crate) fn new(range: u64) -> Option<Self> {
        u32::try_from(range).is_ok().then_some(Self(range))
    }

    /// [`scale`] by this range, with 32-bit factors.
    #[inline(always)]
    pub(crate) fn scale(self, hash: u64) -> u64 {
        let Self(range) = self;
        // The compiler knows of each factor that its upper half is zero.
        let range = range & u64::from(u32::MAX);
        let (high, low) = (hash >> 32, hash & u64::from(u32::MAX));
        (high * range + ((low * range) >> 32)) >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_ranges_scale_as_all_ranges_do() {
        let hashes = (0..64).flat_map(|shift| {
            let power = 1u64 << shift;
            [power - 1, power, power + 1, !power, power.wrapping_mul(0x9e37_79b9_7f4a_7c15)]
        });
        for hash in hashes.chain([u64::MAX]) {
            for range in [1, 2, 3, 64, 65_535, 65_536, 1_000_003, (1 << 31) + 1, (1 << 32) - 1] {
                let short = ShortRange::new(range).map(|short| short.scale(hash));
                assert_eq!(short, Some(scale(hash, range)), "{hash:x}, {range}");
            }
        }
        assert!(ShortRange::new(1 << 32).is_none());
    }
}
