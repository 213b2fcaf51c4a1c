//! The options of RedisBloom's cuckoo filters.

use crate::error::CuckooError;

const MAX_EXPANSION: u64 = 32_768;

/// The options that filters of both layouts store and report. In Bloomline's layout only whether
/// the expansion is 0 has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CuckooOptions {
    /// Slots per bucket, 1 to 255.
    pub bucket_size: u8,
    /// How often an insertion replaces a fingerprint before it gives up, 1 to 65,535.
    pub max_iterations: u16,
    /// Buckets of a table divided by those of the table before it: a power of two up to 32,768, or
    /// 0 for a filter that does not grow.
    pub expansion: u16,
}

impl CuckooOptions {
    /// Checks the ranges.
    ///
    /// # Errors
    ///
    /// [`CuckooError`] with the first number that is out of range.
    pub fn check(&self) -> Result<(), CuckooError> {
        Self::from_numbers(
            self.bucket_size.into(),
            self.max_iterations.into(),
            self.expansion.into(),
        )
        .map(drop)
    }

    pub(super) fn from_numbers(
        bucket_size: u64,
        max_iterations: u64,
        expansion: u64,
    ) -> Result<Self, CuckooError> {
        let in_range = |number: u64, max: u16| {
            u16::try_from(number).ok().filter(|number| (1..=max).contains(number))
        };
        let bucket_size =
            in_range(bucket_size, 255).ok_or(CuckooError::BucketSize(bucket_size))? as u8;
        let max_iterations =
            in_range(max_iterations, u16::MAX).ok_or(CuckooError::MaxIterations(max_iterations))?;
        let is_valid = expansion == 0 || expansion.is_power_of_two() && expansion <= MAX_EXPANSION;
        if !is_valid {
            return Err(CuckooError::Expansion(expansion));
        }
        Ok(Self { bucket_size, max_iterations, expansion: expansion as u16 })
    }

    /// True if the filter does not grow.
    pub(crate) fn is_fixed(&self) -> bool {
        self.expansion == 0
    }
}
