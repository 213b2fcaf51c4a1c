//! Merging, compacting and estimating filters of any kind.

use super::AnyFilter;
use crate::bloomline::Filter;
use crate::error::{Error, Parameter};
use crate::estimate::Estimate;
use crate::layer::Layer;
use crate::redisbloom::ClassicFilter;
use crate::scalable::try_push;
use crate::spec::Permit;

impl AnyFilter {
    /// Joins this filter with others: it becomes the filter to which the items of all of them were
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
            Self::Bloomline(filter) => filter.join(&all(others, Self::bloomline)?, target, permit),
            Self::Windowed(filter) => filter.join(&all(others, Self::windowed)?, permit),
            Self::RedisBloom(filter) => filter.join(&all(others, Self::classic)?, target, permit),
        }
    }

    /// Gives back the memory that the items do not need, and returns the number of bytes; see
    /// [`Filter::compact`] and [`WindowedFilter::compact`](crate::window::WindowedFilter::compact).
    pub fn compact(&mut self) -> u64 {
        match self {
            Self::Bloomline(filter) => filter.compact(),
            Self::Windowed(filter) => filter.compact(),
            Self::RedisBloom(filter) => filter.compact(),
        }
    }

    /// The number of distinct items that were added, estimated by the fill of the layers.
    ///
    /// An item that the filter contains by mistake when it is added is counted too, unlike in
    /// [`AnyFilter::len`]. A filter that forgets counts the items of all its generations.
    pub fn estimate(&self) -> Estimate {
        match self {
            Self::Bloomline(filter) => filter.estimate(),
            Self::Windowed(filter) => filter.estimate(),
            Self::RedisBloom(filter) => filter.estimate(),
        }
    }

    /// The first parameter in which another filter differs.
    fn differs(&self, other: &Self) -> Option<Parameter> {
        if self.layout() != other.layout() {
            return Some(Parameter::Layout);
        }
        let seeds = |filter: &Self| match filter {
            Self::Bloomline(filter) => filter.seed(),
            Self::Windowed(filter) => filter.seed(),
            Self::RedisBloom(filter) => u64::from(filter.common().options.bits()),
        };
        let window = |filter: &Self| {
            filter.windowed().map(|windowed| {
                let spec = windowed.spec();
                (spec.window, spec.generations, spec.refreshes)
            })
        };
        if window(self) != window(other) {
            Some(Parameter::Window)
        } else if seeds(self) != seeds(other) {
            Some(Parameter::Seed)
        } else if self.specified_capacity() != other.specified_capacity() {
            Some(Parameter::Capacity)
        } else if self.error_rate().to_bits() != other.error_rate().to_bits() {
            Some(Parameter::ErrorRate)
        } else if self.growth() != other.growth() {
            Some(Parameter::Expansion)
        } else {
            None
        }
    }

    /// The capacity that the filter was created with. In RedisBloom's layout that of its first
    /// layer.
    fn specified_capacity(&self) -> u64 {
        match self {
            Self::Bloomline(filter) => filter.spec().capacity,
            Self::Windowed(filter) => filter.spec().capacity,
            Self::RedisBloom(filter) => filter.layers().next().map_or(0, Layer::capacity),
        }
    }

    fn bloomline(&self) -> Option<&Filter> {
        match self {
            Self::Bloomline(filter) => Some(filter),
            Self::Windowed(_) | Self::RedisBloom(_) => None,
        }
    }

    fn classic(&self) -> Option<&ClassicFilter> {
        match self {
            Self::RedisBloom(filter) => Some(filter),
            Self::Bloomline(_) | Self::Windowed(_) => None,
        }
    }
}

/// The filters as those of one kind, which they are.
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
