//! Merging filters of any kind.

use crate::any::AnyFilter;
use crate::bloomline::Filter;
use crate::error::{Error, Parameter, ValkeyError};
use crate::memory::lists::try_push;
use crate::permit::Permit;
use crate::redisbloom::ClassicFilter;
use crate::valkey::sizing::MAX_CAPACITY;

impl AnyFilter {
    /// Merges this filter with others: it becomes the filter to which the items of all of them were
    /// added. True if a bit changed; otherwise nothing has changed.
    ///
    /// The filters must have equal parameters and seeds. The number of items of the result is
    /// estimated by its fill, because an item may be in several filters. A source that has more
    /// layers adds copies of them, for which `permit` is asked.
    ///
    /// Cost: one pass over the bits of all filters.
    ///
    /// # Errors
    ///
    /// [`Error::Differs`]; [`Error::RateExceeded`] or [`Error::LayerFull`] if the result would not
    /// keep its target rate; [`Error::Refused`] by `permit`; [`Error::OutOfMemory`]. Nothing has
    /// changed then.
    pub fn union(&mut self, others: &[&Self], permit: Permit) -> Result<bool, Error> {
        for other in others {
            if let Some(parameter) = self.differs(other) {
                return Err(Error::Differs(parameter));
            }
        }
        let target = self.error_rate();
        match self {
            Self::Bloomline(filter) => filter.merge(&all(others, Self::bloomline)?, target, permit),
            Self::Windowed(filter) => filter.merge(&all(others, Self::windowed)?, permit),
            Self::RedisBloom(filter) => filter.merge(&all(others, Self::classic)?, target, permit),
            Self::ValkeyBloom(filter) => {
                let others = all(others, Self::valkey)?;
                // The newest layer may get a larger capacity.
                let most = others
                    .iter()
                    .fold(filter.capacity(), |sum, other| sum.saturating_add(other.capacity()));
                if most > MAX_CAPACITY {
                    return Err(ValkeyError::Capacity(most).into());
                }
                filter.merge(&others, target, permit)
            }
        }
    }

    /// The first parameter in which another filter differs.
    fn differs(&self, other: &Self) -> Option<Parameter> {
        if self.layout() != other.layout() {
            return Some(Parameter::Layout);
        }
        let seed = |filter: &Self| match filter {
            Self::Bloomline(filter) => Some(filter.seed()),
            Self::Windowed(filter) => Some(filter.seed()),
            Self::RedisBloom(_) | Self::ValkeyBloom(_) => None,
        };
        let long_seed = |filter: &Self| filter.valkey().map(|valkey| valkey.common().seed);
        let tightening =
            |filter: &Self| filter.valkey().map(|valkey| valkey.common().tightening.to_bits());
        let options = |filter: &Self| {
            filter.classic().map(|classic| classic.common().options.without_scaling())
        };
        let window = |filter: &Self| {
            filter.windowed().map(|windowed| {
                let spec = windowed.spec();
                (spec.window, spec.generations, spec.refreshes)
            })
        };
        if window(self) != window(other) {
            Some(Parameter::Window)
        } else if seed(self) != seed(other) || long_seed(self) != long_seed(other) {
            Some(Parameter::Seed)
        } else if options(self) != options(other) {
            Some(Parameter::Options)
        } else if self.error_rate().to_bits() != other.error_rate().to_bits() {
            Some(Parameter::ErrorRate)
        } else if self.growth() != other.growth() {
            Some(Parameter::Expansion)
        } else if tightening(self) != tightening(other) {
            Some(Parameter::Tightening)
        } else if self.first_size() != other.first_size() {
            Some(Parameter::Capacity)
        } else {
            None
        }
    }

    /// The capacity that the filter was created with. In the layouts of others, which do not store
    /// that, the number of bits that follows from it: a merge may have raised the capacity.
    fn first_size(&self) -> u64 {
        match self {
            Self::Bloomline(filter) => filter.spec().capacity,
            Self::Windowed(filter) => filter.spec().capacity,
            Self::RedisBloom(filter) => {
                filter.layers().next().map_or(0, |layer| layer.shape().bits)
            }
            Self::ValkeyBloom(filter) => {
                filter.layers().next().map_or(0, |layer| layer.shape().bytes)
            }
        }
    }

    fn bloomline(&self) -> Option<&Filter> {
        if let Self::Bloomline(filter) = self { Some(filter) } else { None }
    }

    fn classic(&self) -> Option<&ClassicFilter> {
        if let Self::RedisBloom(filter) = self { Some(filter) } else { None }
    }
}

/// Unwraps filters that are known to be of one variant.
fn all<'a, F>(
    filters: &[&'a AnyFilter],
    kind: impl Fn(&'a AnyFilter) -> Option<&'a F>,
) -> Result<Vec<&'a F>, Error> {
    let mut found = Vec::new();
    for filter in filters.iter().filter_map(|filter| kind(filter)) {
        try_push(&mut found, filter)?;
    }
    Ok(found)
}
