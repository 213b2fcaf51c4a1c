//! Merging filters that forget.

use std::iter;

use super::filter::{WindowedFilter, beside};
use super::generation::Generation;
use super::spec::WindowSpec;
use crate::bloomline::{BlockedLayer, Filter};
use crate::error::{Error, Parameter};
use crate::layer::Layer;
use crate::memory::try_box;
use crate::scalable::try_push;
use crate::spec::Permit;
use crate::union::{Plan, joined_len};

impl WindowedFilter {
    /// Joins this filter with others of equal parameters; see `ScalableFilter::join`.
    ///
    /// Generations are joined with the one that was opened at the same time, which this filter must
    /// have; of several, in their order. Each stays within its part of the error budget.
    pub(crate) fn join(&mut self, others: &[&Self], permit: Permit) -> Result<bool, Error> {
        for generation in others.iter().flat_map(|other| other.all_by_opening()) {
            if !self.all_by_opening().any(|own| own.opening() == generation.opening()) {
                return Err(Error::Differs(Parameter::Generation(generation.one.opened)));
            }
        }
        let (mut joins, size, end) = (Vec::new(), self.size_bytes(), self.end());
        let mut layer = 0;
        for Opened { one: own, nth } in self.all_by_opening() {
            let mut sources = Vec::new();
            for source in others.iter().flat_map(|other| other.all_by_opening()) {
                if source.opening() == (own.opened, nth) {
                    try_push(&mut sources, source.one)?;
                }
            }
            let mut permit = beside(size - own.overflow_bytes(), end, permit);
            try_push(&mut joins, Join::plan(own, layer, sources, &self.spec, &mut permit)?)?;
            layer += own.layer_count();
        }
        let mut is_changed = false;
        for (own, join) in self.older.iter_mut().chain([&mut self.newest]).zip(joins) {
            is_changed |= join.apply(own);
        }
        Ok(is_changed)
    }
}

/// A generation, and the number of those before it that were opened at the same time: rotations by
/// hand and by count may be that quick.
struct Opened<'a> {
    one: &'a Generation,
    nth: usize,
}

impl Opened<'_> {
    /// What is equal in generations that are joined.
    fn opening(&self) -> (u64, usize) {
        (self.one.opened, self.nth)
    }
}

impl WindowedFilter {
    /// The generations, oldest first.
    fn all_by_opening(&self) -> impl Iterator<Item = Opened<'_>> {
        self.all().scan((0, 0), |(opened, count), one| {
            let nth = if one.opened == *opened { *count } else { 0 };
            (*opened, *count) = (one.opened, nth + 1);
            Some(Opened { one, nth })
        })
    }
}

/// What a generation is joined with. It was checked, and its memory is allocated.
struct Join<'a> {
    sources: Vec<&'a Generation>,
    /// Items in the regular layer of the result.
    regular_len: u64,
    /// Items in the overflow layers of the result.
    overflow_len: u64,
    overflow: Overflow<'a>,
}

/// The overflow layers of the result.
enum Overflow<'a> {
    None,
    /// A new filter: only the sources have overflow layers.
    New(Box<Filter>),
    /// The filter of the generation, joined with those of the sources.
    Own(Vec<&'a Filter>, Plan<BlockedLayer>),
}

impl<'a> Join<'a> {
    /// Checks the union of a generation, whose regular layer has index `layer`, and allocates the
    /// memory for it.
    fn plan(
        own: &Generation,
        layer: u32,
        sources: Vec<&'a Generation>,
        spec: &WindowSpec,
        permit: Permit,
    ) -> Result<Self, Error> {
        let all = iter::once(own).chain(sources.iter().copied());
        for source in &sources {
            let has_other_capacity = source.regular.capacity() != own.regular.capacity();
            if has_other_capacity || own.regular.differs(&source.regular, 0).is_some() {
                return Err(Error::Differs(Parameter::Generation(own.opened)));
            }
        }
        let regular_len = joined_len(all.map(|one| (&one.regular, one.regular_len)));
        let capacity = own.regular.capacity();
        if regular_len > capacity {
            let (rate, target) = (own.regular.fp_rate(regular_len), spec.regular().error_rate);
            let full = Error::LayerFull { layer, items: regular_len, capacity };
            return Err(if rate > target { Error::RateExceeded { rate, target } } else { full });
        }
        let others = overflows(&sources)?;
        let target = spec.overflow().map_or(0.0, |spec| spec.error_rate);
        let (overflow, overflow_len) = match (&own.overflow, others.split_first()) {
            (Some(filter), _) => {
                let plan = filter.plan_join(&others, target, permit)?;
                let len = plan.len();
                (Overflow::Own(others, plan), len)
            }
            (None, Some((first, rest))) => {
                let mut filter = first.try_clone(permit)?;
                filter.join(rest, target, permit)?;
                let len = filter.len();
                (Overflow::New(try_box(filter)?), len)
            }
            (None, None) => (Overflow::None, 0),
        };
        Ok(Self { sources, regular_len, overflow_len, overflow })
    }

    /// Joins the generation. True if a bit changed.
    fn apply(self, own: &mut Generation) -> bool {
        let counts = |one: &Generation| [one.live, one.len()];
        let sums = iter::once(counts(own)).chain(self.sources.iter().map(|one| counts(one)));
        let [live, len] = sums.fold([0u128; 2], |[live, len], [one_live, one_len]| {
            [live + u128::from(one_live), len + u128::from(one_len)]
        });
        let mut is_changed = false;
        for source in &self.sources {
            is_changed |= own.regular.words_mut().union(source.regular.words());
        }
        match self.overflow {
            Overflow::None => {}
            Overflow::New(filter) => {
                own.overflow = Some(filter);
                is_changed = true;
            }
            Overflow::Own(others, plan) => {
                if let Some(filter) = &mut own.overflow {
                    is_changed |= filter.join_as(&others, plan);
                }
            }
        }
        if is_changed {
            own.regular_len = self.regular_len;
            // As many of the items are live as were in the parts.
            let joined = u128::from(self.regular_len.saturating_add(self.overflow_len));
            own.live = (joined * live / len.max(1)).min(joined) as u64;
        }
        is_changed
    }
}

/// The overflow layers of the generations that have some.
fn overflows<'a>(generations: &[&'a Generation]) -> Result<Vec<&'a Filter>, Error> {
    let mut found = Vec::new();
    for filter in generations.iter().filter_map(|generation| generation.overflow.as_deref()) {
        try_push(&mut found, filter)?;
    }
    Ok(found)
}
