//! Merging filters of any kind.

use super::MergeShape;
use crate::bloom::any::{AnyFilter, AnyRef};
use crate::bloom::bloomline::Filter;
use crate::bloom::redisbloom::RedisBloomFilter;
use crate::bloom::scalable::ScalableFilter;
use crate::bloom::small::SmallFilter;
use crate::bloom::word::AnyMut;
use crate::error::Error;
use crate::memory::lists::{try_collect, try_push};
use crate::permit::Permit;

impl AnyFilter {
    /// Merges this filter with others: it becomes the filter to which the items of all of them were
    /// added. True if a bit changed; otherwise nothing has changed.
    ///
    /// The filters must have equal parameters and seeds, no window, and not valkey-bloom's layout.
    /// The number of items of the result is estimated by its fill, because an item may be in
    /// several filters. A source that has more layers adds copies of them, for which `permit` is
    /// asked.
    ///
    /// Cost: one pass over the bits of all filters.
    ///
    /// # Errors
    ///
    /// [`Error::Windowed`], [`Error::OfValkeyBloom`], [`Error::Differs`]; [`Error::RateExceeded`]
    /// or [`Error::LayerFull`] if the result would not keep its target rate; [`Error::Refused`] by
    /// `permit`; [`Error::OutOfMemory`]. Nothing has changed then.
    pub fn union(&mut self, others: &[&Self], permit: Permit) -> Result<bool, Error> {
        let target = self.error_rate();
        match self.view_mut() {
            AnyMut::Bloomline(filter) => union_bloomline(filter, others, permit),
            AnyMut::Small(filter) => {
                let mut union = filter.to_filter()?;
                let is_changed = union_bloomline(&mut union, others, permit)?;
                if is_changed {
                    *self = match SmallFilter::of(&union)? {
                        Some(small) => small.into(),
                        None => Self::in_box(union)?,
                    };
                }
                Ok(is_changed)
            }
            AnyMut::RedisBloom(filter) => {
                let others = sources(filter, others.iter().map(|other| other.as_redisbloom()))?;
                filter.merge(&others, target, permit)
            }
            AnyMut::Windowed(_) | AnyMut::ValkeyBloom(_) => Err(self.refusal()),
        }
    }

    /// Checks that the kinds and parameters of filters allow a union. Cost: some nanoseconds per
    /// filter.
    ///
    /// # Errors
    ///
    /// [`Error::Windowed`], [`Error::OfValkeyBloom`], [`Error::Differs`].
    pub fn check_union(&self, others: &[&Self]) -> Result<(), Error> {
        match self.view() {
            AnyRef::Bloomline(filter) => check_union_bloomline(filter, others),
            AnyRef::Small(filter) => check_union_bloomline(&filter.to_filter()?, others),
            AnyRef::RedisBloom(filter) => {
                sources(filter, others.iter().map(|other| other.as_redisbloom())).map(drop)
            }
            AnyRef::Windowed(_) | AnyRef::ValkeyBloom(_) => Err(self.refusal()),
        }
    }

    fn as_redisbloom(&self) -> Result<&RedisBloomFilter, Error> {
        if let AnyRef::RedisBloom(filter) = self.view() { Ok(filter) } else { Err(self.refusal()) }
    }
}

/// [`AnyFilter::union`] of a filter in this project's layout.
fn union_bloomline(
    filter: &mut Filter,
    others: &[&AnyFilter],
    permit: Permit,
) -> Result<bool, Error> {
    let target = filter.spec().error_rate;
    let of_small = of_small(others)?;
    let others = sources(filter, as_filters(others, &of_small))?;
    filter.merge(&others, target, permit)
}

/// [`AnyFilter::check_union`] of a filter in this project's layout.
fn check_union_bloomline(filter: &Filter, others: &[&AnyFilter]) -> Result<(), Error> {
    let of_small = of_small(others)?;
    sources(filter, as_filters(others, &of_small)).map(drop)
}

/// Of each small filter one that can be merged.
fn of_small(filters: &[&AnyFilter]) -> Result<Box<[Option<Filter>]>, Error> {
    let of_one = |filter: &&AnyFilter| match filter.view() {
        AnyRef::Small(filter) => filter.to_filter().map(Some),
        _ => Ok(None),
    };
    try_collect(filters.len(), filters.iter().map(of_one))
}

/// These filters, if they are in this project's layout; [`of_small`] has made those of small ones.
fn as_filters<'a>(
    filters: &'a [&AnyFilter],
    of_small: &'a [Option<Filter>],
) -> impl Iterator<Item = Result<&'a Filter, Error>> {
    filters.iter().zip(of_small).map(|(filter, of_small)| match (filter.view(), of_small) {
        (_, Some(filter)) | (AnyRef::Bloomline(filter), _) => Ok(filter),
        _ => Err(filter.refusal()),
    })
}

/// The others, which must have the parameters of `filter`.
fn sources<'a, S: MergeShape>(
    filter: &ScalableFilter<S>,
    others: impl Iterator<Item = Result<&'a ScalableFilter<S>, Error>>,
) -> Result<Vec<&'a ScalableFilter<S>>, Error> {
    let mut found = Vec::new();
    for other in others {
        let other = other?;
        if let Some(parameter) = S::parameter(filter, other) {
            return Err(Error::Differs(parameter));
        }
        try_push(&mut found, other)?;
    }
    Ok(found)
}
