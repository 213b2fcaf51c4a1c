//! Merging filters of any kind.

use super::MergeShape;
use crate::bloom::any::AnyFilter;
use crate::bloom::bloomline::Filter;
use crate::bloom::redisbloom::RedisBloomFilter;
use crate::bloom::scalable::ScalableFilter;
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
        if let Self::Sparse(filter) = self {
            let dense = filter.to_dense()?;
            return self.change_dense(dense, |dense| union_bloomline(dense, others, permit));
        }
        let target = self.error_rate();
        match self {
            Self::Bloomline(filter) => union_bloomline(filter, others, permit),
            Self::RedisBloom(filter) => {
                let others = sources(filter, others, Self::as_redisbloom)?;
                filter.merge(&others, target, permit)
            }
            Self::Sparse(_) | Self::Windowed(_) | Self::ValkeyBloom(_) => Err(self.refusal()),
        }
    }

    /// Checks that the kinds and parameters of filters allow a union. Cost: some nanoseconds per
    /// filter.
    ///
    /// # Errors
    ///
    /// [`Error::Windowed`], [`Error::OfValkeyBloom`], [`Error::Differs`].
    pub fn check_union(&self, others: &[&Self]) -> Result<(), Error> {
        match self {
            Self::Bloomline(filter) => in_dense_form(others, |others| {
                sources(filter, others, Self::as_bloomline).map(drop)
            }),
            Self::Sparse(filter) => Self::from(filter.to_dense()?).check_union(others),
            Self::RedisBloom(filter) => sources(filter, others, Self::as_redisbloom).map(drop),
            Self::Windowed(_) | Self::ValkeyBloom(_) => Err(self.refusal()),
        }
    }

    fn as_bloomline(&self) -> Result<&Filter, Error> {
        if let Self::Bloomline(filter) = self { Ok(filter) } else { Err(self.refusal()) }
    }

    fn as_redisbloom(&self) -> Result<&RedisBloomFilter, Error> {
        if let Self::RedisBloom(filter) = self { Ok(filter) } else { Err(self.refusal()) }
    }
}

/// [`AnyFilter::union`] of a filter in this project's layout.
fn union_bloomline(
    filter: &mut Filter,
    others: &[&AnyFilter],
    permit: Permit,
) -> Result<bool, Error> {
    let target = filter.spec().error_rate;
    in_dense_form(others, |others| {
        let others = sources(filter, others, AnyFilter::as_bloomline)?;
        filter.merge(&others, target, permit)
    })
}

/// Calls `see` with these filters, the sparse ones in their dense form.
fn in_dense_form<T>(
    filters: &[&AnyFilter],
    see: impl FnOnce(&[&AnyFilter]) -> Result<T, Error>,
) -> Result<T, Error> {
    let dense = |filter: &&AnyFilter| match filter {
        AnyFilter::Sparse(filter) => filter.to_dense().map(|dense| Some(dense.into())),
        _ => Ok(None),
    };
    let dense: Box<[Option<AnyFilter>]> = try_collect(filters.len(), filters.iter().map(dense))?;
    let pairs = filters.iter().zip(&dense);
    let same = pairs.map(|(filter, dense)| Ok(dense.as_ref().unwrap_or(filter)));
    see(&try_collect(filters.len(), same)?)
}

/// The filters of the kind and the parameters of `filter`.
fn sources<'a, S: MergeShape>(
    filter: &ScalableFilter<S>,
    others: &[&'a AnyFilter],
    kind: impl Fn(&'a AnyFilter) -> Result<&'a ScalableFilter<S>, Error>,
) -> Result<Vec<&'a ScalableFilter<S>>, Error> {
    let mut found = Vec::new();
    for other in others {
        let other = kind(other)?;
        if let Some(parameter) = S::parameter(filter, other) {
            return Err(Error::Differs(parameter));
        }
        try_push(&mut found, other)?;
    }
    Ok(found)
}
